"""What do the keys that run stages do, and what follows when a stage ends? Auto mode is driven from here."""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.values.stage import Stage
from overbrainer_tui.effects import (
    Effect,
    InterruptStages,
    PlanTraining,
    Purpose,
    ReadHistory,
    RunStages,
    StageReported,
    StagesEnded,
)
from overbrainer_tui.quit_actions import leave_if_done
from overbrainer_tui.state import AppState, View
from overbrainer_tui.view_models.auto import AutoChain
from overbrainer_tui.view_models.overlay import Answer, Confirm, DialogRow, StageMenu
from overbrainer_tui.view_models.pipeline import RUN, TRAIN
from overbrainer_tui.view_models.snapshots import Level
from overbrainer_tui.view_models.spending import EVERY_STAGE
from overbrainer_tui.view_models.start import auto_rows

AUTO = "auto"

MENU = (
    (AUTO, "every stage, then training (asks first)"),
    (Stage.SUBTOPICS.value, "generate the missing subtopics"),
    (Stage.QUESTIONS.value, "fill the subtopics with questions"),
    (Stage.ANSWERS.value, "ask the parent to answer (paid requests)"),
    (Stage.SPLIT.value, "rebuild train and eval"),
    (RUN, "all four stages; training starts only with t"),
)
"""The `r` menu: entry and description."""


def open_menu(state: AppState) -> list[Effect]:
    """Ask which stage to run; what the entry under the cursor costs is told beside it."""
    state.overlay = StageMenu()
    state.spending.begin()
    return select_entry(state, 0)


def select_entry(state: AppState, index: int) -> list[Effect]:
    """Put the menu's cursor on an entry."""
    if isinstance(state.overlay, StageMenu):
        state.overlay.index = max(0, min(len(MENU) - 1, index))
        name = estimated_as(MENU[state.overlay.index][0])
        return state.estimate(name) if name is not None else []
    return []


def estimated_as(entry: str) -> str | None:
    """The name under which an entry of the menu is estimated; None for one that asks no model."""
    match entry:
        case Stage.SPLIT:
            return None
        case "auto" | "run":
            return EVERY_STAGE
        case _:
            return entry


def run_entry(state: AppState, entry: str) -> list[Effect]:
    """Run an entry of the menu."""
    if entry == AUTO:
        refusal = auto_refusal(state)
        if refusal is not None:
            state.say(refusal, Level.WARNING)
            return []
        return ask_auto(state)
    return run_command(state, entry)


def run_command(state: AppState, command: str) -> list[Effect]:
    """Run a stage, or `run`, and show the Pipeline view; a chain that stopped before is no longer told."""
    refusal = state.refusal("stage")
    if refusal is not None:
        state.say(refusal, Level.WARNING)
        return []
    state.chain = None
    state.pipeline.chain = ()
    _, effects = _start(state, command)
    return effects


def _start(state: AppState, command: str, *, later: Sequence[Stage] = ()) -> tuple[int, list[Effect]]:
    task = state.next_number()
    state.pipeline.start(task, command, concurrency=state.project.concurrency, later=later)
    state.quit.take_up(command)
    return task, [*state.show(View.PIPELINE), RunStages(task=task, command=command)]


# Auto mode


def auto_refusal(state: AppState) -> str | None:
    """Why auto mode cannot be asked for."""
    if state.chain is not None and state.chain.is_running:
        return "auto mode is already running"
    return state.refusal("run")


def ask_auto(state: AppState, *, resume_from: str | None = None) -> list[Effect]:
    """Ask whether to run everything; `resume_from` is the stopped run that a demo goes on with."""
    state.overlay = Confirm(
        title="Run auto mode?",
        rows=auto_rows(state.project, demo_directory=state.demo_directory, resume_from=resume_from),
        spends=EVERY_STAGE,
        yes="run",
        no="cancel",
        on_yes=Answer.START_AUTO,
        subject=resume_from,
    )
    state.spending.begin()
    return state.estimate(EVERY_STAGE)


def start_auto(state: AppState, *, resume_from: str | None = None) -> list[Effect]:
    """Start the chain."""
    refusal = auto_refusal(state)
    if refusal is not None:
        state.say(refusal, Level.WARNING)
        return []
    state.pipeline.begin_afresh()
    state.chain = AutoChain(has_training=state.project.target is not None, resume_from=resume_from)
    return _run_link(state, state.chain)


def _run_link(state: AppState, chain: AutoChain) -> list[Effect]:
    effects: list[Effect] = []
    match chain.current:
        case None:
            state.say("auto done after split: there is no [training] section", is_end=True)
        case link if link == TRAIN:
            state.preparing = Purpose.CHAIN
            state.ticket += 1
            effects = [PlanTraining(ticket=state.ticket, purpose=Purpose.CHAIN, resume_from=chain.resume_from)]
        case link:
            later = [stage for stage in Stage if list(Stage).index(stage) > list(Stage).index(Stage(link))]
            chain.task, effects = _start(state, link, later=later)
    state.pipeline.chain = chain.links()
    return effects


def stop_chain(state: AppState, error: str) -> None:
    """The link that runs did not end well."""
    chain = state.chain
    if chain is None or not chain.is_running:
        return
    where = chain.current
    chain.stop()
    state.pipeline.chain = chain.links()
    state.say(f"auto stopped at {where}: {error}; A resumes it", Level.ERROR, is_end=True)


def finish_chain(state: AppState, text: str) -> None:
    """The run of the chain ended well."""
    if state.chain is not None:
        state.chain.advance()
        state.pipeline.chain = state.chain.links()
        state.say(text, is_end=True)


def ask_cancel_auto(state: AppState) -> list[Effect]:
    """Ask whether to cancel the chain; nothing without one."""
    chain = state.chain
    if chain is None or not chain.is_running:
        return []
    if chain.is_training:
        state.say("auto mode is training: c in Training cancels the run", Level.WARNING)
        return []
    stage = chain.current or ""
    state.overlay = Confirm(
        title="Cancel auto mode?",
        rows=(
            DialogRow(label=stage, value="stops now; what it finished is kept"),
            DialogRow(label="auto", value="no further link starts; A resumes it"),
        ),
        yes="cancel it",
        no="keep going",
        on_yes=Answer.CANCEL_AUTO,
        is_destructive=True,
    )
    return []


def cancel_auto(state: AppState) -> list[Effect]:
    """Stop the stage of the chain; the chain stops when it ended."""
    chain = state.chain
    if chain is None or not chain.is_running or chain.task is None or chain.is_training:
        state.say("auto mode has gone on meanwhile: nothing was cancelled", Level.WARNING)
        return []
    return [InterruptStages(task=chain.task)]


# What comes back


def stage_reported(state: AppState, outcome: StageReported) -> list[Effect]:
    """A stage has a summary."""
    state.pipeline.report(outcome.task, outcome.stage, summary=outcome.summary, split=outcome.split)
    return []


def stages_ended(state: AppState, outcome: StagesEnded) -> list[Effect]:
    """A pipeline task ended: tell it, read what it cost, and go on with the chain."""
    if outcome.task != state.pipeline.task or not state.pipeline.is_running:
        return []
    command = state.pipeline.command or ""
    state.pipeline.end(outcome.task, outcome.error)
    state.cost.task_ended(outcome.task, state.pipeline.task_cost)
    effects: list[Effect] = [ReadHistory(after_task=outcome.task)]
    if outcome.error is not None and state.quit.is_leaving:
        state.quit.note(f"{command}: {outcome.error}", subject=command)
    chain = state.chain
    if chain is not None and chain.task == outcome.task:
        effects += _after_link(state, chain, outcome.error)
    elif outcome.error is not None:
        state.say(f"{command}: {outcome.error}", Level.ERROR, is_end=True)
    elif command == RUN:
        state.say("run finished after split; training starts only with t", is_end=True)
    else:
        state.say(f"{command} finished", is_end=True)
    return effects + leave_if_done(state)


def _after_link(state: AppState, chain: AutoChain, error: str | None) -> list[Effect]:
    if error is None and not state.quit.is_leaving:
        chain.advance()
        return _run_link(state, chain)
    if error is None:
        chain.advance()
        error = "quitting"
        if chain.current is None:
            state.pipeline.chain = chain.links()
            return []
    stop_chain(state, error)
    return []
