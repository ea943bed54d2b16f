"""Auto mode: its question, its links, where it stops, and how it is cancelled."""

from __future__ import annotations

from overbrainer_core.errors import ItemsFailedError
from overbrainer_core.events.types import JobStatus, RunCreated
from overbrainer_core.runs.record import RunState
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_tui import keys, outcomes
from overbrainer_tui.effects import (
    Effect,
    InterruptStages,
    PlanRefused,
    PlanTraining,
    Purpose,
    RunStages,
    RunTaskEnded,
    StagesEnded,
    StartTraining,
    TrainingPlanned,
)
from overbrainer_tui.state import AppState, View
from overbrainer_tui.view_models.overlay import Confirm
from overbrainer_tui.view_models.snapshots import Progress
from tests.tui.states import app_state, plan_facts, run_record

STAGES = ["subtopics", "questions", "answers", "split"]


def press(state: AppState, *names: str) -> list[Effect]:
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def marks(state: AppState) -> list[str]:
    return [f"{link.name} {link.progress.value}" for link in state.pipeline.snapshot().chain]


def stage_of(effects: list[Effect]) -> RunStages:
    (found,) = (effect for effect in effects if isinstance(effect, RunStages))
    return found


def end_stage(state: AppState, error: str | None = None) -> list[Effect]:
    assert state.pipeline.task is not None
    return outcomes.take(state, StagesEnded(task=state.pipeline.task, error=error))


def through_stages(state: AppState) -> list[Effect]:
    effects = press(state, "A", "y")
    for stage in STAGES:
        assert stage_of(effects).command == stage
        effects = end_stage(state)
    return effects


def plan_of(effects: list[Effect]) -> PlanTraining:
    (found,) = (effect for effect in effects if isinstance(effect, PlanTraining))
    return found


def start_chain_run(state: AppState) -> StartTraining:
    plan = plan_of(through_stages(state))
    effects = outcomes.take(
        state, TrainingPlanned(ticket=plan.ticket, purpose=plan.purpose, plan="plan", facts=plan_facts())
    )
    (start,) = (effect for effect in effects if isinstance(effect, StartTraining))
    return start


def test_the_question_tells_stages_target_model_and_that_split_rebuilds_the_data() -> None:
    state = app_state()
    press(state, "A")
    assert isinstance(state.overlay, Confirm)
    told = {row.label: f"{row.value} {row.remark}" for row in state.overlay.rows if row.label}
    assert told["stages"].startswith("subtopics, questions, answers, split")
    assert told["target"] == "local local, native"
    assert told["model"] == "Qwen/Qwen3-0.6B qlora, 3 epochs, lr 2e-4"
    assert "split rebuilds the data just before" in told["data"]


def test_each_link_starts_by_itself_and_the_run_is_shown_in_training() -> None:
    state = app_state()
    start = start_chain_run(state)
    assert start.plan == "plan"
    assert state.view is View.TRAINING
    assert marks(state) == [*(f"{stage} done" for stage in STAGES), "train running"]


def test_the_row_tells_which_link_runs() -> None:
    state = app_state()
    press(state, "A", "y")
    end_stage(state)
    assert marks(state) == ["subtopics done", "questions running", "answers pending", "split pending", "train pending"]


def test_a_link_that_fails_stops_the_chain_and_says_how_to_go_on() -> None:
    state = app_state()
    press(state, "A", "y")
    end_stage(state)
    effects = end_stage(state, str(ItemsFailedError("questions", 1)))
    assert not any(isinstance(effect, RunStages) for effect in effects)
    assert marks(state)[1] == "questions stopped"
    told = status(state) or ""
    assert told.startswith("auto stopped at questions: 1 questions item(s) failed")
    assert told.endswith("; A resumes it")


def test_the_end_of_the_chain_names_the_output() -> None:
    state = app_state()
    start = start_chain_run(state)
    record = run_record("r1", RunState.SUCCEEDED)
    outcomes.take(state, RunTaskEnded(task=start.task, record=record))
    assert status(state) == "auto done: runs/r1/output"
    assert marks(state)[-1] == "train done"
    assert state.pipeline.snapshot().chain[-1].progress is Progress.DONE


def test_a_run_of_the_chain_that_fails_stops_it_at_train() -> None:
    state = app_state()
    start = start_chain_run(state)
    record = run_record("r1", RunState.FAILED, message="the job exited with code 1")
    outcomes.take(state, RunTaskEnded(task=start.task, record=record, error="the job exited with code 1"))
    assert status(state) == "auto stopped at train: the job exited with code 1; A resumes it"


def test_a_plan_that_is_refused_stops_the_chain_at_train() -> None:
    state = app_state()
    plan = plan_of(through_stages(state))
    assert state.lock_reason == "a new run is starting"
    outcomes.take(state, PlanRefused(ticket=plan.ticket, purpose=Purpose.CHAIN, reason="no program"))
    assert status(state) == "auto stopped at train: no program; A resumes it"
    assert state.lock_reason is None


def test_without_a_training_section_it_says_so_and_is_done_after_split() -> None:
    state = app_state(target=None)
    press(state, "A")
    assert isinstance(state.overlay, Confirm)
    assert any("stops after split" in row.value for row in state.overlay.rows)
    effects = press(state, "y")
    for stage in STAGES:
        assert stage_of(effects).command == stage
        effects = end_stage(state)
    assert not any(isinstance(effect, PlanTraining) for effect in effects)
    assert "done after split" in (status(state) or "")
    assert [link.name for link in state.pipeline.snapshot().chain] == STAGES


def test_c_cancels_the_stage_and_the_chain_after_a_question() -> None:
    state = app_state()
    press(state, "A", "y", "c")
    assert isinstance(state.overlay, Confirm)
    assert (state.overlay.title, state.overlay.is_destructive) == ("Cancel auto mode?", True)
    assert press(state, "y") == [InterruptStages(task=1)]
    end_stage(state, "interrupted: the stage resumes on its next run")
    assert marks(state)[0] == "subtopics stopped"


def test_c_during_the_run_points_to_training_and_without_a_chain_does_nothing() -> None:
    state = app_state()
    assert press(state, "c") == []
    assert status(state) is None
    start_chain_run(state)
    press(state, "3", "c")
    assert status(state) == "auto mode is training: c in Training cancels the run"
    assert state.overlay is None


def test_the_question_to_cancel_answered_too_late_cancels_nothing() -> None:
    state = app_state()
    press(state, "A", "y", "c")
    while state.pipeline.is_running:
        end_stage(state)
    assert press(state, "y") == []
    assert status(state) == "auto mode has gone on meanwhile: nothing was cancelled"


def test_a_second_auto_mode_is_refused_while_one_runs() -> None:
    state = app_state()
    start_chain_run(state)
    press(state, "3", "A")
    assert status(state) == "auto mode is already running"


def test_the_chain_stays_on_screen_after_its_end_and_goes_with_the_next_stage() -> None:
    state = app_state()
    press(state, "A", "y")
    end_stage(state, "HTTP 401")
    assert marks(state)[0] == "subtopics stopped"
    press(state, "r", "j", "enter")
    assert marks(state) == []


def test_between_two_links_the_lock_holds() -> None:
    state = app_state()
    press(state, "A", "y")
    end_stage(state)
    assert state.lock_reason is not None
    press(state, "r")
    assert state.overlay is None


def test_a_run_of_the_chain_that_is_cancelled_stops_the_chain_there() -> None:
    state = app_state()
    start = start_chain_run(state)
    outcomes.take_events(state, start.task, [RunCreated(run_id="r1", target="local")])
    outcomes.take_events(state, start.task, [JobStatus(run_id="r1", state=JobState(phase=JobPhase.RUNNING))])
    state.training.take_runs([run_record("r1")])
    press(state, "c", "y")
    outcomes.take(state, RunTaskEnded(task=start.task, error="interrupted: ...", is_detached=True))
    assert status(state) == "auto stopped at train: run r1 is being cancelled; A resumes it"
