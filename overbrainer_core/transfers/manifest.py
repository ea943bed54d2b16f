"""Do the files here equal the files on the target, byte for byte?

A manifest lists regular files with their SHA-256, sorted by path; links are not followed. It decides whether a
retrieval worked, not the copy's own report.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.tree import TransferError, walk_entries

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ManifestEntry:
    """A regular file on the target: its path relative to the listed directory, its SHA-256 in lowercase hex."""

    path: str
    sha256: str


class VerifyError(TransferError):
    """A retrieved file is missing, differs, or has no counterpart on the target."""

    def __init__(self, detail: str) -> None:
        super().__init__("verify", detail)


def build_manifest(
    directory: Path,
    entries: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    check: Callable[[], None] | None = None,
) -> tuple[ManifestEntry, ...]:
    """Regular files at or under the entries with their hashes, sorted by path; blocking.

    Args:
        check: called between blocks; what it raises ends the work.

    Raises:
        TransferError: the directory is missing, or a name is not valid UTF-8.
        OSError: a file cannot be read.
    """
    if not directory.is_dir():
        raise TransferError("manifest", f"{escape_controls(str(directory))} does not exist")
    found = []
    for file in walk_entries(directory, entries, exclude):
        if file.is_regular:
            _require_utf8(file.name)
            found.append(ManifestEntry(path=file.name, sha256=hash_file(file.path, check=check)))
    return tuple(sorted(found))


def hash_file(path: Path, *, check: Callable[[], None] | None = None) -> str:
    """The SHA-256 of a regular file in lowercase hex.

    Raises:
        OSError: it cannot be read, or is no regular file any more.
    """
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as handle:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(22, "not a regular file", str(path))
        block = bytearray(_BLOCK_BYTES)
        view = memoryview(block)
        while size := handle.readinto(block):
            digest.update(view[:size])
            if check is not None:
                check()
    return digest.hexdigest()


def compare_manifests(target: Sequence[ManifestEntry], local: Sequence[ManifestEntry]) -> None:
    """Return when both list the same files with the same hashes.

    Raises:
        VerifyError: names the first file that is missing locally, differs, or is not on the target.
    """
    here = {entry.path: entry.sha256 for entry in local}
    for entry in target:
        found = here.pop(entry.path, None)
        if found is None:
            raise VerifyError(f'"{escape_controls(entry.path)}" is missing locally')
        if found != entry.sha256:
            raise VerifyError(f'"{escape_controls(entry.path)}" differs from the target (SHA-256 mismatch)')
    if here:
        raise VerifyError(f'"{escape_controls(min(here))}" is not on the target')


def _require_utf8(name: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(name).decode("utf-8", errors="backslashreplace")
        raise TransferError("manifest", f'the file name "{escape_controls(shown)}" is not valid UTF-8') from None
