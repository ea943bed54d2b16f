"""Which machine a target is, in words and as an executor."""

from __future__ import annotations

import pytest

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target
from overbrainer_core.errors import TargetError
from overbrainer_core.flows.targets import kind_words, require_machine, runtime_of
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


def test_the_runtime_of_a_machine_behind_ssh_is_the_same() -> None:
    native = SshTarget(name="box", runtime="native", venv="~/v")
    docker = SshTarget(name="box", runtime="docker", engine="podman", image="i", gpus="0,1")
    assert runtime_of(native) == NativeRuntime(venv="~/v")
    assert runtime_of(docker) == ContainerRuntime(engine="podman", image="i", gpus="0,1")


def test_a_pod_cannot_train_yet() -> None:
    for target in (NATIVE, SshTarget(name="x", runtime="native")):
        assert require_machine(target) is target
    with pytest.raises(TargetError) as error:
        require_machine(RunpodTarget(name="x"))
    assert str(error.value) == "target `x` is of kind runpod: only local and ssh targets can train in this version"
