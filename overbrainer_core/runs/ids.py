"""What is a run called? A slug of the project's name and a UTC time, unique on this machine and on the target.

An ID becomes a directory name, so every ID from outside passes `check_run_id` before it becomes a path.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from overbrainer_core.errors import RunError
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths

if TYPE_CHECKING:
    import logging

    from overbrainer_core.executors.base import Executor  # loads what moves files, which no listing needs

MAX_SAME_BASE = 99
"""Runs of one project in one second."""

SLUG_LENGTH = 40
"""Characters of the project's name in an ID."""

_VALID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
_OTHER = re.compile(r"[^a-z0-9]+")


class InvalidRunIdError(RunError):
    """The text cannot be a run ID."""


def is_run_id(text: str) -> bool:
    """Whether the text has the form of a run ID."""
    return _VALID.fullmatch(text) is not None


def check_run_id(text: str) -> str:
    """The text, once it has the form of a run ID.

    Raises:
        InvalidRunIdError: it has not.
    """
    if not is_run_id(text):
        raise InvalidRunIdError(f"{text} is not a valid run ID")
    return text


def slug(name: str) -> str:
    """The project's name as it stands in IDs: ASCII letters and digits, the rest one `_`; `run` when nothing is left.

    >>> slug("  GPT-4o mini!! v2 ")
    'gpt_4o_mini_v2'
    """
    ascii_lower = "".join(char.lower() if char.isascii() else " " for char in name)
    return _OTHER.sub("_", ascii_lower).lstrip("_")[:SLUG_LENGTH].rstrip("_") or "run"


def base_id(name: str, moment: datetime) -> str:
    """The ID that a run of this project has at this moment unless it is taken."""
    return f"{slug(name)}_{moment.astimezone(UTC):%Y%m%d-%H%M%S}"


def candidates(base: str) -> list[str]:
    """The IDs to try in order: the base, then `_2` to `_99` after it."""
    return [base, *(f"{base}_{number}" for number in range(2, MAX_SAME_BASE + 1))]


async def claim_run(paths: ProjectPaths, executor: Executor, base: str) -> tuple[str, str]:
    """Take the first free ID, here and on the target; its ID and its directory on the target.

    Raises:
        FileAccessError: a directory cannot be created here.
        RunError: all IDs of this base are taken.
        ExecutorError: the target cannot be asked; nothing is left here.
    """
    owner = os.urandom(8).hex()
    for run_id in candidates(base):
        local = paths.run(run_id)
        if not _create(paths, run_id):
            continue
        remote = f"{executor.workdir.rstrip('/')}/{run_id}"
        is_ours = False
        try:
            is_ours = await executor.claim(remote, owner)
        finally:
            if not is_ours:
                _remove_empty(paths, run_id)
        if is_ours:
            return run_id, remote
        _log().debug("%s is taken on the target", local.name)
    raise RunError(f"runs {base} to {base}_{MAX_SAME_BASE} all exist")


def _create(paths: ProjectPaths, run_id: str) -> bool:
    directory = paths.run(run_id)
    try:
        paths.runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileAccessError(paths.runs) from error
    try:
        directory.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise FileAccessError(directory) from error
    return True


def _remove_empty(paths: ProjectPaths, run_id: str) -> None:
    directory = paths.run(run_id)
    try:
        if not any(directory.iterdir()):
            directory.rmdir()
    except OSError as error:
        _log().warning("cannot remove the empty directory %s: %s", directory, error.strerror)


def _log() -> logging.Logger:
    import logging  # a listing, which has nothing to log, does without it

    return logging.getLogger("overbrainer.runs")
