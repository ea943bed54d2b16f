"""How is the app left? By a person, who is asked while work runs; by a signal or a broken terminal, which do not ask.

A stage is interrupted, followed runs are detached; a start whose job has not begun, a cancel and a log export are
waited for. Nothing is left behind that a later process could not find.
"""

from __future__ import annotations

from overbrainer_tui.effects import DetachRun, Effect, InterruptStages, Leave
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Answer, Confirm
from overbrainer_tui.view_models.quit import QuitPhase, waiting_for
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind
from overbrainer_tui.view_models.snapshots import Level

SUCCESS = 0
INTERRUPTED = 130


def ask_quit(state: AppState) -> list[Effect]:
    """Leave at once when nothing runs, else ask; while waiting, say what for."""
    if state.quit.is_leaving:
        state.overlay = None
        state.say("quitting once the work running ends")
        return []
    if not state.has_work:
        return _leave(state, SUCCESS)
    state.overlay = Confirm(
        title="Quit overbrainer?",
        rows=(),
        yes="quit",
        no="stay",
        on_yes=Answer.QUIT,
        is_destructive=state.pipeline.is_running,
    )
    return []


def ask_quit_small(state: AppState) -> list[Effect]:
    """On a terminal too small for a question the second `q` confirms it."""
    is_asked = isinstance(state.overlay, Confirm) and state.overlay.on_yes is Answer.QUIT
    state.overlay = None
    return confirm_quit(state) if is_asked and not state.quit.is_leaving else ask_quit(state)


def confirm_quit(state: AppState) -> list[Effect]:
    """The person said yes: stop and detach, then wait."""
    state.quit.phase = QuitPhase.WAITING
    return _wind_down(state) + leave_if_done(state)


def stay(state: AppState) -> list[Effect]:
    """Take a confirmed quit back; a signal's is not taken back."""
    if state.quit.phase is not QuitPhase.WAITING:
        return []
    state.say(state.quit.stay(), Level.WARNING)
    return []


def on_signal(state: AppState, name: str) -> list[Effect]:
    """A signal ends the app without asking."""
    state.overlay = None
    state.quit.phase = QuitPhase.SIGNALLED
    state.quit.exit_code = INTERRUPTED
    effects = _wind_down(state)
    waits = ", ".join(_waits(state))
    if waits:
        state.say(f"interrupted: exiting once the app has waited for {waits}", Level.WARNING, is_end=True)
    return effects + leave_if_done(state)


def on_broken_terminal(state: AppState) -> list[Effect]:
    """The terminal failed or its input closed: as a confirmed quit, with nothing drawn any more."""
    state.overlay = None
    if state.quit.phase is not QuitPhase.SIGNALLED:
        state.quit.phase = QuitPhase.BROKEN
    return _wind_down(state) + leave_if_done(state)


def leave_if_done(state: AppState) -> list[Effect]:
    """Leave once nothing is waited for."""
    if not state.quit.is_leaving or state.has_work:
        return []
    return _leave(state, state.quit.exit_code)


def _leave(state: AppState, exit_code: int) -> list[Effect]:
    if state.quit.has_left:
        return []
    state.quit.has_left = True
    return [Leave(exit_code=exit_code)]


def _wind_down(state: AppState) -> list[Effect]:
    effects: list[Effect] = []
    state.preparing = None
    state.ticket += 1  # a plan that arrives now is out of date
    if state.chain is not None and state.chain.is_running and state.chain.task is None:
        state.chain.stop()
        state.pipeline.chain = state.chain.links()
    if state.pipeline.is_running and state.pipeline.task is not None:
        state.quit.interrupted = state.pipeline.command
        effects.append(InterruptStages(task=state.pipeline.task))
    for task in state.training.tasks:
        effects += detach(state, task)
    return effects


def detach(state: AppState, task: RunTask) -> list[Effect]:
    """Let go of a run while leaving: a cancel goes on, a start is waited for, a stop not yet asked for is dropped."""
    if task.kind is RunTaskKind.CANCEL or task.following is RunTaskKind.CANCEL or task.is_starting:
        return []
    if task.following is RunTaskKind.STOP:
        task.following = None
        state.quit.note(
            f"run {task.run_id}: not stopped; stop it with `overbrainer train stop {task.run_id}`",
            subject=task.run_id or "",
        )
    if task.is_leaving:
        return []
    task.is_leaving = True
    if task.run_id is not None:
        state.quit.detached.add(task.run_id)
    return [DetachRun(task=task.number)]


def _waits(state: AppState) -> tuple[str, ...]:
    return waiting_for(state.pipeline, state.training.tasks, is_exporting=state.is_exporting)
