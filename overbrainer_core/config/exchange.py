"""How does a new `overbrainer.toml` take the place of the old one without losing what somebody else just wrote?

All steps go through one handle of the project directory and follow no link. The new text is written beside the old
one, then both names are exchanged at once and what was moved aside is read: if it is not the text expected, they are
exchanged back. Where names cannot be exchanged, the file's identity is compared just before a plain rename.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from functools import cache

from overbrainer_core.config.env import MAX_FILE_BYTES
from overbrainer_core.config.reload import FileStamp, stamp_of
from overbrainer_core.errors import ConfigError
from overbrainer_core.project.paths import ProjectPaths

Swap = Callable[[int, str, str], None]
"""Exchanges two names of a directory at once; an OSError of `CANNOT_SWAP` says that this is not possible there."""

NAME = "overbrainer.toml"
CHANGED_BEFORE = f"{NAME} changed on disk since it was read; nothing written"
CHANGED_MEANWHILE = f"{NAME} changed on disk while saving; nothing written"
CANNOT_SWAP = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
_RENAME_EXCHANGE = 2
_PERMISSIONS = 0o777
"""Bits that the new file takes over: never setuid, setgid or sticky."""
_log = logging.getLogger("overbrainer.config")


class SaveRefusedError(ConfigError):
    """The file on disk is not the one that was read, or is none that may be replaced; it is left as it was."""


class ConfigSymlinkError(SaveRefusedError):
    """`overbrainer.toml` is a symlink."""

    def __init__(self) -> None:
        super().__init__(f"{NAME} is a symlink; nothing written")


def replace_config(paths: ProjectPaths, expected: bytes, content: bytes, *, swap: Swap | None = None) -> FileStamp:
    """Put `content` in the place of `expected`, its permissions kept; gives the new file's stamp.

    Args:
        swap: how names are exchanged, else the system's way.

    Raises:
        SaveRefusedError: the file is not what was expected; it stays and no temporary file does.
        ConfigError: it cannot be read or written.
    """
    try:
        directory = os.open(paths.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"cannot open {paths.root}") from error
    try:
        with _beside(directory, expected, content) as (scratch, old, stamp):
            _put_in_place(directory, scratch, expected=expected, old=old, swap=swap or swap_names)
        _sync(directory)
    except OSError as error:
        raise ConfigError(f"cannot write {paths.config}") from error
    finally:
        os.close(directory)
    return stamp


@contextlib.contextmanager
def _beside(directory: int, expected: bytes, content: bytes) -> Iterator[tuple[str, os.stat_result, FileStamp]]:
    """A new file beside the old one, whose state comes with it; whatever has its name at the end is removed."""
    found = _read(directory, NAME)
    if found is None or found[0] != expected:
        raise SaveRefusedError(CHANGED_BEFORE)
    scratch = f".{NAME}.{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(scratch, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(content)
            os.fchmod(handle.fileno(), stat.S_IMODE(found[1].st_mode) & _PERMISSIONS)
            handle.flush()
            os.fsync(handle.fileno())
            state = os.fstat(handle.fileno())
        yield scratch, found[1], stamp_of(state, content)
    except _KeptError as error:
        raise SaveRefusedError(f"{CHANGED_MEANWHILE}; the other change is kept in {scratch}") from error.__cause__
    except BaseException:
        _unlink(directory, scratch)
        raise
    _unlink(directory, scratch)


class _KeptError(Exception):
    """The temporary name holds somebody else's text, which must stay."""


def _put_in_place(directory: int, scratch: str, *, expected: bytes, old: os.stat_result, swap: Swap) -> None:
    try:
        swap(directory, scratch, NAME)
    except FileNotFoundError:
        raise SaveRefusedError(CHANGED_MEANWHILE) from None
    except OSError as error:
        if error.errno not in CANNOT_SWAP:
            raise
        _rename(directory, scratch, old)
        return
    if _holds(directory, scratch, expected):
        return
    ours = os.stat(NAME, dir_fd=directory, follow_symlinks=False)
    try:
        swap(directory, scratch, NAME)
    except OSError as error:
        raise _KeptError from error
    back = os.stat(scratch, dir_fd=directory, follow_symlinks=False)
    if (back.st_dev, back.st_ino) != (ours.st_dev, ours.st_ino):
        raise _KeptError
    raise SaveRefusedError(CHANGED_MEANWHILE)


def _rename(directory: int, scratch: str, old: os.stat_result) -> None:
    """Take the place of the file unless it changed since it was read."""
    try:
        now = os.stat(NAME, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        raise SaveRefusedError(CHANGED_MEANWHILE) from None
    if _identity(now) != _identity(old):
        raise SaveRefusedError(CHANGED_MEANWHILE)
    os.rename(scratch, NAME, src_dir_fd=directory, dst_dir_fd=directory)


def _identity(state: os.stat_result) -> tuple[int, int, int, int]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


def _holds(directory: int, name: str, expected: bytes) -> bool:
    try:
        found = _read(directory, name)
    except (OSError, ConfigError):
        return False
    return found is not None and found[0] == expected


def _read(directory: int, name: str) -> tuple[bytes, os.stat_result] | None:
    """Content and state of a regular file; None when there is none. Never waits on a FIFO."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise ConfigSymlinkError from None
        raise
    with os.fdopen(descriptor, "rb") as handle:
        state = os.fstat(handle.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise SaveRefusedError(f"{NAME} is not a regular file; nothing written")
        return handle.read(MAX_FILE_BYTES + 1), state


def _unlink(directory: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=directory)


def _sync(directory: int) -> None:
    try:
        os.fsync(directory)
    except OSError as error:
        _log.warning("cannot sync the project directory: %s", error.strerror)


def swap_names(directory: int, one: str, other: str) -> None:
    """Exchange two names of a directory at once.

    Raises:
        OSError: they cannot be exchanged; with an `errno` of `CANNOT_SWAP` the system or file system has no such call.
    """
    rename = _renameat2()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if rename(directory, os.fsencode(one), directory, os.fsencode(other), _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _renameat2() -> Callable[..., int] | None:
    """Linux's call, where the C library has it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call.restype = ctypes.c_int
    return call
