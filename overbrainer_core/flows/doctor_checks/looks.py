"""What do the doctor's scripts find on a machine, here or behind SSH? Nothing is created or changed by a look.

A look is one script of `job_scripts/doctor` whose answer is parts, each after a line `@name`; it is read by a pure
function, so that it is tested without a machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from overbrainer_core.aio.process import run_command
from overbrainer_core.executors.errors import CommandError, SpawnError
from overbrainer_core.executors.local import job_environment
from overbrainer_core.executors.looks import first_line
from overbrainer_core.executors.scripts import shell_text
from overbrainer_core.system.probe import parse_probe, split_parts
from overbrainer_core.values.sample import Disk, Gpu

LIMIT_S = 60.0
"""Seconds for one look: a cold disk and a slow Python take some of it, an engine that hangs all of it."""

_CUDA = re.compile(r"(\d{1,3})(?:\.(\d{1,3}))?", re.ASCII)


class Shell(Protocol):
    """Runs a read-only script on a target."""

    async def look(self, action: str, script: str) -> bytes:
        """What the script printed; raises `ExecutorError` when it did not come to its end."""
        ...

    async def close(self) -> None:
        """Give up the connection."""
        ...


class LocalShell:
    """Scripts on this machine, with the variables that a job would have."""

    def __init__(self, environment: Mapping[str, str], *, limit_s: float = LIMIT_S) -> None:
        self._environment = job_environment(environment)
        self._limit_s = limit_s

    async def look(self, action: str, script: str) -> bytes:
        """What the script printed.

        Raises:
            SpawnError: the shell cannot be started.
            CommandError: it failed, or took too long and was ended.
        """
        try:
            result = await run_command(["sh", "-c", script], env=self._environment, timeout_s=self._limit_s)
        except TimeoutError:
            raise CommandError.timed_out(action, self._limit_s) from None
        except OSError as error:
            raise SpawnError("sh") from error
        if result.exit_status != 0:
            raise CommandError.from_output(action, result.stderr, status_words=result.status_words)
        return result.stdout

    async def close(self) -> None:
        """There is no connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLook:
    """A machine: `directory` is the nearest one to the work directory that exists, `missing` the tools a job needs."""

    system: str
    directory: str
    is_writable: bool
    missing: tuple[str, ...]
    disk: Disk | None
    gpus: tuple[Gpu, ...]
    driver: str
    cuda: tuple[int, int] | None


def machine_look_script(workdir: str) -> str:
    """Looks at a machine, for `parse_machine_look`; the work directory counts from the home unless absolute."""
    return shell_text([workdir], "doctor/machine.sh", "probe/machine.sh")


def parse_machine_look(output: bytes, *, at: datetime) -> MachineLook:
    """The machine of an answer; what is not there is empty."""
    parts = split_parts(output)
    sample, _ = parse_probe(output, None, at=at)
    return MachineLook(
        system=first_line(parts, "system"),
        directory=first_line(parts, "directory"),
        is_writable=first_line(parts, "writable") == "yes",
        missing=tuple(first_line(parts, "missing").split()),
        disk=sample.disks[0] if sample.disks else None,
        gpus=sample.gpus,
        driver=first_line(parts, "driver"),
        cuda=cuda_version(first_line(parts, "cuda")),
    )


def cuda_version(text: str) -> tuple[int, int] | None:
    """A CUDA version such as `12.8`, None when it is none."""
    match = _CUDA.fullmatch(text)
    return (int(match[1]), int(match[2] or 0)) if match else None
