"""The commands `runs ls`, `runs logs` and `history`: local files only, no lock, no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.text import escape_controls
from overbrainer_tui.cli.context import HELP_NAMES, ListingCommand, SharedCommand, options_of, start_logging
from overbrainer_tui.cli.output import write_error, write_json, write_lines

if TYPE_CHECKING:
    from overbrainer_core.history import HistoryEntry, Totals


def _checked_state(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from overbrainer_core.runs.record import RunState  # the history does without it

    states = [state.value for state in RunState]
    if value not in states:
        raise click.BadParameter(f"'{value}' is not one of {', '.join(states)}.")
    return value


@click.group(context_settings=HELP_NAMES, no_args_is_help=True)
def runs() -> None:
    """List the runs and read their logs."""


@runs.command("ls", cls=ListingCommand)
@click.option(
    "--state",
    metavar="STATE",
    callback=_checked_state,
    help="Only runs in this state: preparing, running, succeeded, failed, cancelled or stopped.",
)
@click.option("--target", metavar="NAME", help="Only runs on this target.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N runs.")
@click.pass_context
def list_command(context: click.Context, state: str | None, target: str | None, limit: int | None) -> None:
    """List the runs, oldest first, with the state last recorded."""
    from overbrainer_tui.cli.listed_runs import write_runs

    options = options_of(context)
    write_runs(
        ProjectPaths(options.directory),
        start_log=lambda: start_logging(options, reads_env=False),
        state=state,
        target=target,
        limit=limit,
        as_json=options.json,
    )


@runs.command("logs", cls=SharedCommand)
@click.argument("run_id")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.pass_context
def logs_command(context: click.Context, run_id: str, tail: int | None) -> None:
    """Print a run's job.log, secrets masked, one line each."""
    from overbrainer_core.runs.logs import NoLogError, log_lines

    options = options_of(context)
    start_logging(options, reads_env=False)
    try:
        write_lines(log_lines(ProjectPaths(options.directory), run_id, tail=tail))
    except NoLogError as error:
        write_error(f"runs: {error}")


@click.command(cls=ListingCommand)
@click.option("--all", "show_all", is_flag=True, help="Every execution, oldest first.")
@click.pass_context
def history(context: click.Context, show_all: bool) -> None:
    """What the stages did and spent."""
    from overbrainer_core import history as records

    options = options_of(context)
    start_logging(options, reads_env=False)
    paths = ProjectPaths(options.directory)
    if not paths.config.is_file():
        write_error(f"history: {options.directory} is no project: it has no overbrainer.toml")
    entries = records.read_history(paths)
    if options.json:
        write_json(_entries_document(entries) if show_all else _totals_document(entries))
    elif show_all:
        write_lines(records.entry_lines(entries, shown=escape_controls))
    else:
        write_lines(records.history_lines(entries))


def _entries_document(entries: Sequence[HistoryEntry]) -> dict[str, Any]:
    from overbrainer_core.history import entry_document

    return {"entries": [entry_document(entry) for entry in entries]}


def _totals_document(entries: Sequence[HistoryEntry]) -> dict[str, Any]:
    from overbrainer_core.history import total_of, totals_by_stage

    stages = [{"stage": stage.value, **_totals(found)} for stage, found in totals_by_stage(entries).items()]
    return {"stages": stages, "total": _totals(total_of(entries))}


def _totals(found: Totals) -> dict[str, Any]:
    return {
        "runs": found.runs,
        "done": found.done,
        "failed": found.failed,
        "input_tokens": found.usage.input_tokens,
        "output_tokens": found.usage.output_tokens,
        "cost_usd": found.cost,
        "cost_partial": found.is_partial,
    }
