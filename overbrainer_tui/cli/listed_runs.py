"""How are the runs listed, with a parser of arguments and without one?

Scripts and prompts ask for `runs ls` often, so that one call, with no option but the project's directory before it, is
answered before the parser is loaded: it takes as long to load as a thousand runs take to list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from overbrainer_core.errors import OverbrainerError
from overbrainer_core.project.format import predates_versions
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.listing import filter_runs, run_lines, runs_document
from overbrainer_core.runs.store import list_runs, warn_skipped
from overbrainer_tui.cli.endings import MIGRATE_HINT, exit_code_of
from overbrainer_tui.cli.output import write_error, write_json, write_lines


def plain_directory(arguments: Sequence[str]) -> str | None:
    """The project's directory when the arguments are `runs ls`, alone or after `-C DIR`; else None."""
    match arguments:
        case ["runs", "ls"]:
            return ""
        case ["-C", directory, "runs", "ls"]:
            return directory
        case _:
            return None


def list_plainly(directory: str) -> int:
    """List the runs of a project and return the exit code."""
    paths = ProjectPaths(Path(directory))
    is_old = False

    def work() -> int:
        nonlocal is_old
        is_old = predates_versions(paths)
        write_runs(paths, start_log=_start_log)
        return 0

    if os.environ.get("OVERBRAINER_LOG"):
        _start_log()
    code = exit_code_of(work)
    if is_old:
        write_error(MIGRATE_HINT)
    return code


def write_runs(
    paths: ProjectPaths,
    *,
    start_log: Callable[[], None],
    state: str | None = None,
    target: str | None = None,
    limit: int | None = None,
    as_json: bool = False,
) -> None:
    """Write the runs of that state and target, the newest `limit` of them, oldest first, as lines or as a document.

    The log is started for the first record that cannot be read: loading it takes time, and few listings need it.

    Raises:
        FileAccessError: the directory of runs cannot be listed.
    """
    is_logging = False

    def on_skipped(run_id: str, error: OverbrainerError) -> None:
        nonlocal is_logging
        if not is_logging:
            start_log()
            is_logging = True
        warn_skipped(run_id, error)

    records = filter_runs(list_runs(paths, on_skipped=on_skipped), state=state, target=target, limit=limit)
    if as_json:
        write_json(runs_document(paths, records))
        return
    if not records:
        write_error(_none_words(paths, is_filtered=state is not None or target is not None))
    write_lines(run_lines(paths, records))


def _none_words(paths: ProjectPaths, *, is_filtered: bool) -> str:
    """Why a listing is empty: standard output stays empty for programs, a reader is told."""
    if not paths.config.is_file():
        return f"runs: {paths.root} is no project: it has no overbrainer.toml"
    return "runs: none matches" if is_filtered else "runs: none yet"


def _start_log() -> None:
    from overbrainer_tui.cli.context import Options, start_logging  # loads the parser, for a warning's sake

    start_logging(Options(), reads_env=False)
