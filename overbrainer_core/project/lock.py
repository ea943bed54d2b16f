"""Who may write to a project? One process at a time, told by a lock that the kernel drops when the process ends.

The lock is `flock` on `.overbrainer/lock`, which holds the PID and stays. Looking at it takes it for an instant, so a
writer tries for a moment before it gives up.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import time
from dataclasses import dataclass
from types import TracebackType

from overbrainer_core.errors import LockedError, ProjectFileError
from overbrainer_core.files import UnsafePathError, open_state
from overbrainer_core.project.format import check_state_dir, ensure_state_dir
from overbrainer_core.project.paths import ProjectPaths

_WHAT = "lock path"
_ATTEMPTS = 5
_RETRY_S = 0.01
"""Seconds between attempts: longer than `lock_holder` holds the lock, too short to be noticed."""
_PID = re.compile(rb"[1-9]\d{0,9}")


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a project; `pid` is None when it cannot be told."""

    pid: int | None


class ProjectLock:
    """A lock that this process holds until `release`; also a context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the lock up; the file stays. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> ProjectLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def acquire_lock(paths: ProjectPaths) -> ProjectLock:
    """Take the project's lock and write the PID into it.

    Raises:
        LockedError: another process, or another part of this one, holds it.
        UnsafePathError: a link stands in the place of the lock or of its directory.
        ProjectFileError: `cannot lock <path>`, for instance without a project directory.
    """
    try:
        ensure_state_dir(paths, what=_WHAT)
        descriptor = _open(paths, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise ProjectFileError(f"cannot lock {paths.lock}") from error
    try:
        _take(paths, descriptor)
        _write_pid(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise ProjectFileError(f"cannot lock {paths.lock}") from error
    except BaseException:
        os.close(descriptor)
        raise
    return ProjectLock(descriptor)


def _open(paths: ProjectPaths, flags: int) -> int:
    try:
        return open_state(paths.lock, flags)
    except UnsafePathError:
        raise UnsafePathError(paths.lock, what=_WHAT) from None


def _take(paths: ProjectPaths, descriptor: int) -> None:
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_RETRY_S)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
    raise LockedError(_pid(descriptor))


def _write_pid(descriptor: int) -> None:
    """Tell who holds the lock, over what stands there: a full disk has no room for more, and must not stop a cancel."""
    pid = str(os.getpid()).encode("ascii")
    try:
        os.pwrite(descriptor, pid, 0)
        os.ftruncate(descriptor, len(pid))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        os.ftruncate(descriptor, 0)  # nobody, rather than somebody else


def _pid(descriptor: int) -> int | None:
    try:
        content = os.pread(descriptor, 32, 0)
    except OSError:
        return None
    return int(content) if _PID.fullmatch(content) else None


def lock_holder(paths: ProjectPaths) -> LockHolder | None:
    """Who holds the project; None when nobody does, or when there is no lock that can be read.

    Raises:
        UnsafePathError: a link stands in the place of the lock or of its directory.
    """
    check_state_dir(paths, what=_WHAT)
    try:
        descriptor = _open(paths, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return LockHolder(_pid(descriptor))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None
