"""What must a machine be able to do for a job? One executor per target, local or SSH, one contract.

Paths on the target are absolute strings with `/`. Operations may be called at the same time from one
process and may be repeated: reads go by offset, claims are exclusive, markers have a written precedence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from overbrainer_core.transfers.manifest import ManifestEntry as ManifestEntry
from overbrainer_core.values.job import Container, JobHandle, JobState, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawn:
    """What `spawn` starts: a script for `sh` in a run directory, with secrets in its environment."""

    directory: str
    script: str
    secrets: tuple[Secret, ...] = ()
    container: Container | None = None


class Executor(Protocol):
    """The operations of a target; every one raises `executors.errors.ExecutorError` when it fails."""

    @property
    def workdir(self) -> str:
        """The absolute directory on the target that holds run directories."""
        ...

    async def claim(self, directory: str, owner: str) -> bool:
        """Create the directory and its `.claim` exclusively; true when it is ours, claimed before by us included."""
        ...

    async def upload(self, local: Path, remote: str, *, skip: Collection[str] = ()) -> None:
        """Copy the content of `local` into `remote`, but for the top-level names in `skip`."""
        ...

    async def spawn(self, job: Spawn) -> JobHandle:
        """Start a job that outlives this process and its connection."""
        ...

    async def read_from(self, path: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; empty when the file is missing or ends before."""
        ...

    async def status(self, job: JobHandle) -> JobState:
        """How the job stands."""
        ...

    async def cancel(self, job: JobHandle) -> None:
        """End the job's process group and its container; must be run to its end by the caller."""
        ...

    async def manifest(
        self, directory: str, entries: Sequence[str], *, exclude: Sequence[str] = ()
    ) -> tuple[ManifestEntry, ...]:
        """Regular files at or under the entries, sorted by path; missing entries are skipped."""
        ...

    async def download(self, remote: str, local: Path, entries: Sequence[str], *, exclude: Sequence[str] = ()) -> None:
        """Copy the entries of `remote` into `local`; missing entries are skipped."""
        ...

    async def probe(self, script: str) -> bytes:
        """Run a read-only script beside the job and return its standard output."""
        ...

    async def put_file(self, path: str, text: str) -> None:
        """Write a small file so that a reader sees the old or the new content; not for secrets."""
        ...

    async def close(self) -> None:
        """Give up the connection; jobs go on."""
        ...
