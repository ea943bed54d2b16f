"""Keyboard scripts on Training: attach, cancel, stop, start, resume, clear, and what follows."""

from __future__ import annotations

import pytest

from overbrainer_core.events.types import Event, JobStatus, Metric, RunCreated, RunWatched
from overbrainer_core.runs.record import RunState
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui import keys, outcomes
from overbrainer_tui.effects import (
    AttachRun,
    CancelRun,
    DetachRun,
    Effect,
    MetricsRead,
    PlanRefused,
    PlanTraining,
    Purpose,
    ReadMetrics,
    ReadRunFiles,
    ReadRuns,
    RunFilesRead,
    RunReported,
    RunsRead,
    RunTaskEnded,
    StartTraining,
    StopRun,
    TrainingPlanned,
)
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Confirm
from overbrainer_tui.view_models.run_track import TrackData, TrainedWith
from overbrainer_tui.view_models.snapshots import Level, SelectedRun
from tests.tui.states import (
    FAILED_ID,
    MONO,
    NOW,
    RUNNING_ID,
    STOPPED_ID,
    SUCCEEDED_ID,
    app_state,
    plan_facts,
    run_record,
    run_records,
)


def press(state: AppState, *names: str) -> list[Effect]:
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def in_training() -> AppState:
    state = app_state()
    press(state, "4")
    outcomes.take(state, RunsRead(ticket=1, records=run_records()))
    return state


def selected(state: AppState) -> SelectedRun:
    found = state.training.snapshot(state.now).selected
    assert found is not None
    return found


def works(state: AppState) -> dict[str, str]:
    return {row.run_id: row.work for row in state.training.snapshot(state.now).runs.rows}


def told(state: AppState) -> str:
    assert isinstance(state.overlay, Confirm)
    return " ".join(f"{row.label} {row.value} {row.remark}" for row in state.overlay.rows)


def of(effects: list[Effect], kind: type) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, kind)]


def followed(state: AppState) -> int:
    (effect,) = of(press(state, "a"), AttachRun)
    assert isinstance(effect, AttachRun)
    began(state, effect.task, effect.run_id)
    return effect.task


def began(state: AppState, task: int, run_id: str) -> list[Effect]:
    events: list[Event] = [
        RunWatched(run_id=run_id),
        JobStatus(run_id=run_id, state=JobState(phase=JobPhase.RUNNING)),
    ]
    return outcomes.take_events(state, task, events)


# Attach


def test_attaching_twice_gives_one_task_and_says_that_it_is_followed() -> None:
    state = in_training()
    followed(state)
    assert works(state)[RUNNING_ID] == "followed"
    assert press(state, "a") == []
    assert status(state) == f"run {RUNNING_ID} is already followed"
    assert len(state.training.tasks) == 1
    assert state.footer(()).work == ("1 training task",)


def test_attaching_a_run_that_is_being_cancelled_is_refused() -> None:
    state = in_training()
    press(state, "c", "y")
    assert press(state, "a") == []
    assert status(state) == f"run {RUNNING_ID} is being cancelled"


def test_the_end_of_a_follow_is_said_and_the_run_is_read_again() -> None:
    state = in_training()
    task = followed(state)
    outcomes.take(state, RunsRead(ticket=2, records=run_records()))
    effects = outcomes.take(state, RunTaskEnded(task=task, record=run_record(state=RunState.SUCCEEDED)))
    assert status(state) == f"run {RUNNING_ID}: done"
    assert of(effects, ReadRuns)
    assert of(effects, ReadMetrics) == [ReadMetrics(run_id=RUNNING_ID, generation=1)]


@pytest.mark.parametrize(
    ("ended", "words"),
    [(RunState.STOPPED, "stopped with a snapshot; T resumes it"), (RunState.CANCELLED, "cancelled")],
)
def test_a_run_that_was_ended_is_not_said_to_be_done(ended: RunState, words: str) -> None:
    state = in_training()
    task = followed(state)
    outcomes.take(state, RunTaskEnded(task=task, record=run_record(state=ended)))
    assert status(state) == f"run {RUNNING_ID}: {words}"


def test_a_follow_that_ends_in_an_error_keeps_it_under_the_chart() -> None:
    state = in_training()
    task = followed(state)
    outcomes.take(state, RunReported(task=task, level=Level.INFO, text="job running"))
    outcomes.take(state, RunTaskEnded(task=task, error="cannot reach the job"))
    found = state.status.current(state.mono)
    assert found is not None
    assert (found.level, found.text) == (Level.WARNING, f"run {RUNNING_ID}: cannot reach the job")
    assert [(m.text, m.level) for m in selected(state).messages] == [
        ("job running", Level.INFO),
        ("cannot reach the job", Level.ERROR),
    ]


def test_only_the_last_three_reported_lines_are_kept() -> None:
    state = in_training()
    task = followed(state)
    for number in range(5):
        outcomes.take(state, RunReported(task=task, level=Level.INFO, text=f"line {number}"))
    assert [message.text for message in selected(state).messages] == ["line 2", "line 3", "line 4"]


# Cancel and stop


def test_a_cancel_of_a_followed_run_detaches_first_and_cancels_when_that_ended() -> None:
    state = in_training()
    task = followed(state)
    press(state, "c")
    assert RUNNING_ID in told(state)
    assert press(state, "y") == [DetachRun(task=task)]
    assert works(state)[RUNNING_ID] == "cancelling"
    assert press(state, "c") == []
    assert status(state) == f"run {RUNNING_ID} is already being cancelled"
    effects = outcomes.take(state, RunTaskEnded(task=task, error="interrupted: ...", is_detached=True))
    assert of(effects, CancelRun) == [CancelRun(task=task + 1, run_id=RUNNING_ID)]
    assert status(state) != f"run {RUNNING_ID}: interrupted: ..."


def test_a_run_that_nothing_follows_is_cancelled_at_once() -> None:
    state = in_training()
    assert press(state, "c", "y") == [CancelRun(task=1, run_id=RUNNING_ID)]


def test_a_cancel_answered_with_no_cancels_nothing() -> None:
    state = in_training()
    assert press(state, "c", "n") == []
    assert len(state.training.tasks) == 0


def test_a_run_that_ended_can_be_cleaned_up_and_a_cancelled_one_cannot() -> None:
    state = in_training()
    press(state, "j", "j", "c")
    assert "stops any job of it left on the target" in told(state)
    press(state, "n")
    state.training.take_runs([run_record(state=RunState.CANCELLED)])
    assert press(state, "c") == []
    assert status(state) == f"run {RUNNING_ID} already ended: cancelled"


def test_a_stop_of_a_followed_run_detaches_first_and_then_stops() -> None:
    state = in_training()
    task = followed(state)
    press(state, "s")
    assert "checkpoint" in told(state)
    assert press(state, "y") == [DetachRun(task=task)]
    effects = outcomes.take(state, RunTaskEnded(task=task, error="interrupted", is_detached=True))
    assert of(effects, StopRun) == [StopRun(task=task + 1, run_id=RUNNING_ID)]
    assert works(state)[RUNNING_ID] == "stopping"
    press(state, "s")
    assert status(state) == f"run {RUNNING_ID} is already stopping"


def test_runs_that_cannot_save_a_snapshot_are_not_stopped() -> None:
    state = in_training()
    press(state, "j", "s")
    assert status(state) == f"run {STOPPED_ID} is not running (stopped): there is nothing to snapshot"
    state.training.take_runs([run_record(snapshots=False)])
    press(state, "s")
    assert "comes from before 0.5.0 and cannot save a snapshot" in (status(state) or "")


# Start and resume


def planned(state: AppState, *, purpose: Purpose = Purpose.START, resume: bool = False) -> list[Effect]:
    facts = plan_facts(resume=(STOPPED_ID, 900, "output/checkpoint-900") if resume else None)
    return outcomes.take(state, TrainingPlanned(ticket=state.ticket, purpose=purpose, plan="plan", facts=facts))


def test_a_start_is_prepared_then_asked_then_started() -> None:
    state = in_training()
    assert press(state, "t") == [PlanTraining(ticket=1, purpose=Purpose.START)]
    assert state.footer(()).work == ("preparing a run",)
    assert press(state, "t") == []
    assert status(state) == "already preparing a run"
    planned(state)
    assert isinstance(state.overlay, Confirm)
    assert state.overlay.title == "Start a training run?"
    assert "1906 train 212 eval" in told(state)
    assert "The run goes on when you leave or quit" in told(state)
    assert press(state, "y") == [StartTraining(task=1, plan="plan")]
    assert status(state) == "starting a run on local"


def test_a_start_that_is_refused_says_why() -> None:
    state = in_training()
    press(state, "t")
    outcomes.take(state, PlanRefused(ticket=1, purpose=Purpose.START, reason="data/train.jsonl has no example"))
    found = state.status.current(state.mono)
    assert found is not None
    assert (found.level, found.text) == (Level.ERROR, "data/train.jsonl has no example")
    assert state.preparing is None


def test_a_plan_that_arrives_under_an_overlay_is_dropped_and_says_which_key_to_press() -> None:
    state = in_training()
    press(state, "t", "?")
    planned(state)
    assert not isinstance(state.overlay, Confirm)
    press(state, "escape")
    assert status(state) == "a run is prepared: press t again"


def test_warnings_of_a_plan_stand_in_the_question() -> None:
    state = in_training()
    press(state, "t")
    facts = plan_facts(warnings=("the chat template drops reasoning",))
    outcomes.take(state, TrainingPlanned(ticket=1, purpose=Purpose.START, plan="p", facts=facts))
    assert "warning the chat template drops reasoning" in told(state)


def test_between_yes_and_the_first_status_the_lock_holds_and_views_work() -> None:
    state = in_training()
    press(state, "t")
    planned(state)
    press(state, "y")
    assert state.footer(()).is_locked
    for key, what in (("r", "a new run is starting"), ("t", "a new run is starting")):
        assert press(state, key) == []
        assert status(state) == f"refused: {what}; one task at a time"
    effects = outcomes.take_events(state, 1, [RunCreated(run_id="new_1", target="local")])
    assert of(effects, ReadRuns) == [ReadRuns(ticket=2)]
    press(state, "3", "A")
    assert status(state) == "refused: run new_1 is starting; one task at a time"
    began(state, 1, "new_1")
    assert not state.footer(()).is_locked


def test_a_run_just_created_becomes_selected_once_it_is_listed() -> None:
    state = in_training()
    press(state, "j", "t")
    planned(state)
    press(state, "y")
    outcomes.take_events(state, 1, [RunCreated(run_id="new_1", target="local")])
    assert selected(state).run_id == STOPPED_ID
    state.training.take_runs([*run_records(), run_record("new_1", RunState.PREPARING)])
    assert selected(state).run_id == "new_1"
    assert works(state)["new_1"] == "starting"


def test_what_a_start_reports_before_its_run_is_known_is_kept() -> None:
    state = in_training()
    press(state, "t")
    planned(state)
    press(state, "y")
    outcomes.take(state, RunReported(task=1, level=Level.INFO, text="run new_1 on target `local`"))
    outcomes.take_events(state, 1, [RunCreated(run_id="new_1", target="local")])
    state.training.take_runs([run_record("new_1", RunState.PREPARING)])
    assert [message.text for message in selected(state).messages] == ["run new_1 on target `local`"]


def test_a_cancel_of_a_start_waits_until_its_job_began() -> None:
    state = in_training()
    press(state, "t")
    planned(state)
    press(state, "y")
    outcomes.take_events(state, 1, [RunCreated(run_id="new_1", target="local")])
    state.training.take_runs([*run_records(), run_record("new_1", RunState.PREPARING)])
    press(state, "c")
    assert "cancelled once its job started" in told(state)
    assert press(state, "y") == []
    assert works(state)["new_1"] == "cancelling"
    assert of(began(state, 1, "new_1"), DetachRun) == [DetachRun(task=1)]


def test_a_resume_needs_a_stopped_run_and_tells_what_it_goes_on_from() -> None:
    state = in_training()
    press(state, "j", "j", "T")
    assert status(state) == f"run {SUCCEEDED_ID} is succeeded, not stopped with a snapshot"
    press(state, "k")
    assert press(state, "T") == [PlanTraining(ticket=1, purpose=Purpose.RESUME, resume_from=STOPPED_ID)]
    planned(state, purpose=Purpose.RESUME, resume=True)
    assert isinstance(state.overlay, Confirm)
    assert state.overlay.title == "Resume a training run?"
    assert f"resume {STOPPED_ID} at step 900" in told(state)
    press(state, "y")
    assert status(state) == f"starting a run on local, resuming run {STOPPED_ID}"


def test_a_yes_after_something_else_began_starts_nothing() -> None:
    state = in_training()
    press(state, "t")
    planned(state)
    question = state.overlay
    state.overlay = None
    press(state, "r", "j", "enter")
    state.overlay = question
    assert press(state, "y") == []
    assert status(state) == "refused: subtopics is running; one task at a time"


def test_without_a_training_section_t_says_so() -> None:
    state = app_state(target=None)
    press(state, "4", "t")
    assert status(state) == "no [training] section in overbrainer.toml: nothing says what to train"


# Clear


def test_clearing_hides_failed_runs_until_the_restart_also_after_a_reload() -> None:
    state = in_training()
    press(state, "x")
    assert isinstance(state.overlay, Confirm)
    assert (state.overlay.title, state.overlay.no) == ("Clear failed runs?", "keep it")
    assert "nothing is deleted" in told(state)
    press(state, "y")
    assert FAILED_ID not in works(state)
    state.training.take_runs(run_records())
    assert FAILED_ID not in works(state)
    assert press(state, "x") == []
    assert status(state) == "no failed run to clear"


def test_all_runs_hidden_says_where_they_are() -> None:
    state = in_training()
    state.training.take_runs([record for record in run_records() if record.state is RunState.FAILED])
    press(state, "x", "y")
    empty = state.training.snapshot(NOW).empty
    assert empty is not None
    assert "cleared until the app restarts" in empty.line


# Metrics


def test_the_metrics_of_a_run_nothing_follows_are_read_once() -> None:
    state = in_training()
    assert ReadMetrics(run_id=STOPPED_ID, generation=0) in press(state, "j")
    assert [type(effect) for effect in press(state, "j", "k")] == [ReadMetrics, ReadRunFiles]
    data = TrackData(STOPPED_ID)
    data.apply(TrainMetric(time=1.0, step=5, loss=1.0))
    outcomes.take(state, MetricsRead(run_id=STOPPED_ID, generation=0, data=data))
    assert selected(state).step == 5


def test_a_read_begun_before_an_attach_never_replaces_the_replay() -> None:
    state = in_training()
    task = followed(state)
    outcomes.take_events(state, task, [Metric(run_id=RUNNING_ID, metric=TrainMetric(time=1.0, step=7, loss=1.0))])
    old = TrackData(RUNNING_ID)
    old.apply(TrainMetric(time=1.0, step=99, loss=9.0))
    outcomes.take(state, MetricsRead(run_id=RUNNING_ID, generation=0, data=old))
    assert selected(state).step == 7


def test_lost_points_are_noted_until_the_metrics_file_is_read() -> None:
    state = in_training()
    task = followed(state)
    event = Metric(run_id=RUNNING_ID, metric=TrainMetric(time=1.0, step=7, loss=1.0))
    assert outcomes.take_events(state, task, [event], lost=1) == []
    state.at(MONO + 0.5, NOW)
    assert outcomes.take_events(state, task, [event], lost=2) == []
    state.at(MONO + 1.0, NOW)
    assert of(state.tick(), ReadMetrics) == []
    assert state.next_tick_s() == 0.5
    state.at(MONO + 1.5, NOW)
    assert of(state.tick(), ReadMetrics) == [ReadMetrics(run_id=RUNNING_ID, generation=1)]
    assert ("points", "3 points missing until the run ends", True) in selected(state).facts
    data = TrackData(RUNNING_ID)
    data.apply(TrainMetric(time=1.0, step=8, loss=1.0))
    outcomes.take(state, MetricsRead(run_id=RUNNING_ID, generation=1, data=data))
    assert all(label != "points" for label, _, _ in selected(state).facts)


def test_without_a_metrics_file_the_note_says_so_after_the_end() -> None:
    state = in_training()
    task = followed(state)
    outcomes.take_events(state, task, [], lost=3)
    outcomes.take(state, MetricsRead(run_id=RUNNING_ID, generation=1, data=None))
    outcomes.take(state, RunTaskEnded(task=task, record=run_record(state=RunState.FAILED), error="lost"))
    (fact,) = (value for label, value, _ in selected(state).facts if label == "points")
    assert fact == "3 points missing (no local metrics file to read them from)"


def test_the_runs_are_read_every_two_seconds_one_read_at_a_time() -> None:
    state = in_training()
    state.at(MONO + 2.0, NOW)
    assert of(state.tick(), ReadRuns) == [ReadRuns(ticket=2)]
    assert state.read_runs() == []
    assert state.read_runs() == []
    effects = outcomes.take(state, RunsRead(ticket=2, records=run_records()))
    assert of(effects, ReadRuns) == [ReadRuns(ticket=3)]
    assert outcomes.take(state, RunsRead(ticket=2, records=())) == []


def test_runs_that_cannot_be_listed_again_keep_the_rows_and_are_marked_stale() -> None:
    state = in_training()
    state.read_runs()
    outcomes.take(state, RunsRead(ticket=2, error="permission denied"))
    shown = state.training.snapshot(NOW).runs
    assert (len(shown.rows), shown.is_stale) == (5, True)


def test_runs_that_were_never_listed_show_the_error_and_the_key() -> None:
    state = app_state()
    press(state, "4")
    outcomes.take(state, RunsRead(ticket=1, error="permission denied"))
    error = state.training.snapshot(NOW).error
    assert error is not None
    assert error.title == "cannot list the runs: permission denied"
    assert error.keys[0].key == "R"


def test_the_files_of_the_selected_run_are_read_until_they_are_there() -> None:
    state = in_training()
    press(state, "j")
    assert press(state, "j") == [
        ReadMetrics(run_id=SUCCEEDED_ID, generation=0),
        ReadRunFiles(run_id=SUCCEEDED_ID),
    ]
    outcomes.take(state, RunFilesRead(run_id=SUCCEEDED_ID, trained_with=None))
    assert outcomes.read_selected(state) == []  # it has ended: they will not come any more
    press(state, "home")
    outcomes.take(state, RunFilesRead(run_id=RUNNING_ID, trained_with=None))
    assert ReadRunFiles(run_id=RUNNING_ID) in outcomes.read_selected(state)
    assert ReadRunFiles(run_id=RUNNING_ID) not in outcomes.read_selected(state)
    trained_with = TrainedWith(base_model="Qwen/Qwen3-0.6B", adapter="qlora", epochs=3, train_examples=9)
    outcomes.take(state, RunFilesRead(run_id=RUNNING_ID, trained_with=trained_with))
    assert ReadRunFiles(run_id=RUNNING_ID) not in outcomes.read_selected(state)
    assert selected(state).about == (("model", "Qwen/Qwen3-0.6B, qlora, 3 epochs"), ("data", "9 train, no eval"))
