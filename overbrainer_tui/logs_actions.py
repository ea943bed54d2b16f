"""What do the keys of the Logs view do, beside moving?"""

from __future__ import annotations

from overbrainer_tui.effects import Effect, ExportLogs, JobLogRead, LogsExported
from overbrainer_tui.quit_actions import leave_if_done
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.snapshots import Level, LogSource


def level_refusal(state: AppState) -> str | None:
    """Why the level cannot be changed."""
    return None if state.logs.source is LogSource.OWN else "a job's log has no levels"


def switch_source(state: AppState) -> list[Effect]:
    """Show the `job.log` of the selected run, or our own lines again."""
    if state.logs.source is LogSource.JOB:
        state.logs.show_own()
        return state.look()
    record = state.training.selected
    if record is None:
        state.say("no run is selected in Training: there is no job.log to show", Level.WARNING)
        return []
    state.logs.show_job(record.id)
    return state.look()


def search(state: AppState) -> list[Effect]:
    """Type what to look for."""
    state.logs.begin_search()
    return []


def on_search_key(state: AppState, key: str) -> list[Effect]:
    """A key while a search is typed."""
    match key:
        case "enter" | "escape":
            state.logs.end_search(is_kept=key == "enter")
        case _:
            if state.logs.search_input is not None and state.logs.search_input.on_key(key):
                state.logs.search_typed()
    return []


def paste_search(state: AppState, text: str) -> None:
    """A paste while a search is typed."""
    if state.logs.search_input is not None:
        state.logs.search_input.paste(text)
        state.logs.search_typed()


def search_refusal(state: AppState) -> str | None:
    """Why there is no next match."""
    return None if state.logs.is_searching else "nothing is looked for: / searches"


def step_search(state: AppState, by: int) -> list[Effect]:
    """Show the next newer or older line found."""
    state.logs.step_search(by)
    return []


def clear_search(state: AppState) -> list[Effect]:
    """Look for nothing any more."""
    state.logs.end_search(is_kept=False)
    return []


def export(state: AppState) -> list[Effect]:
    """Write the lines shown to a file."""
    found = state.logs.export(state.now)
    if found is None:
        state.say("no line to export at this level", Level.WARNING)
        return []
    if state.is_exporting:
        state.say("an export is being written", Level.WARNING)
        return []
    state.is_exporting = True
    name, lines = found
    return [ExportLogs(name=name, lines=tuple(lines))]


def exported(state: AppState, outcome: LogsExported) -> list[Effect]:
    """An export ended."""
    state.is_exporting = False
    if outcome.error is None:
        state.say(f"exported {outcome.count} lines to .overbrainer/{outcome.name}", is_end=True)
    else:
        state.say(f"cannot export the logs: {outcome.error}", Level.ERROR, is_end=True)
        if state.quit.is_leaving:
            state.quit.note(f"cannot export the logs: {outcome.error}", subject=outcome.name)
    return leave_if_done(state)


def job_log_read(state: AppState, outcome: JobLogRead) -> list[Effect]:
    """More of a job's log was read."""
    state.job_log_read()
    state.logs.take_job_lines(
        outcome.run_id, list(outcome.lines), start=outcome.start, offset=outcome.offset, note=outcome.note
    )
    is_other = state.logs.source is LogSource.JOB and state.logs.job_run != outcome.run_id
    return state.read_job_log() if is_other else []
