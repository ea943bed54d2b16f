"""Is the target of the training there, and does it have tools, room, programs and GPUs?

Nothing is created there: the work directory need not exist yet, so its nearest parent is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target, Training
from overbrainer_core.errors import ConfigError, TargetError, describe
from overbrainer_core.flows.doctor_checks.base import OFFLINE, Check, Subject, failure, ok, skipped, warning
from overbrainer_core.flows.doctor_checks.gpus import check_gpus
from overbrainer_core.flows.doctor_checks.looks import (
    LIMIT_S,
    LocalShell,
    MachineLook,
    Shell,
    machine_look_script,
    parse_machine_look,
)
from overbrainer_core.flows.doctor_checks.programs import Findings, check_programs
from overbrainer_core.flows.doctor_checks.project import room_check
from overbrainer_core.flows.targets import kind_words, require_machine
from overbrainer_core.runtimes.container import ContainerRuntime, UnmountableDirectoryError

if TYPE_CHECKING:
    from overbrainer_core.executors.ssh_session import SshSession

ROOM_BYTES = {"axolotl": 20 * 10**9, "tiny": 10**9}
"""Less room than this for the run directories is told: a base model, its checkpoints and the model that comes out."""


async def check_target(subject: Subject, target: Target, training: Training | None) -> list[Check]:
    """The findings of a target, for this training or, without one, for Axolotl."""
    name = f"targets.{target.name}"
    if isinstance(target, RunpodTarget):
        return [failure(name, _refusal(target))]
    if isinstance(target, SshTarget) and subject.is_offline:
        return [skipped(name, OFFLINE)]
    try:
        shell = await open_shell(subject, target)
    except (ConfigError, TargetError) as error:
        return [failure(name, describe(error), f"look at targets.{target.name}.host and the SSH set-up")]
    checks: list[Check] = []
    try:
        checks += await _check_machine(subject, target, shell, trainer=training.trainer if training else "axolotl")
    except TargetError as error:
        checks.append(failure(name, describe(error)))
    finally:
        await shell.close()
    return checks


def _refusal(target: RunpodTarget) -> str:
    """Why this version cannot train there."""
    try:
        require_machine(target)
    except TargetError as error:
        return str(error)
    return "pods are not looked at"


async def open_shell(subject: Subject, target: LocalTarget | SshTarget) -> Shell:
    """What runs the looks on a target; close it when done.

    Raises:
        TargetError: the target cannot be reached.
    """
    if isinstance(target, LocalTarget):
        return LocalShell(subject.environment.values)
    from overbrainer_core.executors.ssh_connect import open_ssh  # loads the SSH client, which other targets do without

    return SshShell(await open_ssh(target, environment=subject.environment.values))


class SshShell:
    """Scripts on a machine behind SSH."""

    def __init__(self, session: SshSession, *, limit_s: float = LIMIT_S) -> None:
        self._session = session
        self._limit_s = limit_s

    async def look(self, action: str, script: str) -> bytes:
        """What the script printed; raises `ExecutorError` when it did not come to its end."""
        return (await self._session.run(action, script, limit_s=self._limit_s)).stdout

    async def close(self) -> None:
        """End the connection."""
        await self._session.close()


async def _check_machine(
    subject: Subject, target: LocalTarget | SshTarget, shell: Shell, *, trainer: str
) -> list[Check]:
    """What the machine has.

    Raises:
        TargetError: a look did not come to its end.
    """
    workdir = os.path.realpath(subject.paths.runs) if isinstance(target, LocalTarget) else target.workdir
    output = await shell.look("look at the machine", machine_look_script(workdir))
    machine = parse_machine_look(output, at=subject.clock.now())
    checks = list(_machine_checks(target, machine, workdir, trainer=trainer))
    found = await check_programs(shell, target, trainer=trainer)
    return [*checks, *found.checks, *_gpu_checks(target, machine, found, trainer=trainer)]


def _machine_checks(
    target: LocalTarget | SshTarget, machine: MachineLook, workdir: str, *, trainer: str
) -> Iterator[Check]:
    name = f"targets.{target.name}"
    yield ok(name, f"{kind_words(target)}: {machine.system or 'it answers'}")
    if machine.missing and isinstance(target, SshTarget):
        yield failure(name, f"it has no {', '.join(machine.missing)}", "install what is missing there")
    if not machine.is_writable:
        yield failure(
            name, f"{machine.directory} cannot be written to", "change its permissions, or the work directory"
        )
    if target.runtime != "native":
        try:
            ContainerRuntime(engine=target.engine, image=target.image).check_directory(workdir)
        except UnmountableDirectoryError as error:
            detail, _, next_step = str(error).partition("; ")
            yield failure(name, detail, next_step)
    if machine.disk is not None:
        yield room_check(
            f"{name} disk", machine.disk.available_bytes, tight_bytes=ROOM_BYTES[trainer], where="for its runs"
        )
    else:
        yield warning(f"{name} disk", "its free room cannot be told")


def _gpu_checks(
    target: LocalTarget | SshTarget, machine: MachineLook, found: Findings, *, trainer: str
) -> Iterator[Check]:
    if trainer == "tiny":
        yield skipped("gpu", "left out: the tiny trainer uses the CPU")
        return
    in_container = target.runtime != "native"
    gpus = target.gpus if in_container else "all"
    yield check_gpus(machine, gpus=gpus, in_container=in_container, needed_cuda=found.needed_cuda)
    if in_container and gpus != "none" and machine.gpus and not found.sees_gpus:
        detail = f"no NVIDIA container toolkit is seen: {target.engine} may not find the GPUs"
        yield warning("gpu", detail, "install nvidia-container-toolkit on the target")
