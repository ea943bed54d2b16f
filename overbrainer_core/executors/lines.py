"""How are complete lines read from a file that another machine still writes?

Reads go by byte offset and the offset only passes what was given out, so that it can be saved and read on from.
A line ends at a line feed or a carriage return; a tail without an end stays for the next read.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable

from overbrainer_core.executors.base import Executor

READ_LIMIT_BYTES = 1 << 20
"""Bytes of one read: what a slow connection brings in a look, and the most memory a giant line takes."""


class LineReader:
    """Reads a growing file line by line; `read(offset, limit)` gives its bytes."""

    def __init__(self, read: Callable[[int, int], Awaitable[bytes]], offset: int = 0) -> None:
        self._read = read
        self._offset = offset

    @property
    def offset(self) -> int:
        """The byte after the last line given out."""
        return self._offset

    async def read_lines(self) -> list[str]:
        """Complete lines of one read in order, empty ones dropped; nothing when no line is complete.

        A read that is full without one line end is given out as a line, cut before an unfinished character.
        """
        chunk = await self._read(self._offset, READ_LIMIT_BYTES)
        end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if end == 0 and len(chunk) == READ_LIMIT_BYTES:
            end = _whole_characters(chunk)
        self._offset += end
        text = chunk[:end].decode("utf-8", errors="replace")
        return [line for line in text.replace("\r", "\n").split("\n") if line]


def tail(executor: Executor, path: str, offset: int = 0) -> LineReader:
    """A line reader of a file on a target."""
    return LineReader(functools.partial(executor.read_from, path), offset)


def _whole_characters(chunk: bytes) -> int:
    """Bytes before an unfinished UTF-8 character at the end; all of them when no valid character starts the chunk."""
    try:
        chunk[:4].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start == 0:
            return len(chunk)
    for back in range(1, 4):
        first = chunk[-back]
        if first >= 0xC0:
            needed = 2 + (first >= 0xE0) + (first >= 0xF0)
            return len(chunk) - back if back < needed else len(chunk)
        if first < 0x80:
            break
    return len(chunk)
