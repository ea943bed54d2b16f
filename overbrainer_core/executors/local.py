"""How does a job run on this machine so that it survives overbrainer, the terminal and a kill of either?

Jobs run in a session of their own, with their output in `job.log`; status, cancel and probe scripts run in a process
group of their own, so a Ctrl-C never reaches a cancel in its middle. Blocking work runs in threads. A run directory is
usually its own target: copies between equal directories do nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overbrainer_core.aio.process import CommandResult, run_command
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.aio.threads import StopToken, run_in_thread, run_ticking
from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.children import DetachedProcess, adopt, reap, start_leader
from overbrainer_core.executors.errors import AccessError, CommandError, ProtocolError, SpawnError
from overbrainer_core.executors.local_files import claim, copy, prepare_directory, put_file, read_range
from overbrainer_core.executors.scripts import (
    CancelTiming,
    cancel_script,
    check_secrets,
    job_wrapper,
    parse_status,
    status_script,
)
from overbrainer_core.text import escape_controls
from overbrainer_core.transfers.manifest import ManifestEntry, build_manifest
from overbrainer_core.transfers.tree import TransferError
from overbrainer_core.values.job import JobHandle, JobState, Secret

DROPPED_PREFIXES = ("OVERBRAINER_", "VAULT_")
"""Variables of overbrainer's own settings and of its vault never reach a job."""

DROPPED_NAMES = frozenset({"RUNPOD_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"})
"""Keys that overbrainer reads under their standard names; a job has no use for them."""

_log = logging.getLogger("overbrainer.executors")


_GROUP_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""What a terminal sends to a group; it reaches a script only before the script leads a session of its own."""

_SCRIPT_TRIES = 20
"""Starts of one script; every script may be killed and repeated at any point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTiming:
    """Waits of the local executor, in seconds."""

    reap_s: float = 0.15
    status_limit_s: float = 30
    cancel_limit_s: float = 120
    probe_limit_s: float = 20
    notice_s: float = 5
    """After so long it is told what a cancel waits for: a process may take its whole grace to end."""
    cancel: CancelTiming = field(default_factory=CancelTiming)


class LocalExecutor:
    """Jobs and files on this machine, in run directories under `runs_dir`."""

    def __init__(
        self,
        runs_dir: Path,
        *,
        environment: Mapping[str, str],
        timing: LocalTiming | None = None,
        shell: Sequence[str] = ("sh",),
    ) -> None:
        """Create and resolve the runs directory.

        Args:
            environment: overbrainer's own, which jobs inherit but for its settings and keys.
            shell: the program that takes `-c` and a script.

        Raises:
            AccessError: the directory cannot be created.
            ProtocolError: its path is not valid UTF-8.
        """
        self._timing = timing or LocalTiming()
        self._shell = tuple(shell)
        self._environment = job_environment(environment)
        try:
            runs_dir.mkdir(parents=True, exist_ok=True)
            self._workdir = str(runs_dir.resolve(strict=True))
        except OSError as error:
            raise AccessError(runs_dir) from error
        _require_utf8(self._workdir)

    @property
    def workdir(self) -> str:
        """The runs directory, absolute and without links."""
        return self._workdir

    async def claim(self, directory: str, owner: str) -> bool:
        """Create the directory and its `.claim` exclusively; true when it is ours, claimed before by us included."""
        return await run_in_thread(lambda _: claim(Path(directory), owner))

    async def upload(self, local: Path, remote: str, *, skip: Collection[str] = ()) -> None:
        """Copy the content of `local` into `remote`, but for the top-level names in `skip`."""

        def work(token: StopToken) -> None:
            try:
                entries = sorted(set(os.listdir(local)) - set(skip))
                Path(remote).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise AccessError(error.filename or local) from error
            copy(local, Path(remote), entries, token=token)

        await run_in_thread(work)

    async def spawn(self, job: Spawn) -> JobHandle:
        """Start a job that outlives this process; secrets are checked before anything is created.

        Raises:
            InvalidSecretError: names the secret that no environment can hold.
            AccessError: the run directory cannot be prepared.
            SpawnError: the shell cannot be started.
        """
        check_secrets(job.secrets)
        return await run_to_end(run_in_thread(lambda _: self._start(job)), name="spawn")

    def _start(self, job: Spawn) -> JobHandle:
        directory = Path(job.directory)
        log = prepare_directory(directory)
        try:
            child = start_leader(
                lambda: DetachedProcess(
                    [*self._shell, "-c", job_wrapper(job.script)],
                    cwd=directory,
                    env={**self._environment, **_secret_variables(job.secrets)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        except OSError as error:
            raise SpawnError(self._shell[0]) from error
        finally:
            os.close(log)
        adopt(child)
        return JobHandle(directory=job.directory, pid=child.pid, container=job.container)

    async def read_from(self, path: str, offset: int, limit: int) -> bytes:
        """At most `limit` bytes from `offset`; empty when the file is missing or ends before."""
        if limit <= 0:
            return b""
        return await run_in_thread(lambda _: read_range(Path(path), offset, limit))

    async def status(self, job: JobHandle) -> JobState:
        """How the job stands."""
        result = await self._run("status", status_script(job), limit_s=self._timing.status_limit_s)
        return parse_status(result.stdout, pid=job.pid)

    async def cancel(self, job: JobHandle) -> None:
        """End the job's process group and its container; must be run to its end by the caller."""
        script, container = cancel_script(job, self._timing.cancel), job.container
        waits_for = f"{container.engine} stop {container.name}" if container else f"process group {job.pid} to end"
        loop = asyncio.get_running_loop()
        notice = loop.call_later(self._timing.notice_s, _log.info, "cancel: still waiting for %s", waits_for)
        try:
            await self._run("cancel", script, limit_s=self._timing.cancel_limit_s)
        finally:
            notice.cancel()

    async def manifest(
        self, directory: str, entries: Sequence[str], *, exclude: Sequence[str] = ()
    ) -> tuple[ManifestEntry, ...]:
        """Regular files at or under the entries, sorted by path; missing entries are skipped."""

        def work(token: StopToken) -> tuple[ManifestEntry, ...]:
            try:
                return build_manifest(Path(directory), entries, exclude, check=token.check)
            except TransferError as error:
                raise CommandError("manifest", error.detail) from error
            except OSError as error:
                raise AccessError(error.filename or directory) from error

        return await run_in_thread(work)

    async def download(self, remote: str, local: Path, entries: Sequence[str], *, exclude: Sequence[str] = ()) -> None:
        """Copy the entries of `remote` into `local`; missing entries are skipped."""

        def work(token: StopToken) -> None:
            if not Path(remote).is_dir():
                raise CommandError("download", f"{escape_controls(remote)} does not exist")
            copy(Path(remote), local, entries, exclude=exclude, token=token)

        await run_in_thread(work)

    async def probe(self, script: str) -> bytes:
        """Run a read-only script beside the job and return its standard output."""
        return (await self._run("probe", script, limit_s=self._timing.probe_limit_s)).stdout

    async def put_file(self, path: str, text: str) -> None:
        """Write a small file so that a reader sees the old or the new content; not for secrets."""
        await run_in_thread(lambda _: put_file(Path(path), text))

    async def close(self) -> None:
        """Jobs go on; those that have ended are reaped."""
        reap()

    async def _run(self, action: str, script: str, *, limit_s: float) -> CommandResult:
        """Run a script to its end, reaping ended jobs before and meanwhile: a zombie counts as alive in its group."""
        try:
            for _ in range(_SCRIPT_TRIES):
                reap()
                command = run_command([*self._shell, "-c", script], env=self._environment, timeout_s=limit_s)
                result = await run_ticking(command, reap, interval_s=self._timing.reap_s)
                if -result.exit_status not in _GROUP_SIGNALS:
                    break
        except TimeoutError:
            raise CommandError.timed_out(action, limit_s) from None
        except OSError as error:
            raise SpawnError(self._shell[0]) from error
        if result.exit_status != 0:
            raise CommandError.from_output(action, result.stderr, status_words=result.status_words)
        return result


def job_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a local job inherits from overbrainer's own; an empty `PATH` would find no `sh`."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith(DROPPED_PREFIXES) and name not in DROPPED_NAMES
    }
    return kept if kept.get("PATH") else {**kept, "PATH": os.defpath}


def _secret_variables(given: Sequence[Secret]) -> dict[str, str]:
    return {secret.name: secret.value for secret in given}


def _require_utf8(path: str) -> None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", errors="backslashreplace")
        raise ProtocolError(f"the work directory {escape_controls(shown)} is not valid UTF-8") from None
