"""Leaving: the question, what is stopped, detached and waited for, notes, signals, a broken terminal."""

from __future__ import annotations

import pytest

from overbrainer_core.events.types import JobStatus, RunCreated, StageStarted
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.stage import Stage
from overbrainer_tui import keys, outcomes, quit_actions
from overbrainer_tui.dialogs.overlay import rows_of
from overbrainer_tui.effects import (
    AttachRun,
    CancelRun,
    DetachRun,
    Effect,
    InterruptStages,
    Leave,
    LogsExported,
    Purpose,
    RunsRead,
    RunTaskEnded,
    StagesEnded,
    TrainingPlanned,
)
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Confirm, Overlay
from overbrainer_tui.view_models.quit import QuitPhase
from tests.tui.states import RUNNING_ID, STOPPED_ID, app_state, plan_facts, run_records

INTERRUPTED = "interrupted: the stage resumes on its next run"
KEEPS = (
    f"interrupted: run {RUNNING_ID} keeps running on target `local`; "
    f"follow it again with `overbrainer train attach {RUNNING_ID}`"
)


def press(state: AppState, *names: str) -> list[Effect]:
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def over(state: AppState) -> Overlay | None:
    return state.overlay


def phase(state: AppState) -> QuitPhase:
    return state.quit.phase


def question(state: AppState) -> str:
    assert isinstance(state.overlay, Confirm)
    return " ".join(f"{row.label} {row.value} {row.remark}" for row in rows_of(state, state.overlay))


def with_stage(state: AppState) -> AppState:
    press(state, "r", "j", "j", "j", "j", "j", "enter")
    assert state.pipeline.task is not None
    outcomes.take_events(state, state.pipeline.task, [StageStarted(stage=Stage.ANSWERS, total=320)])
    return state


def with_follow(state: AppState) -> AppState:
    press(state, "4")
    outcomes.take(state, RunsRead(ticket=1, records=run_records()))
    press(state, "a")
    return state


def with_start(state: AppState) -> AppState:
    press(state, "4", "t")
    outcomes.take(state, TrainingPlanned(ticket=1, purpose=Purpose.START, plan="p", facts=plan_facts()))
    press(state, "y")
    outcomes.take_events(state, 1, [RunCreated(run_id="new_1", target="local")])
    return state


def began(state: AppState) -> list[Effect]:
    return outcomes.take_events(state, 1, [JobStatus(run_id="new_1", state=JobState(phase=JobPhase.RUNNING))])


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_with_nothing_running_it_leaves_at_once(key: str) -> None:
    state = app_state()
    assert press(state, key) == [Leave(exit_code=0)]
    assert over(state) is None


def test_a_run_being_prepared_does_not_hold_the_app() -> None:
    state = app_state()
    press(state, "4", "t")
    assert press(state, "q") == [Leave(exit_code=0)]


def test_ctrl_c_closes_what_is_open_and_asks() -> None:
    state = with_stage(app_state())
    press(state, "?")
    press(state, "ctrl+c")
    assert isinstance(over(state), Confirm)


def test_the_question_follows_the_work_and_no_changes_nothing() -> None:
    state = with_stage(app_state())
    press(state, "q")
    assert "answers 0/320 12 requests in flight" in question(state)
    assert "the next run resumes it" in question(state)
    outcomes.take_events(state, 1, [StageStarted(stage=Stage.ANSWERS, total=7)])
    assert "answers 0/7 7 requests in flight" in question(state)
    assert isinstance(state.overlay, Confirm)
    assert state.overlay.is_destructive
    assert press(state, "n") == []
    assert (phase(state), state.pipeline.is_running) == (QuitPhase.NONE, True)


def test_a_confirmed_quit_interrupts_the_stage_waits_and_notes_how_it_ended() -> None:
    state = with_stage(app_state())
    assert press(state, "q", "y") == [InterruptStages(task=1)]
    assert state.footer(()).work[0] == "quitting: waiting"
    press(state, "r")
    assert status(state) == "refused: quitting; no stage starts"
    effects = outcomes.take(state, StagesEnded(task=1, error=INTERRUPTED))
    assert Leave(exit_code=0) in effects
    assert state.quit.notes == (f"run: {INTERRUPTED}",)


def test_staying_says_what_still_stops_and_the_app_goes_on() -> None:
    state = with_stage(app_state())
    press(state, "q", "y")
    press(state, "escape")
    assert status(state) == "not quitting; run still stops"
    effects = outcomes.take(state, StagesEnded(task=1, error=INTERRUPTED))
    assert not any(isinstance(effect, Leave) for effect in effects)


def test_a_followed_run_is_detached_and_the_note_names_the_command() -> None:
    state = with_follow(app_state())
    press(state, "q")
    assert "keeps training on local" in question(state)
    assert press(state, "y") == [DetachRun(task=1)]
    effects = outcomes.take(state, RunTaskEnded(task=1, error=KEEPS, is_detached=True))
    assert Leave(exit_code=0) in effects
    assert state.quit.notes == (KEEPS,)


def test_staying_after_a_detach_keeps_the_note_until_the_run_is_followed_again() -> None:
    state = with_follow(app_state())
    press(state, "q", "y", "n")
    assert status(state) == "not quitting; 1 run still detached"
    outcomes.take(state, RunTaskEnded(task=1, error=KEEPS, is_detached=True))
    noted = [state.quit.notes]
    press(state, "a", "q", "y")
    outcomes.take(state, RunTaskEnded(task=2, error=KEEPS, is_detached=True))
    noted.append(state.quit.notes)
    assert noted == [(), (KEEPS,)]


def test_a_start_is_never_cut_and_is_detached_once_its_job_began() -> None:
    state = with_start(app_state())
    press(state, "q")
    assert "quitting waits until its job started" in question(state)
    assert press(state, "y") == []
    assert DetachRun(task=1) in began(state)
    effects = outcomes.take(state, RunTaskEnded(task=1, error="interrupted: run new_1 ...", is_detached=True))
    assert Leave(exit_code=0) in effects


def test_after_staying_a_start_keeps_being_followed() -> None:
    state = with_start(app_state())
    press(state, "q", "y", "n")
    assert not any(isinstance(effect, DetachRun) for effect in began(state))


def test_a_cancel_in_progress_and_a_pending_one_are_waited_for() -> None:
    state = with_follow(app_state())
    press(state, "c", "y")
    press(state, "q")
    assert "is being cancelled; quitting waits for it" in question(state)
    assert press(state, "y") == []
    effects = outcomes.take(state, RunTaskEnded(task=1, error=KEEPS, is_detached=True))
    assert [effect for effect in effects if isinstance(effect, CancelRun)] == [CancelRun(task=2, run_id=RUNNING_ID)]
    assert not any(isinstance(effect, Leave) for effect in effects)
    effects = outcomes.take(state, RunTaskEnded(task=2))
    assert Leave(exit_code=0) in effects


def test_while_waiting_a_cancel_still_works_and_an_attach_does_not() -> None:
    state = with_follow(app_state())
    with_stage(state)
    press(state, "4", "q", "y", "j", "a")
    assert status(state) == "refused: quitting; nothing new is followed"
    assert press(state, "c", "y") == [CancelRun(task=3, run_id=STOPPED_ID)]


def test_a_stop_asked_for_keeps_running_and_is_detached() -> None:
    state = with_follow(app_state())
    press(state, "s", "y")
    outcomes.take(state, RunTaskEnded(task=1, error=KEEPS, is_detached=True))
    press(state, "q")
    assert "keeps running until its snapshot is saved" in question(state)
    assert press(state, "y") == [DetachRun(task=2)]


def test_a_stop_that_has_not_begun_is_dropped_and_the_note_gives_its_command() -> None:
    state = with_follow(app_state())
    press(state, "s", "y", "q", "y")
    assert state.quit.notes == (f"run {RUNNING_ID}: not stopped; stop it with `overbrainer train stop {RUNNING_ID}`",)


def test_an_export_in_progress_is_waited_for() -> None:
    state = app_state()
    state.say("a line")
    press(state, "5", "x")
    press(state, "q", "y")
    assert phase(state) is QuitPhase.WAITING
    assert outcomes.take(state, LogsExported(name="n", count=1)) == [Leave(exit_code=0)]


def test_a_second_q_while_waiting_opens_no_second_question() -> None:
    state = with_stage(app_state())
    press(state, "q", "y")
    assert press(state, "q") == []
    assert over(state) is None
    assert status(state) == "quitting once the work running ends"


def test_the_chain_stops_with_the_quit_and_no_link_follows() -> None:
    state = app_state()
    press(state, "A", "y", "q", "y")
    effects = outcomes.take(state, StagesEnded(task=1))
    assert effects[-1] == Leave(exit_code=0)
    assert [link.progress.value for link in state.pipeline.chain][:2] == ["done", "stopped"]


# Signals


def test_a_signal_stops_everything_without_asking_and_cannot_be_taken_back() -> None:
    state = with_stage(app_state())
    press(state, "?")
    assert quit_actions.on_signal(state, "SIGTERM") == [InterruptStages(task=1)]
    assert over(state) is None
    assert (status(state) or "").startswith("interrupted: exiting once")
    assert press(state, "n") == []
    assert phase(state) is QuitPhase.SIGNALLED
    effects = outcomes.take(state, StagesEnded(task=1, error=INTERRUPTED))
    assert Leave(exit_code=130) in effects


def test_a_signal_with_nothing_running_leaves_at_once() -> None:
    assert quit_actions.on_signal(app_state(), "SIGHUP") == [Leave(exit_code=130)]


def test_a_signal_takes_over_a_quit_that_waits() -> None:
    state = with_stage(app_state())
    press(state, "q", "y")
    quit_actions.on_signal(state, "SIGTERM")
    assert press(state, "n") == []
    effects = outcomes.take(state, StagesEnded(task=1, error=INTERRUPTED))
    assert Leave(exit_code=130) in effects


def test_after_a_signal_nothing_new_is_cancelled() -> None:
    state = with_follow(app_state())
    quit_actions.on_signal(state, "SIGTERM")
    assert press(state, "c") == []
    assert status(state) == "refused: interrupted, exiting"


def test_a_pending_cancel_survives_a_signal() -> None:
    state = with_follow(app_state())
    press(state, "c", "y")
    quit_actions.on_signal(state, "SIGTERM")
    effects = outcomes.take(state, RunTaskEnded(task=1, error=KEEPS, is_detached=True))
    assert any(isinstance(effect, CancelRun) for effect in effects)


def test_it_leaves_once_and_no_more() -> None:
    state = app_state()
    assert quit_actions.on_signal(state, "SIGTERM") == [Leave(exit_code=130)]
    assert quit_actions.on_signal(state, "SIGTERM") == []
    assert quit_actions.on_broken_terminal(state) == []


# A broken terminal


def test_a_broken_terminal_is_a_confirmed_quit_and_a_signal_after_it_counts() -> None:
    state = with_start(app_state())
    assert quit_actions.on_broken_terminal(state) == []
    assert phase(state) is QuitPhase.BROKEN
    quit_actions.on_signal(state, "SIGINT")
    assert phase(state) is QuitPhase.SIGNALLED
    quit_actions.on_broken_terminal(state)
    assert phase(state) is QuitPhase.SIGNALLED
    assert DetachRun(task=1) in began(state)


def test_on_a_small_terminal_a_second_q_confirms() -> None:
    state = with_stage(app_state())
    state.resize(60, 18)
    press(state, "q")
    assert isinstance(over(state), Confirm)
    assert press(state, "q") == [InterruptStages(task=1)]


def test_an_attach_effect_is_made_for_the_selected_run() -> None:
    state = app_state()
    press(state, "4")
    outcomes.take(state, RunsRead(ticket=1, records=run_records()))
    assert press(state, "a") == [AttachRun(task=1, run_id=RUNNING_ID)]
