"""How are a job's files on this machine claimed, read, replaced and copied? Blocking; failures are executor errors."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from overbrainer_core.aio.threads import StopToken
from overbrainer_core.executors.errors import AccessError, CommandError
from overbrainer_core.executors.scripts import STALE_FILES
from overbrainer_core.files import FileAccessError, UnsafePathError, create_exclusive, open_state, replace_bytes
from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.entries import copy_entries
from overbrainer_core.transfers.tree import TransferError


def prepare_directory(directory: Path) -> int:
    """Create the run directory without an earlier job's files; a descriptor of the empty `job.log`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in STALE_FILES:
            (directory / name).unlink(missing_ok=True)
        log = open_state(directory / "job.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.set_blocking(log, True)
            os.ftruncate(log, 0)
        except OSError:
            os.close(log)
            raise
    except (OSError, UnsafePathError) as error:
        raise AccessError(getattr(error, "filename", None) or directory) from error
    return log


def claim(directory: Path, owner: str) -> bool:
    """Create the directory and its `.claim` exclusively; true when it is ours, claimed before by us included."""
    path = directory / ".claim"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AccessError(directory) from error
    try:
        create_exclusive(path, f"{owner}\n".encode())
    except FileExistsError:
        return _read_claim(path) == owner.encode()
    except OSError as error:
        raise AccessError(error.filename or path) from error
    return True


def _read_claim(path: Path) -> bytes:
    """The owner that a claim names; a claim is short, whatever stands there."""
    return read_range(path, 0, 4096).strip()


def read_range(path: Path, offset: int, limit: int) -> bytes:
    """At most `limit` bytes of a regular file from `offset`; empty when it is missing or ends before."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise AccessError(path) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise AccessError(path) from UnsafePathError(path, what="file")
        return _read_up_to(descriptor, offset, limit)
    except OSError as error:
        raise AccessError(path) from error
    finally:
        os.close(descriptor)


def _read_up_to(descriptor: int, offset: int, limit: int) -> bytes:
    """`limit` bytes, fewer only at the end of the file."""
    parts: list[bytes] = []
    end = offset + limit
    while offset < end and (part := os.pread(descriptor, end - offset, offset)):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def put_file(path: Path, text: str) -> None:
    """Replace a small file as a whole, its directory created."""
    # Unique: two requests at the same time must not share a temporary file.
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        replace_bytes(path, text.encode("utf-8"), temporary=temporary)
    except FileAccessError as error:
        raise AccessError(path) from error.__cause__


def copy(
    source: Path, destination: Path, entries: Sequence[str], *, token: StopToken, exclude: Sequence[str] = ()
) -> None:
    """Copy entries between two directories of this machine; equal ones need no copy."""
    try:
        real_source, real_destination = source.resolve(strict=True), destination.resolve()
    except OSError as error:
        raise AccessError(error.filename or source) from error
    if real_source == real_destination:
        return
    if real_destination.is_relative_to(real_source):
        raise CommandError(
            "copy",
            f"{escape_controls(str(destination))} is inside {escape_controls(str(source))}: "
            "copying there would copy the destination into itself",
        )
    try:
        copy_entries(source, destination, entries, exclude, check=token.check)
    except TransferError as error:
        raise CommandError(error.action, error.detail) from error.__cause__
    except OSError as error:
        raise AccessError(error.filename or source) from error
