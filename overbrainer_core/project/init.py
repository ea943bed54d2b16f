"""How does a new project come to be: every file or none?

All checks come before the first directory. Files are created exclusively and synced, `.gitignore` is merged, the
version is written last, so that a new project is never taken for an old one. A failure removes what was created.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core import assets
from overbrainer_core.errors import ConfigError
from overbrainer_core.files import UnsafePathError, create_exclusive, read_regular
from overbrainer_core.project.format import check_state_dir, ensure_state_dir, write_format
from overbrainer_core.project.paths import ProjectPaths

PROMPTS = ("subtopics.txt", "questions.txt", "answer_system.txt", "judge.txt")
"""Prompt templates of a project."""
_log = logging.getLogger("overbrainer.project")
_PUBLIC = 0o666
"""Permission bits before the umask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitResult:
    """What was created, in order, and the lines that an existing `.gitignore` was given."""

    created: tuple[Path, ...]
    gitignore_added: tuple[str, ...] = ()


def init_project(root: Path) -> InitResult:
    """Make a project in `root`, which is created with its parents.

    Raises:
        ConfigError: `<path> already exists`, or something cannot be written; nothing is left behind.
        UnsafePathError: a link stands where overbrainer keeps a file of its own.
    """
    files = {
        "overbrainer.toml": (assets.template("overbrainer.toml"), _PUBLIC),
        ".env.example": (assets.template("env.example"), _PUBLIC),
        **{f"prompts/{name}": (assets.template(f"prompts/{name}"), _PUBLIC) for name in PROMPTS},
    }
    return write_new_project(root, files)


def write_new_project(root: Path, files: Mapping[str, tuple[str, int]]) -> InitResult:
    """Write the files of a new project: each relative path with its text and permission bits.

    `.gitignore` and the version are written besides, after them.

    Raises:
        ConfigError: `<path> already exists`, or something cannot be written; nothing is left behind.
        UnsafePathError: a link stands where overbrainer keeps a file of its own.
    """
    paths = ProjectPaths(root)
    _check(paths, files)
    writer = _Writer(paths)
    try:
        for name, (text, mode) in files.items():
            writer.create(root / name, text, mode)
        writer.merge_gitignore()
        writer.finish()
    except BaseException:
        writer.undo()
        raise
    for path in writer.created:
        _log.info("created %s", path)
    if writer.gitignore_added:
        _log.info("added %s to %s", ", ".join(writer.gitignore_added), paths.gitignore)
    return InitResult(created=tuple(writer.created), gitignore_added=writer.gitignore_added)


def _check(paths: ProjectPaths, files: Mapping[str, tuple[str, int]]) -> None:
    """Everything that can be refused before anything is written."""
    if os.path.lexists(paths.root) and not paths.root.is_dir():
        raise ConfigError(f"{paths.root} is not a directory")
    check_state_dir(paths)
    for name in files:
        path = paths.root / name
        if os.path.lexists(path):
            raise ConfigError(f"{path} already exists")
        if os.path.lexists(path.parent) and not path.parent.is_dir():
            raise ConfigError(f"{path.parent} is not a directory")
    for path in (paths.gitignore, paths.version):
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise UnsafePathError(path)


class _Writer:
    """Creates files and remembers how to take them back."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._directories: list[Path] = []
        self._gitignore_size: int | None = None
        self._had_version = os.path.lexists(paths.version)
        self.created: list[Path] = []
        self.gitignore_added: tuple[str, ...] = ()

    def create(self, path: Path, text: str, mode: int) -> None:
        self._make_directory(path.parent)
        try:
            create_exclusive(path, text.encode("utf-8"), mode=mode)
        except FileExistsError:
            raise ConfigError(f"{path} already exists") from None
        except OSError as error:
            raise ConfigError(f"cannot write {path}") from error
        self.created.append(path)

    def merge_gitignore(self) -> None:
        """Create `.gitignore`, or append the lines that it lacks."""
        path = self._paths.gitignore
        wanted = assets.template("gitignore")
        if not os.path.lexists(path):
            self.create(path, wanted, _PUBLIC)
            return
        try:
            content = read_regular(path)
            present = {line.strip() for line in content.split(b"\n")}
            missing = tuple(line for line in wanted.split() if line.encode() not in present)
            if not missing:
                return
            self._gitignore_size = len(content)
            gap = "\n" if content and not content.endswith(b"\n") else ""
            _append(path, (gap + "".join(f"{line}\n" for line in missing)).encode())
        except OSError as error:
            raise ConfigError(f"cannot write {path}") from error
        self.gitignore_added = missing

    def finish(self) -> None:
        """The version, last."""
        try:
            if not os.path.lexists(self._paths.state):
                self._directories.append(self._paths.state)
            ensure_state_dir(self._paths)
        except OSError as error:
            raise ConfigError(f"cannot write {self._paths.version}") from error
        write_format(self._paths)
        self.created.append(self._paths.version)

    def undo(self) -> None:
        """Remove what was created, newest first; what cannot be removed stays."""
        for path in reversed(self.created):
            if path != self._paths.version or not self._had_version:
                with contextlib.suppress(OSError):
                    path.unlink()
        if self._gitignore_size is not None:
            with contextlib.suppress(OSError):
                os.truncate(self._paths.gitignore, self._gitignore_size)
        for directory in reversed(self._directories):
            with contextlib.suppress(OSError):
                directory.rmdir()

    def _make_directory(self, directory: Path) -> None:
        missing = [directory]
        while not os.path.lexists(missing[-1]) and missing[-1] != missing[-1].parent:
            missing.append(missing[-1].parent)
        for path in reversed(missing[:-1]):
            try:
                path.mkdir()
            except FileExistsError:
                continue
            except OSError as error:
                raise ConfigError(f"cannot create {path}") from error
            self._directories.append(path)


def _append(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "ab") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
