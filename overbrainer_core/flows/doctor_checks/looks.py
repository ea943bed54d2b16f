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
from overbrainer_core.executors.scripts import shell_text
from overbrainer_core.system.probe import parse_probe, split_parts
from overbrainer_core.text import drop_controls
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
        system=_line(parts, "system"),
        directory=_line(parts, "directory"),
        is_writable=_line(parts, "writable") == "yes",
        missing=tuple(_line(parts, "missing").split()),
        disk=sample.disks[0] if sample.disks else None,
        gpus=sample.gpus,
        driver=_line(parts, "driver"),
        cuda=cuda_version(_line(parts, "cuda")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLook:
    """A container engine: `state` is `absent`, `refused` (with a reason) or `usable`."""

    state: str
    version: str
    reason: str
    has_image: bool
    sees_gpus: bool


def engine_look_script(engine: str, image: str) -> str:
    """Looks at a container engine, for `parse_engine_look`."""
    return shell_text([engine, image], "doctor/engine.sh")


def parse_engine_look(output: bytes) -> EngineLook:
    """The engine of an answer."""
    parts = split_parts(output)
    return EngineLook(
        state=_line(parts, "engine") or "refused",
        version=_line(parts, "version"),
        reason=_line(parts, "reason"),
        has_image=_line(parts, "image") == "there",
        sees_gpus=bool(_line(parts, "nvidia")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLook:
    """A program: its path, '' when it is not there; the same of a Python beside it, and what its code printed."""

    path: str
    python: str
    answer: str


def program_look_script(program: str, *, python: str = "", code: str = "") -> str:
    """Looks for a program (a name, or a path that `~/` may begin), for `parse_program_look`."""
    return shell_text([program, python, code], "doctor/program.sh")


def parse_program_look(output: bytes) -> ProgramLook:
    """The program of an answer."""
    parts = split_parts(output)
    return ProgramLook(path=_line(parts, "program"), python=_line(parts, "python"), answer=parts.get("answer", ""))


def cuda_version(text: str) -> tuple[int, int] | None:
    """A CUDA version such as `12.8`, None when it is none."""
    match = _CUDA.fullmatch(text)
    return (int(match[1]), int(match[2] or 0)) if match else None


def _line(parts: Mapping[str, str], name: str) -> str:
    """The first line of a part without control characters, '' without one."""
    return drop_controls(parts.get(name, "").split("\n")[0]).strip()
