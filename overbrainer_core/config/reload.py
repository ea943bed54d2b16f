"""Did `overbrainer.toml` or `.env` change since they were read?

A stamp is taken just before the files are read, so that a change made during the read is seen at the next look.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.project.paths import ProjectPaths


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells one content of a file from another without reading it."""

    modified_ns: int
    size_bytes: int
    device: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The state of both files at one moment; None for a file that is not there. Equal stamps mean no change."""

    config: FileStamp | None
    env: FileStamp | None


def take_stamp(paths: ProjectPaths) -> Stamp:
    """The state of both files now."""
    return Stamp(config=_file_stamp(paths.config), env=_file_stamp(paths.env))


def _file_stamp(path: Path) -> FileStamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return FileStamp(found.st_mtime_ns, found.st_size, found.st_dev, found.st_ino)
