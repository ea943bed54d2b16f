"""Did `overbrainer.toml` or `.env` change since they were read?

A stamp is taken just before the files are read, so that a change made during the read is seen at the next look. Where
the file system keeps coarse times, two contents of the same size may carry the same time: there a stamp holds a digest
of the content too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.errors import OverbrainerError
from overbrainer_core.files import read_regular
from overbrainer_core.project.paths import ProjectPaths

COARSE_NS = 10_000_000
"""Times that are a multiple of this come from a file system that keeps seconds, or hundredths of one at best."""
_MAX_DIGESTED_BYTES = 16 * 1024 * 1024
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells one content of a file from another; `digest` only where the time is too coarse to tell it."""

    modified_ns: int
    size_bytes: int
    device: int
    inode: int
    digest: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The state of both files at one moment; None for a file that is not there. Equal stamps mean no change."""

    config: FileStamp | None
    env: FileStamp | None


def take_stamp(paths: ProjectPaths) -> Stamp:
    """The state of both files now."""
    return Stamp(config=_file_stamp(paths.config), env=_file_stamp(paths.env))


def stamp_of(state: os.stat_result, content: bytes | None) -> FileStamp:
    """The stamp of a file with this state and content; None for a content that cannot be read."""
    digest = None
    if content is not None and state.st_mtime_ns % COARSE_NS == 0:
        import hashlib  # file systems with coarse times are rare

        digest = hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
    return FileStamp(state.st_mtime_ns, state.st_size, state.st_dev, state.st_ino, digest)


def _file_stamp(path: Path) -> FileStamp | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return stamp_of(state, _content(path) if state.st_mtime_ns % COARSE_NS == 0 else None)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, limit=_MAX_DIGESTED_BYTES)
    except (OSError, OverbrainerError):
        return None
