"""How is a run's `job.log` shown? As data: secrets masked, control characters written out, memory bounded.

A line ends at a line feed; a carriage return inside it is shown, so that what a progress bar wrote over stays visible.
A giant line comes in pieces, never cut inside a character.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from overbrainer_core.errors import RunError
from overbrainer_core.files import FileAccessError, open_state
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import check_run_id
from overbrainer_core.runs.record import FILE_NAME
from overbrainer_core.secrets.redact import redact
from overbrainer_core.text import escape_controls

PIECE_BYTES = 1 << 20
"""The longest piece of a line that is shown at once."""

_BLOCK_BYTES = 1 << 16


class NoLogError(RunError):
    """The run has no `job.log` yet."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no job.log for run {run_id} yet")


def log_lines(paths: ProjectPaths, run_id: str, tail: int | None = None) -> Iterator[str]:
    """The printable lines of a run's log, or its last `tail` ones; the file is checked before the first line.

    Raises:
        InvalidRunIdError: the text is no run ID.
        RunError: there is no such run.
        NoLogError: it has no log yet.
        UnsafePathError: a link stands in the place of the log.
        FileAccessError: the log cannot be read.
    """
    run_dir = paths.run(check_run_id(run_id))
    if not (run_dir / FILE_NAME).exists():
        raise RunError(f"no run {run_id} in runs/")
    path = run_dir / "job.log"
    try:
        descriptor = open_state(path, os.O_RDONLY)
    except FileNotFoundError:
        raise NoLogError(run_id) from None
    except OSError as error:
        raise FileAccessError(path) from error
    return _shown(os.fdopen(descriptor, "rb"), path, tail)


def _shown(handle: BinaryIO, path: Path, tail: int | None) -> Iterator[str]:
    with handle:
        try:
            if tail is not None:
                handle.seek(_tail_offset(handle, tail))
            for line in _pieces(handle):
                yield escape_controls(redact(line.removesuffix("\r")))
        except OSError as error:
            raise FileAccessError(path) from error


def _tail_offset(handle: BinaryIO, count: int) -> int:
    """Where the last `count` lines begin, found backwards; a final line without an end counts."""
    size = handle.seek(0, os.SEEK_END)
    if count <= 0:
        return size
    position, needed = size, count
    while position > 0:
        start = max(position - _BLOCK_BYTES, 0)
        handle.seek(start)
        block = handle.read(position - start)
        # the line feed that ends the file ends the last line, it begins no other
        end = len(block) - 1 if position == size and block.endswith(b"\n") else len(block)
        while (found := block.rfind(b"\n", 0, end)) >= 0:
            needed -= 1
            if needed == 0:
                return start + found + 1
            end = found
        position = start
    return 0


def _pieces(handle: BinaryIO) -> Iterator[str]:
    """Lines as text without their line feed, a giant one in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while True:
        raw = handle.readline(PIECE_BYTES)
        if not raw:
            rest = decoder.decode(b"", final=True)
            if rest:
                yield rest
            return
        is_whole = raw.endswith(b"\n")
        text = decoder.decode(raw, final=is_whole)
        if is_whole or text:
            yield text.removesuffix("\n")
