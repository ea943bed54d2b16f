"""What follows from what happened? Outcomes of effects, events of buses and lines of the log, folded into the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from overbrainer_core.events.types import Event, StageEvent
from overbrainer_core.log_setup import LogEntry
from overbrainer_core.values.stage import Stage
from overbrainer_tui import logs_actions, pipeline_actions, training_actions
from overbrainer_tui.effects import (
    BrowserFailed,
    CostEstimated,
    Effect,
    HistoryRead,
    JobLogRead,
    LogsExported,
    MetricsRead,
    Outcome,
    PlanRefused,
    ReadMetrics,
    ReadRunFiles,
    RunFilesRead,
    RunReported,
    RunsRead,
    RunTaskEnded,
    SettingsRead,
    StageReported,
    StagesEnded,
    ThemeKept,
    TrainingPlanned,
)
from overbrainer_tui.state import AppState, View, training_setup
from overbrainer_tui.view_models.snapshots import Level


def take(state: AppState, outcome: Outcome) -> list[Effect]:
    """Fold an outcome."""
    match outcome:
        case StageReported():
            return pipeline_actions.stage_reported(state, outcome)
        case StagesEnded():
            return pipeline_actions.stages_ended(state, outcome)
        case TrainingPlanned():
            return training_actions.planned(state, outcome)
        case PlanRefused():
            return training_actions.plan_refused(state, outcome)
        case RunReported():
            return training_actions.run_reported(state, outcome)
        case RunTaskEnded():
            return training_actions.run_task_ended(state, outcome)
        case RunsRead():
            return _runs_read(state, outcome)
        case MetricsRead():
            state.training.take_metrics(outcome.run_id, outcome.data, outcome.generation)
            return []
        case RunFilesRead():
            state.training.take_files(outcome.run_id, outcome.trained_with)
            return []
        case JobLogRead():
            return logs_actions.job_log_read(state, outcome)
        case HistoryRead():
            if outcome.total is not None:
                state.cost.take_history(outcome.total, after_task=outcome.after_task)
            return []
        case SettingsRead():
            return _settings_read(state, outcome)
        case CostEstimated():
            state.spending.take(outcome.ticket, outcome.name, outcome.facts)
            return []
        case LogsExported():
            return logs_actions.exported(state, outcome)
        case ThemeKept():
            kept = "kept for the next time" if outcome.error is None else f"not kept: {outcome.error}"
            state.say(f"theme {outcome.theme}, {kept}", Level.INFO if outcome.error is None else Level.WARNING)
            return []
        case BrowserFailed():
            state.say(f"cannot open a browser: {outcome.url}", Level.WARNING, is_end=True)
            return []
        case _:
            assert_never(outcome)


def _runs_read(state: AppState, outcome: RunsRead) -> list[Effect]:
    is_current, effects = state.runs_read(outcome.ticket)
    if not is_current:
        return effects
    if outcome.error is not None:
        state.training.fail_runs(outcome.error)
    else:
        state.training.take_runs(outcome.records)
    return effects + read_selected(state)


def read_selected(state: AppState) -> list[Effect]:
    """Read the files of the selected run when it is looked at: its metrics once, and only when nothing follows it."""
    if state.view is not View.TRAINING:
        return []
    effects: list[Effect] = []
    unread = state.training.unread
    if unread is not None:
        run_id, generation = unread
        state.training.mark_read(run_id)
        effects.append(ReadMetrics(run_id=run_id, generation=generation))
    unread_files = state.training.unread_files
    if unread_files is not None:
        state.training.track(unread_files).is_reading_files = True
        effects.append(ReadRunFiles(run_id=unread_files))
    return effects


def _settings_read(state: AppState, outcome: SettingsRead) -> list[Effect]:
    if outcome.error is not None:
        state.say(outcome.error, Level.ERROR, is_end=True)
    elif outcome.facts is not None:
        state.project = outcome.facts
        state.training.setup = training_setup(outcome.facts)
        state.say("config reloaded")
    return []


def take_events(
    state: AppState, task: int, events: Sequence[Event], *, lost: int = 0, finished: Sequence[tuple[Stage, int]] = ()
) -> list[Effect]:
    """Fold the events of a task's bus; `lost` were skipped, `finished` counts each stage's items where none is lost."""
    effects: list[Effect] = []
    owner = state.training.tasks.get(task)
    had_begun = owner is None or owner.has_begun
    knew_run = owner is None or owner.run_id is not None
    for event in events:
        if isinstance(event, StageEvent):
            state.pipeline.apply(task, event)
        else:
            state.training.apply(task, event)
    if lost:
        effects += _lose(state, task, lost, finished)
    if owner is not None:
        if not knew_run and owner.run_id is not None:
            effects += state.read_runs()
        if not had_begun and owner.has_begun:
            effects += training_actions.task_began(state, task)
    return effects


def _lose(state: AppState, task: int, lost: int, finished: Sequence[tuple[Stage, int]]) -> list[Effect]:
    state.pipeline.lose(task, lost)
    for stage, count in finished:
        state.pipeline.catch_up(task, stage, count)
    owner = state.training.tasks.get(task)
    if owner is None or owner.run_id is None:
        return []
    state.training.lose(owner.run_id, lost)
    # a local job's file already has what was skipped; elsewhere it comes with the results
    state.read_metrics_later(owner.run_id)
    return []


def take_log(state: AppState, entry: LogEntry) -> list[Effect]:
    """A line was logged."""
    state.logs.add(entry)
    state.status.on_log(entry, now=state.mono)
    return []
