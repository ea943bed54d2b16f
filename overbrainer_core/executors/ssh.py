"""How is a machine behind SSH used for jobs? The contract of an executor over one session, whichever the client.

Every operation may be repeated but `spawn`, which is never sent twice: when its answer is lost, the target is asked
whether the job started.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.errors import ExecutorError, SshError
from overbrainer_core.executors.scripts import (
    cancel_script,
    check_secrets,
    claim_script,
    parse_claim,
    parse_pid,
    parse_status,
    status_script,
)
from overbrainer_core.executors.ssh_scripts import (
    launch_script,
    launched_script,
    manifest_script,
    new_mark,
    parse_launched,
    parse_remote_manifest,
    parse_workdir,
    put_script,
    read_script,
    workdir_script,
)
from overbrainer_core.executors.ssh_session import SshSession
from overbrainer_core.executors.ssh_transfer import download, upload
from overbrainer_core.transfers.manifest import ManifestEntry
from overbrainer_core.values.job import JobHandle, JobState

_log = logging.getLogger("overbrainer.ssh")


async def create_workdir(session: SshSession, workdir: str) -> str:
    """Create the work directory, relative to the remote home unless absolute; its physical path."""
    return parse_workdir((await session.run("create the work directory", workdir_script(workdir))).stdout)


class SshExecutor:
    """Jobs and files on a machine behind SSH, in run directories under `workdir`."""

    def __init__(self, session: SshSession, workdir: str) -> None:
        """`workdir` is the absolute path that `create_workdir` gave."""
        self._session = session
        self._workdir = workdir

    @property
    def workdir(self) -> str:
        """The absolute directory on the target that holds run directories."""
        return self._workdir

    async def claim(self, directory: str, owner: str) -> bool:
        """Create the directory and its `.claim` exclusively; true when it is ours, claimed before by us included."""
        return parse_claim((await self._session.run("claim the run directory", claim_script(directory, owner))).stdout)

    async def upload(self, local: Path, remote: str, *, skip: Collection[str] = ()) -> None:
        """Copy the content of `local` into `remote`, but for the top-level names in `skip`."""
        await upload(self._session, local, remote, skip=skip)

    async def spawn(self, job: Spawn) -> JobHandle:
        """Start a job that outlives this process and its connection; runs to its end once it is sent.

        Raises:
            InvalidSecretError: names the secret that no environment can hold; nothing was sent.
            ExecutorError: the job did not start, or nobody can tell.
        """
        check_secrets(job.secrets)
        return await run_to_end(self._spawn(job), name="spawn")

    async def _spawn(self, job: Spawn) -> JobHandle:
        token = new_mark()
        values = "".join(f"{secret.value}\n" for secret in job.secrets).encode("utf-8", "surrogateescape")
        try:
            result = await self._session.run("start the job", launch_script(job, token), stdin=values)
            pid = parse_pid(result.stdout)
        except SshError as error:
            found = await self._find_launched(job, token)
            if found is None:
                raise
            _log.warning("the connection broke while the job started; it runs (%s)", error.__cause__)
            pid = found
        return JobHandle(directory=job.directory, pid=pid, container=job.container)

    async def _find_launched(self, job: Spawn, token: str) -> int | None:
        """The process ID of a job whose start got no answer; None when it did not start or nobody can tell."""
        timing = self._session.timing
        script = launched_script(job.directory, token, looks=timing.launched_looks, pause_s=timing.launched_pause_s)
        try:
            return parse_launched((await self._session.run("start the job", script)).stdout)
        except ExecutorError as error:
            _log.warning("cannot tell whether the job started: %s", error)
            return None

    async def read_from(self, path: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; empty when the file is missing or ends before."""
        if limit <= 0:
            return b""
        return (await self._session.run("read", read_script(path, offset, limit))).stdout[:limit]

    async def status(self, job: JobHandle) -> JobState:
        """How the job stands."""
        return parse_status((await self._session.run("status", status_script(job))).stdout, pid=job.pid)

    async def cancel(self, job: JobHandle) -> None:
        """End the job's process group and its container; must be run to its end by the caller."""
        timing = self._session.timing
        await self._session.run("cancel", cancel_script(job, timing.cancel), limit_s=timing.cancel_s)

    async def manifest(
        self, directory: str, entries: Sequence[str], *, exclude: Sequence[str] = ()
    ) -> tuple[ManifestEntry, ...]:
        """Regular files at or under the entries, sorted by path; missing entries are skipped."""
        script = manifest_script(directory, entries, exclude)
        limit = self._session.timing.manifest_s
        return parse_remote_manifest((await self._session.run("manifest", script, limit_s=limit)).stdout)

    async def download(self, remote: str, local: Path, entries: Sequence[str], *, exclude: Sequence[str] = ()) -> None:
        """Copy the entries of `remote` into `local`; missing entries are skipped."""
        await download(self._session, remote, local, entries, exclude=exclude)

    async def probe(self, script: str) -> bytes:
        """Run a read-only script beside the job and return its standard output."""
        return (await self._session.run("probe", script, limit_s=self._session.timing.probe_s)).stdout

    async def put_file(self, path: str, text: str) -> None:
        """Write a small file so that a reader sees the old or the new content; not for secrets."""
        await self._session.run("write a file", put_script(path, text))

    async def close(self) -> None:
        """Give up the connection; jobs go on."""
        await self._session.close()
