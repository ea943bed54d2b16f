"""How is a local program run so that it can neither hang its caller nor outlive it?

Argument lists only, stdin closed or fed once, both pipes drained together. On a cancel or a time-out the
program's own process group gets SIGTERM, then SIGKILL, and is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.aio.tasks import run_to_end

GRACE_S = 2.0
"""Seconds between SIGTERM and SIGKILL of a helper program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a program ended: a negative status is the signal that ended it."""

    exit_status: int
    stdout: bytes
    stderr: bytes

    @property
    def status_words(self) -> str:
        """The exit status in words, for a program without error output."""
        if self.exit_status < 0:
            return f"terminated by signal {-self.exit_status}"
        return f"exit status {self.exit_status}"


async def run_command(
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> CommandResult:
    """Run a program in a session of its own and return what it wrote.

    Raises:
        OSError: it cannot be started.
        TimeoutError: it took longer than `timeout_s`; it has been ended.
    """
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            stdout, stderr = await process.communicate(stdin)
    except BaseException:
        await run_to_end(end_process(process), name="end_process")
        raise
    return CommandResult(exit_status=process.returncode or 0, stdout=stdout, stderr=stderr)


async def end_process(process: asyncio.subprocess.Process, *, grace_s: float = GRACE_S) -> None:
    """End a program started in its own session: SIGTERM to its group, a grace, SIGKILL, then reap it."""
    if process.returncode is not None:
        return
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace_s):
            await process.wait()
            return
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
