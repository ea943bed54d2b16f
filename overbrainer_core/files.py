"""How are files written so that a kill at any moment leaves them whole, and opened so that no link is followed?

`replace_text` writes a sibling temporary file, syncs it and renames it; a failure removes it. `create_exclusive` never
writes over anything. State files are opened with `open_state`, which refuses links. JSONL is split on `\\n` in bytes.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from overbrainer_core.errors import ProjectFileError

_LEAST_READ_BYTES = 65536
"""Bytes asked for at once of a file whose size says less, as those below `/proc` do."""


class UnsafePathError(ProjectFileError):
    """A link or a special file stands where overbrainer keeps a file of its own."""

    def __init__(self, path: Path | str, *, what: str = "path") -> None:
        super().__init__(f"refusing to use {path}: it is not a safe {what}")


class FileAccessError(ProjectFileError):
    """A file or directory cannot be read or written; the cause is the OS error."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(f"cannot access {path}")


class FileTooLargeError(ProjectFileError):
    """A file holds more than its reader takes."""

    def __init__(self, path: Path | str, limit: int) -> None:
        super().__init__(f"cannot read {path}: it holds more than {limit} bytes")


def replace_bytes(path: Path, content: bytes, *, temporary: Path | None = None, mode: int | None = None) -> None:
    """Replace the file as a whole: readers see the old or the new content, never a part.

    Args:
        temporary: the sibling to write first, `.<name>.tmp` unless given.
        mode: permission bits of the new file, else the umask's.

    Raises:
        FileAccessError: it cannot be written; the old file stays and the temporary one is gone.
    """
    scratch = temporary or path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(scratch, "wb", opener=_opener(mode)) as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(scratch, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise FileAccessError(path) from error


def _opener(mode: int | None):  # type: ignore[no-untyped-def]  # the signature of builtins.open's opener
    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, 0o666 if mode is None else mode)
        if mode is not None:
            os.fchmod(descriptor, mode)
        return descriptor

    return opener


def replace_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """`replace_bytes` with UTF-8 text."""
    replace_bytes(path, text.encode("utf-8"), mode=mode)


def create_exclusive(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Create a file that must not exist yet, synced; a failed write removes it again.

    Raises:
        FileExistsError: something, a dangling link too, stands there.
        OSError: it cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def open_state(path: Path, flags: int, *, mode: int = 0o666) -> int:
    """Open a state file without following a link; returns the descriptor.

    Raises:
        UnsafePathError: a link, a hard-linked or a special file, or one exchanged between check and open.
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError:
        if path.is_symlink():
            raise UnsafePathError(path) from None  # the system's own words, of too many links, would mislead
        raise
    try:
        opened = os.fstat(descriptor)
        found = os.lstat(path)
        same = (opened.st_dev, opened.st_ino) == (found.st_dev, found.st_ino)
        if not stat.S_ISREG(opened.st_mode) or opened.st_nlink != 1 or not same:
            raise UnsafePathError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path | str, *, limit: int | None = None) -> bytes:
    """The content of a regular file; devices, FIFOs and sockets are refused, not read for ever.

    Raises:
        UnsafePathError: it is no regular file.
        FileTooLargeError: it holds more than `limit` bytes.
        OSError: it cannot be read.
    """
    # plain system calls: a listing reads a thousand small files, where a file object costs more than the read
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, os.strerror(21), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise UnsafePathError(path, what="file")
        content = _read_to_end(descriptor, found.st_size, most=sys.maxsize if limit is None else limit + 1)
    finally:
        os.close(descriptor)
    if limit is not None and len(content) > limit:
        raise FileTooLargeError(path, limit)
    return content


def _read_to_end(descriptor: int, size: int, *, most: int) -> bytes:
    """The content of a file that had `size` bytes when it was looked at, at most `most` bytes of it."""
    parts: list[bytes] = []
    done = 0
    while done < most:
        asked = min(max(size - done + 1, _LEAST_READ_BYTES), most - done)
        part = os.read(descriptor, asked)
        parts.append(part)
        done += len(part)
        if not part or (done == size and len(part) < asked):
            break
    return parts[0] if len(parts) == 1 else b"".join(parts)


def jsonl_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines with their 1-based number, split on `\\n` in bytes; lines of ASCII white space only are skipped."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip(b" \t\r\x0b\x0c"):
            yield number, line
