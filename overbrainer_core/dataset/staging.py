"""How are several files replaced together, so that a failure changes none of them?

Each new content is written and synced beside its file first; then added lines are appended and the files renamed, in
the order they were staged. A failure on the way takes back what was done, whatever happens no temporary file stays.
Only a kill between two renames can leave the set half changed: what is staged first is then there, the rest is not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from overbrainer_core.dataset.records import Record
from overbrainer_core.dataset.store import Appender, without_links
from overbrainer_core.files import FileAccessError


class StagedFiles:
    """New contents of several files; nothing is changed before `commit`, and nothing stays behind after the block."""

    def __init__(self) -> None:
        self._staged: list[Path] = []
        self._appended: list[tuple[Path, list[Record]]] = []

    def __enter__(self) -> StagedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in self._staged:
            _remove(_scratch(path))
            _remove(_kept(path))

    def stage(self, path: Path, lines: Iterable[bytes]) -> None:
        """Write the new content of a file beside it.

        Raises:
            FileAccessError: it cannot be written.
        """
        self._staged.append(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(_scratch(path), "wb", opener=without_links) as handle:
                handle.writelines(lines)
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise FileAccessError(path) from error

    def append(self, path: Path, records: Iterable[Record]) -> None:
        """Have these records added to a file that is not staged, before any rename."""
        self._appended.append((path, list(records)))

    def commit(self) -> None:
        """Append what is to be added, then rename every staged file over its own.

        Raises:
            FileAccessError: one of them failed; the files are as they were.
        """
        undo: list[Callable[[], None]] = []
        try:
            for path, records in self._appended:
                _append(path, records, undo)
            for path in self._staged:
                _exchange(path, undo)
        except BaseException:
            for step in reversed(undo):
                with suppress(OSError):
                    step()
            raise


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove what a killed process had staged for these files."""
    for path in paths:
        _remove(_scratch(path))
        _remove(_kept(path))


def _scratch(path: Path) -> Path:
    return path.with_name(f".{path.name}.staged.tmp")


def _kept(path: Path) -> Path:
    """Where the old content waits until the set is whole."""
    return path.with_name(f".{path.name}.kept.tmp")


def _remove(path: Path) -> None:
    with suppress(OSError):  # renamed already, or a directory that is not ours
        path.unlink(missing_ok=True)


def _append(path: Path, records: list[Record], undo: list[Callable[[], None]]) -> None:
    existed = path.exists()
    with Appender[Any](path) as appender:
        size = path.stat().st_size
        undo.append(lambda: os.truncate(path, size) if existed else path.unlink())
        for record in records:
            appender.append(record)


def _exchange(path: Path, undo: list[Callable[[], None]]) -> None:
    """Rename the staged content over the file; its old content can be put back."""
    kept = _kept(path)
    try:
        had_content = _keep(path, kept)
        os.replace(_scratch(path), path)
    except OSError as error:
        raise FileAccessError(path) from error
    undo.append(lambda: os.replace(kept, path) if had_content else path.unlink())


def _keep(path: Path, kept: Path) -> bool:
    """Give the old content a second name; whether there is any. A file system without such names gets a copy."""
    kept.unlink(missing_ok=True)
    try:
        os.link(path, kept)
    except FileNotFoundError:
        return False
    except OSError:
        shutil.copy2(path, kept)
    return True
