"""The selected run in words and numbers."""

from __future__ import annotations

from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_tui.view_models.run_shown import RunFacts, selected_run
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind
from overbrainer_tui.view_models.run_track import RunTrack, TrainedWith
from overbrainer_tui.view_models.snapshots import SelectedRun
from tests.tui.states import RUNNING_ID, STOPPED_ID, metrics, run_record, run_records

FOLLOW = RunTask(number=1, kind=RunTaskKind.ATTACH, run_id=RUNNING_ID, has_begun=True)


def track_of(*lines: TrainMetric | PhaseMark) -> RunTrack:
    track = RunTrack(RUNNING_ID)
    for line in lines:
        track.data.apply(line)
    return track


def shown(
    track: RunTrack, *, record: RunRecord | None = None, task: RunTask | None = FOLLOW, merge: bool = False
) -> SelectedRun:
    facts = RunFacts(record=record or run_record(), track=track, task=task, epochs=3, has_merge=merge)
    return selected_run(facts, cursor=None, is_fitted=False)


def evaluating(step: int = 340, total: int = 1200) -> PhaseMark:
    return PhaseMark(kind=MarkKind.EVAL, time=2.0, step=step, total=total)


def rail(run: SelectedRun) -> str:
    return " ".join(f"{step.name}:{step.progress.value}" for step in run.rail)


def test_steps_past_the_last_one_read_one_hundred_percent() -> None:
    run = shown(track_of(*metrics(4100, max_steps=4000)))
    assert (run.step, run.max_steps, run.percent, run.progress) == (4100, 4000, 100, 1.0)


def test_before_the_metrics_say_how_many_steps_there_is_no_percent() -> None:
    run = shown(track_of(TrainMetric(time=1.0, step=10, loss=1.0)))
    assert (run.percent, run.progress, run.has_eta, run.eta_s) == (None, None, True, None)


def test_two_logs_give_an_eta_by_the_metrics_own_clock() -> None:
    run = shown(track_of(*metrics(940)))
    assert run.steps_per_s == 0.5
    assert run.eta_s == (2600 - 940) / 0.5


def test_one_log_gives_none() -> None:
    assert shown(track_of(*metrics(10))).eta_s is None


def test_an_evaluation_is_told_in_the_eta_s_place_and_the_bar_stays() -> None:
    run = shown(track_of(*metrics(940), evaluating()))
    assert run.phase is not None
    assert (run.phase.text, run.phase.step, run.phase.total) == ("evaluating 340/1200", 340, 1200)
    assert run.percent == 36


def test_training_steps_are_no_phase_and_an_unfollowed_run_has_none() -> None:
    assert shown(track_of(*metrics(940))).phase is None
    assert shown(track_of(*metrics(940), evaluating()), task=None).phase is None


def test_an_exited_job_retrieves_its_results() -> None:
    track = track_of(*metrics(2600))
    track.job = JobState(phase=JobPhase.EXITED, exit_code=0)
    run = shown(track)
    assert run.phase is not None
    assert run.phase.text == "retrieving results"
    assert rail(run) == "setup:done train:done finalize:done retrieve:running"


def test_the_rail_follows_the_phases() -> None:
    assert rail(shown(track_of())) == "setup:running train:pending finalize:pending retrieve:pending"
    assert rail(shown(track_of(*metrics(10)))).startswith("setup:done train:running")
    merging = PhaseMark(kind=MarkKind.STAGE, time=1.0, name="merge")
    run = shown(track_of(*metrics(2600), merging))
    assert rail(run) == "setup:done train:done finalize:done merge:running retrieve:pending"


def test_a_run_that_will_merge_shows_it_and_one_that_succeeded_is_done() -> None:
    assert "merge:pending" in rail(shown(track_of(*metrics(10)), merge=True))
    done = shown(track_of(*metrics(2600)), record=run_record(state=RunState.SUCCEEDED), task=None)
    assert {step.progress.value for step in done.rail} == {"done"}
    failed = shown(track_of(*metrics(10)), record=run_record(state=RunState.FAILED), task=None)
    assert "train:stopped" in rail(failed)


def test_facts_tell_what_a_run_came_from_and_why_it_ended() -> None:
    records = {record.id: record for record in run_records()}
    assert ("resumed", f"from {STOPPED_ID}", False) in shown(track_of(), record=records[RUNNING_ID]).facts
    stopped = shown(track_of(), record=records[STOPPED_ID], task=None)
    assert ("snapshot", "at step 900 (requested), output/ partial: T resumes it", False) in stopped.facts
    failed = shown(track_of(), record=run_record(state=RunState.FAILED, message="exit 1"), task=None)
    assert ("why", "exit 1", True) in failed.facts


def test_an_ended_run_tells_how_long_it_took() -> None:
    record = run_records()[0]
    assert shown(track_of(), record=record, task=None).took_s == 84 * 60


def test_what_the_app_does_with_a_run_takes_the_rail_s_word_but_following_does_not() -> None:
    starting = RunTask(number=1, kind=RunTaskKind.START, run_id=RUNNING_ID)
    assert shown(track_of(), task=starting).activity == "starting"
    assert shown(track_of()).activity == ""


def test_without_a_curve_it_says_why() -> None:
    assert shown(track_of()).no_chart == "no metrics yet"
    assert shown(track_of(), task=None).no_chart == "not followed: press a to attach"
    assert shown(track_of(*metrics(10))).no_chart == ""


def test_what_a_run_was_started_with_is_its_own() -> None:
    track = RunTrack(RUNNING_ID)
    track.trained_with = TrainedWith(base_model="tiny-0.5m", epochs=1, train_examples=626, eval_examples=80)
    shown = selected_run(RunFacts(record=run_record(), track=track, epochs=7), cursor=None, is_fitted=False)
    assert shown.about == (("model", "tiny-0.5m, full, 1 epoch"), ("data", "626 train, 80 eval"))
    assert shown.epochs == 1
    track.trained_with = TrainedWith()
    shown = selected_run(RunFacts(record=run_record(), track=track, epochs=7), cursor=None, is_fitted=False)
    assert (shown.about, shown.epochs) == ((), None)
