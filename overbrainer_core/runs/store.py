"""Which runs does a project hold, and what was made of each? Reads local files only."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from overbrainer_core.errors import OverbrainerError, describe
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import is_run_id
from overbrainer_core.runs.record import FILE_NAME, RunRecord, load_run, read_record

Skipped = Callable[[str, OverbrainerError], None]
"""Told the ID of a run whose record is not listed, and why."""


def warn_skipped(run_id: str, error: OverbrainerError) -> None:
    """Log that a record is skipped."""
    import logging  # a listing, which has nothing to log, does without it

    logging.getLogger("overbrainer.runs").warning("skipping unreadable run record for %s: %s", run_id, describe(error))


def list_runs(paths: ProjectPaths, *, on_skipped: Skipped = warn_skipped) -> list[RunRecord]:
    """The records of the project, oldest creation first; unreadable ones are skipped with a warning.

    Raises:
        FileAccessError: the directory of runs cannot be listed.
    """
    records: list[RunRecord] = []
    runs = str(paths.runs)
    for run_id in _run_directories(paths):
        path = f"{runs}/{run_id}/{FILE_NAME}"
        try:
            try:
                records.append(read_record(path))
            except OSError:
                if os.path.lexists(path):
                    records.append(load_run(paths, run_id))  # a dangling link, for which it has the words
        except OverbrainerError as error:
            on_skipped(run_id, error)
    return sorted(records, key=lambda record: (record.created, record.id))


def run_ids(paths: ProjectPaths) -> list[str]:
    """IDs of the directories that hold a record, sorted by ID; none when there is no directory of runs.

    Raises:
        FileAccessError: the directory of runs cannot be listed.
    """
    runs = str(paths.runs)
    return [name for name in _run_directories(paths) if os.path.lexists(f"{runs}/{name}/{FILE_NAME}")]


def _run_directories(paths: ProjectPaths) -> list[str]:
    """Names of the directories that may be runs, sorted."""
    try:
        with os.scandir(paths.runs) as entries:
            return sorted(entry.name for entry in entries if is_run_id(entry.name) and entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileAccessError(paths.runs) from error


def newest_run(paths: ProjectPaths) -> RunRecord | None:
    """The run created last, if there is one."""
    records = list_runs(paths)
    return records[-1] if records else None


def nested_counts(paths: ProjectPaths, run_id: str) -> tuple[int, int]:
    """How many exports and compares the run directory holds."""
    directory = paths.run(run_id)
    return _directories(directory / "exports"), _directories(directory / "compares")


def _directories(directory: Path) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(1 for entry in entries if entry.is_dir())
    except OSError:
        return 0
