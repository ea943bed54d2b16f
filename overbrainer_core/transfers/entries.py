"""How are entries of one local directory brought into another: as a copy, or as hard links that cost no space?"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from overbrainer_core.errors import ProjectFileError
from overbrainer_core.transfers.tar import TruncatedArchiveError, extract_archive, write_archive
from overbrainer_core.transfers.tree import walk_entries


class CopyError(ProjectFileError):
    """A local file cannot be copied; the cause is the OS error."""

    def __init__(self, source: Path, destination: Path) -> None:
        super().__init__(f"cannot copy {source} to {destination}")


def hard_link_tree(source: Path, destination: Path) -> None:
    """Make `destination` hold every regular file of `source` as a hard link, or as a copy where none is possible.

    Directories are made anew, anything else is left out; a file that stands there is replaced.

    Raises:
        CopyError: the source is no directory, or a file can be neither linked nor copied.
    """
    try:
        if not source.is_dir():
            raise NotADirectoryError(20, "Not a directory", str(source))
        destination.mkdir(parents=True, exist_ok=True)
        for file in walk_entries(source, ["."]):
            if file.is_directory:
                (destination / file.name).mkdir(exist_ok=True)
            elif file.is_regular:
                _link_or_copy(file.path, destination / file.name)
    except OSError as error:
        raise CopyError(source, destination) from error


def _link_or_copy(source: Path, destination: Path) -> None:
    try:
        destination.unlink(missing_ok=True)
        try:
            os.link(source, destination, follow_symlinks=False)
        except OSError:
            _copy(source, destination)
    except OSError as error:
        raise CopyError(source, destination) from error


def _copy(source: Path, destination: Path) -> None:
    try:
        shutil.copy2(source, destination, follow_symlinks=False)
    except BaseException:
        destination.unlink(missing_ok=True)
        raise


def copy_entries(
    source: Path,
    destination: Path,
    entries: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    check: Callable[[], None] | None = None,
) -> None:
    """Copy entries of one directory into another by the rules of a transfer; blocking.

    Missing entries are skipped; without any the destination is not created.

    Args:
        check: called between blocks; what it raises ends the work.

    Raises:
        TransferError: something cannot be read, written, or is refused; what was copied stays.
    """
    read_end, write_end = os.pipe()
    _widen(write_end)
    failure: list[BaseException] = []

    def send() -> None:
        try:
            with open(write_end, "wb", buffering=0) as sink:
                write_archive(sink, source, entries, exclude, check=check)
        except BaseException as error:  # noqa: BLE001  # root of a thread: told by the thread that receives
            failure.append(error)

    sender = threading.Thread(target=send, name="copy_entries")
    sender.start()
    try:
        with open(read_end, "rb", buffering=0) as stream:
            extract_archive(stream, destination, check=check)
    except TruncatedArchiveError:
        # The sender broke off: its reason is the one to tell.
        sender.join()
        if not failure:
            raise
    finally:
        sender.join()
    if failure:
        raise failure[0]


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole block where the system can: each switch between two threads costs as much as a copy."""
    size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if size is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, size, 1 << 20)
