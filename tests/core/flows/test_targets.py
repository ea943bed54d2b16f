"""Which machine a target is, in words and as an executor."""

from __future__ import annotations

import pytest

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target
from overbrainer_core.errors import TargetError
from overbrainer_core.flows.targets import kind_words, require_local, runtime_of
from overbrainer_core.runtimes.container import ContainerRuntime
from overbrainer_core.runtimes.native import NativeRuntime

NATIVE = LocalTarget(name="here", runtime="native", venv="/v")
DOCKER = LocalTarget(name="here", runtime="docker", engine="podman", image="i", gpus="none")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (NATIVE, "local, native"),
        (DOCKER, "local, docker"),
        (SshTarget(name="box", runtime="native", host="secret.host"), "ssh, native"),
        (RunpodTarget(name="cloud", values={"cloud_type": "SECURE"}), "runpod, Secure Cloud"),
    ],
)
def test_the_kind_is_told_without_a_host(target: Target, words: str) -> None:
    assert kind_words(target) == words


def test_the_runtime_follows_the_target() -> None:
    assert runtime_of(NATIVE) == NativeRuntime(venv="/v")
    assert runtime_of(DOCKER) == ContainerRuntime(engine="podman", image="i", gpus="none")


def test_only_a_local_target_can_train() -> None:
    assert require_local(NATIVE) is NATIVE
    for target in (SshTarget(name="x", runtime="native"), RunpodTarget(name="x")):
        with pytest.raises(TargetError, match=f"^target `x` is of kind {target.kind}: only local targets can train in"):
            require_local(target)
