"""Which format does a project have, and may this overbrainer write to it?

`.overbrainer/version` holds one integer. A project with an `overbrainer.toml` and no version file predates versions.
State files are never reached through a link.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from overbrainer_core.errors import ConfigError
from overbrainer_core.files import UnsafePathError, open_state, replace_text
from overbrainer_core.project.paths import ProjectPaths

FORMAT = 1
"""Format of the projects that this overbrainer makes."""
_MAX_BYTES = 32
_NUMBER = re.compile(rb"\d{1,18}")


def read_format(paths: ProjectPaths) -> int | None:
    """The project's format number; None when there is no version file.

    Raises:
        UnsafePathError: a link stands in its place.
        ConfigError: it cannot be read or holds no format number.
    """
    check_state_dir(paths)
    try:
        descriptor = open_state(paths.version, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {paths.version}") from error
    with os.fdopen(descriptor, "rb") as handle:
        content = handle.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES or not _NUMBER.fullmatch(content.strip()):
        raise ConfigError(f"{paths.version} holds no format number")
    return int(content)


def write_format(paths: ProjectPaths) -> None:
    """Write the current format number, as a whole.

    Raises:
        UnsafePathError: a link stands in its place.
        FileAccessError: it cannot be written.
    """
    ensure_state_dir(paths)
    if paths.version.is_symlink():
        raise UnsafePathError(paths.version)
    replace_text(paths.version, f"{FORMAT}\n")


def predates_versions(paths: ProjectPaths) -> bool:
    """Whether this is a project of before version files: a hint to migrate, no more."""
    has_foreign_state = os.path.lexists(paths.state) and (paths.state.is_symlink() or not paths.state.is_dir())
    return paths.config.is_file() and not has_foreign_state and _is_missing(paths.version)


def _is_missing(path: Path) -> bool:
    """Whether nothing stands there; what cannot be looked at may be there."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def check_writable(paths: ProjectPaths) -> None:
    """Refuse to write to a project of a newer format.

    Raises:
        ConfigError: the format is newer, or cannot be told.
    """
    number = read_format(paths)
    if number is not None and number > FORMAT:
        raise ConfigError(
            f"this project uses format {number}, newer than the format {FORMAT} this overbrainer knows: "
            "upgrade overbrainer"
        )


def check_state_dir(paths: ProjectPaths, *, what: str = "path") -> None:
    """Refuse a `.overbrainer` that is a link or no directory; absent is fine.

    Raises:
        UnsafePathError: `refusing to use <path>: it is not a safe <what>`.
    """
    try:
        mode = os.lstat(paths.state).st_mode
    except OSError:
        return
    if not stat.S_ISDIR(mode):
        raise UnsafePathError(paths.state, what=what)


def ensure_state_dir(paths: ProjectPaths, *, what: str = "path") -> None:
    """Create `.overbrainer` when it is missing, never the project directory.

    Raises:
        UnsafePathError: a link or a file stands in its place.
        OSError: it cannot be created.
    """
    check_state_dir(paths, what=what)
    paths.state.mkdir(exist_ok=True)
    check_state_dir(paths, what=what)
