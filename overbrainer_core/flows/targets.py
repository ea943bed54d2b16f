"""How does a flow reach the machine of a target, and where do a job's programs come from there?"""

from __future__ import annotations

from typing import assert_never

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target
from overbrainer_core.errors import TargetError
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.local import LocalExecutor
from overbrainer_core.flows.session import Session
from overbrainer_core.runtimes.base import Runtime
from overbrainer_core.runtimes.container import ContainerRuntime
from overbrainer_core.runtimes.native import NativeRuntime


def require_local(target: Target) -> LocalTarget:
    """The target, when it is of a kind that can train.

    Raises:
        TargetError: it is not.
    """
    if isinstance(target, LocalTarget):
        return target
    raise TargetError(f"target `{target.name}` is of kind {target.kind}: only local targets can train in this version")


def connect(session: Session, target: Target) -> Executor:
    """The executor of a target; close it when done.

    Raises:
        TargetError: the target cannot be used.
    """
    require_local(target)
    return LocalExecutor(session.paths.runs, environment=session.environment.values)


def runtime_of(target: LocalTarget) -> Runtime:
    """Where the programs of a job on this target come from."""
    if target.runtime == "native":
        return NativeRuntime(venv=target.venv)
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
