"""How does a flow reach the machine of a target, and where do a job's programs come from there?"""

from __future__ import annotations

import asyncio
from typing import assert_never

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target
from overbrainer_core.errors import TargetError
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.local import LocalExecutor
from overbrainer_core.flows.session import Session
from overbrainer_core.runtimes.base import Runtime
from overbrainer_core.runtimes.container import ContainerRuntime
from overbrainer_core.runtimes.native import NativeRuntime

Machine = LocalTarget | SshTarget
"""A target whose machine is there before a training is asked for."""


def require_machine(target: Target) -> Machine:
    """The target, when it is of a kind that can train.

    Raises:
        TargetError: it is not.
    """
    if isinstance(target, LocalTarget | SshTarget):
        return target
    raise TargetError(
        f"target `{target.name}` is of kind {target.kind}: only local and ssh targets can train in this version"
    )


async def connect(session: Session, target: Target) -> Executor:
    """The executor of a target; close it when done. A connection belongs to the event loop that asked for it.

    Raises:
        ConfigError: `OVERBRAINER_SSH_CLIENT` names no client.
        TargetError: the target cannot be used or reached.
    """
    machine = require_machine(target)
    environment = session.environment.values
    if isinstance(machine, LocalTarget):
        return await asyncio.to_thread(LocalExecutor, session.paths.runs, environment=environment)
    from overbrainer_core.executors.ssh_connect import connect_ssh  # what reaches other machines, which most do without

    return await connect_ssh(machine, environment=environment)


def check_reachable_by(target: SshTarget, session: Session) -> None:
    """Refuse a target behind SSH that nobody could connect to, as far as that is known without connecting.

    Raises:
        ConfigError: `OVERBRAINER_SSH_CLIENT` names no client.
        TargetError: the host is not set.
    """
    from overbrainer_core.executors.ssh_connect import login_of  # what reaches other machines, which most do without

    login_of(target, session.environment.values)


def runtime_of(target: Machine) -> Runtime:
    """Where the programs of a job on this target come from."""
    if target.runtime == "native":
        return NativeRuntime(venv=target.venv)
    return container_of(target)


def container_of(target: Machine) -> ContainerRuntime:
    """The containers of a target whose runtime is `docker`."""
    return ContainerRuntime(engine=target.engine, image=target.image, gpus=target.gpus)


def kind_words(target: Target) -> str:
    """The kind of a target in words, such as `local, native`; never a host or a key."""
    match target:
        case LocalTarget() | SshTarget():
            return f"{target.kind}, {target.runtime}"
        case RunpodTarget():
            cloud = str(target.values.get("cloud_type", "secure")).capitalize()
            return f"runpod, {cloud} Cloud"
        case _:
            assert_never(target)
