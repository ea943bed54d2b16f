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

_STEP_S = 0.05
"""Seconds between two looks at a program that is being ended."""


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
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        if not await _has_exited(process, grace_s):
            _signal_group(process.pid, signal.SIGKILL)
            await _has_exited(process, None)
    # A grandchild that left the group may hold the pipes: nothing else lets go of our ends of them.
    process._transport.close()  # type: ignore[attr-defined]  # has no public name


async def _has_exited(process: asyncio.subprocess.Process, limit_s: float | None) -> bool:
    """Whether the program ends within the limit.

    Asked in steps, since a wait that began before the end only returns once the pipes are closed too (cpython 119710).
    """
    loop = asyncio.get_running_loop()
    deadline = None if limit_s is None else loop.time() + limit_s
    while process.returncode is None:
        if deadline is not None and loop.time() >= deadline:
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STEP_S):
                await process.wait()
    return True


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
