"""Which files stand at or under a list of entries, once the excluded names are left out?

Entries are paths relative to a directory. Links are never followed below it, a missing entry is skipped, a name that
matches an exclude pattern is left out at any depth with all that is under it, the entry's own name included.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.errors import TargetError
from overbrainer_core.text import escape_controls


class TransferError(TargetError):
    """A transfer or a comparison failed; `action` says which, such as `copy` or `verify`."""

    def __init__(self, action: str, detail: str) -> None:
        self.action = action
        self.detail = detail
        super().__init__(f"{action} failed: {detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFile:
    """A file, directory or link as the walk found it; `name` is its path relative to the directory, with `/`."""

    name: str
    path: Path
    mode: int

    @property
    def is_regular(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)


def walk_entries(directory: Path, entries: Sequence[str], exclude: Sequence[str] = ()) -> Iterator[TreeFile]:
    """Everything at or under the entries, each once, a directory before its content, names in order.

    Raises:
        OSError: a directory cannot be listed.
        TransferError: an entry is absolute or leaves the directory.
    """
    seen: set[str] = set()
    for entry in entries:
        waiting = [_relative_name(entry)]
        while waiting:
            name = waiting.pop()
            if name in seen or (name and is_excluded(os.path.basename(name), exclude)):
                continue
            seen.add(name)
            path = directory / name
            mode = _mode(path)
            if mode is None:
                continue
            if name:
                yield TreeFile(name=name, path=path, mode=mode)
            if stat.S_ISDIR(mode):
                children = sorted(os.listdir(path), reverse=True)
                waiting += [f"{name}/{child}" if name else child for child in children]


def _relative_name(entry: str) -> str:
    """The entry without `.` and double slashes; the empty text for the directory itself."""
    name = os.path.normpath(entry)
    if name.startswith(("/", "../")) or name == "..":
        raise TransferError("copy", f'"{escape_controls(entry)}" is outside the directory')
    return "" if name == "." else name


def _mode(path: Path) -> int | None:
    """The mode of what stands there, a link itself included; None when nothing does."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_excluded(base_name: str, exclude: Sequence[str]) -> bool:
    """Whether a base name matches one of the shell patterns."""
    return any(fnmatch.fnmatchcase(base_name, pattern) for pattern in exclude)
