"""The commands `runs ls`, `runs logs` and `history`: local files only, no lock, no network."""

from __future__ import annotations

import click

from overbrainer_core.project.paths import ProjectPaths
from overbrainer_tui.cli.context import HELP_NAMES, ListingCommand, SharedCommand, options_of, start_logging
from overbrainer_tui.cli.output import write_error, write_json, write_lines


@click.group(context_settings=HELP_NAMES, no_args_is_help=True)
def runs() -> None:
    """List the runs and read their logs."""


@runs.command("ls", cls=ListingCommand)
@click.option("--state", metavar="STATE", help="Only runs in this state.")
@click.option("--target", metavar="NAME", help="Only runs on this target.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest N runs.")
@click.pass_context
def list_command(context: click.Context, state: str | None, target: str | None, limit: int | None) -> None:
    """List the runs, oldest first, with the state last recorded."""
    from overbrainer_core.runs.listing import filter_runs, run_lines, runs_document
    from overbrainer_core.runs.store import list_runs

    options = options_of(context)
    start_logging(options, reads_env=False)
    paths = ProjectPaths(options.directory)
    records = filter_runs(list_runs(paths), state=state, target=target, limit=limit)
    if options.json:
        write_json(runs_document(paths, records))
    else:
        write_lines(run_lines(paths, records))


@runs.command("logs", cls=SharedCommand)
@click.argument("run_id")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.pass_context
def logs_command(context: click.Context, run_id: str, tail: int | None) -> None:
    """Print a run's job.log, secrets masked, one line each."""
    from overbrainer_core.runs.logs import log_lines

    options = options_of(context)
    start_logging(options, reads_env=False)
    lines = log_lines(ProjectPaths(options.directory), run_id, tail=tail)
    if lines is None:
        write_error(f"runs: no job.log for run {run_id} yet")
        return
    write_lines(lines)


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
        write_json(records.entries_document(entries) if show_all else records.totals_document(entries))
    else:
        write_lines(records.entry_lines(entries) if show_all else records.total_lines(entries))
