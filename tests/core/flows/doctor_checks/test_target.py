"""A target: this machine, a machine behind SSH, or one that cannot be used; nothing is left on any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Training
from overbrainer_core.errors import TargetError
from overbrainer_core.executors import ssh_connect
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.flows.doctor_checks import target as target_module
from overbrainer_core.flows.doctor_checks.base import Check, Status, Subject
from overbrainer_core.flows.doctor_checks.target import SshShell, check_target
from tests.peers.sshd import Sshd, needs_sshd

MakeSubject = Callable[..., Subject]
Stub = Callable[[str, str], Path]

TINY = Training(target="lab", trainer="tiny", base_model="tiny-0.2m", adapter="full")
AXOLOTL = Training(target="lab", base_model="m", adapter="lora")
DOCKER = LocalTarget(name="lab", runtime="docker", image="axolotl:cu130")

MACHINE = """
@directory
/work
@writable
{writable}
@system
Linux x86_64
@missing
{missing}
@driver
580.65.06
@cuda
12.8
@gpu
{gpu}
@df.run
Filesystem Type 1024-blocks Used Available Capacity Mounted on
/dev/sda1 ext4 1000000000 0 {available} 40% /
"""
GPU = "0, NVIDIA H200, 0, 10, 143771, 30, 70.5, 700.0"
ENGINE = "@engine\nusable\n@version\n28\n@image\nthere\n@nvidia\n{nvidia}\n"


class AnsweringShell:
    """Gives the answer for each look; keeps whether it was closed."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.is_closed = False

    async def look(self, action: str, script: str) -> bytes:
        """The answer whose name is in the action."""
        for name, answer in self.answers.items():
            if name in action:
                return answer.encode()
        raise CommandError(action, "no answer")

    async def close(self) -> None:
        """Remember it."""
        self.is_closed = True


def machine(*, writable: str = "yes", missing: str = "", gpu: str = GPU, available: int = 900_000_000) -> str:
    """A machine's answer."""
    return MACHINE.format(writable=writable, missing=missing, gpu=gpu, available=available)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AnsweringShell]:
    """`answering(machine="...", docker="...")`: every target answers so."""

    def make(**answers: str) -> AnsweringShell:
        shell = AnsweringShell(**answers)

        async def open_shell(_subject: object, _target: object) -> AnsweringShell:
            return shell

        monkeypatch.setattr(target_module, "open_shell", open_shell)
        return shell

    return make


def by_name(checks: list[Check]) -> dict[str, Check]:
    """The worst finding of each name."""
    order = [Status.OK, Status.SKIPPED, Status.WARNING, Status.FAILURE]
    return {check.name: check for check in sorted(checks, key=lambda check: order.index(check.status))}


async def test_this_machine_for_the_tiny_trainer(subject: MakeSubject) -> None:
    examined = subject(PATH=os.environ["PATH"], HOME=os.environ["HOME"])
    found = by_name(await check_target(examined, LocalTarget(name="lab", runtime="native"), TINY))
    assert found["targets.lab"].status is Status.OK
    assert found["targets.lab"].detail.startswith("local, native: ")
    assert found["trainer"].status is Status.OK
    assert found["gpu"].status is Status.SKIPPED
    assert not examined.paths.runs.exists()


async def test_a_container_with_gpus_and_a_driver_that_is_too_old(
    subject: MakeSubject, answering: Callable[..., AnsweringShell]
) -> None:
    shell = answering(machine=machine(), docker=ENGINE.format(nvidia=""))
    checks = await check_target(subject(), DOCKER, AXOLOTL)
    assert [(check.name, check.status) for check in checks] == [
        ("targets.lab", Status.OK),
        ("targets.lab disk", Status.OK),
        ("engine", Status.OK),
        ("image", Status.OK),
        ("gpu", Status.WARNING),
        ("gpu", Status.WARNING),
    ]
    assert "built for CUDA 13.0" in checks[4].detail
    assert checks[5].next == "install nvidia-container-toolkit on the target"
    assert shell.is_closed


async def test_without_a_training_the_target_is_looked_at_for_axolotl(
    subject: MakeSubject, answering: Callable[..., AnsweringShell]
) -> None:
    answering(machine=machine(available=1_000_000), docker=ENGINE.format(nvidia="nvidia-ctk"))
    found = by_name(await check_target(subject(), DOCKER, None))
    assert found["targets.lab disk"].status is Status.WARNING
    assert found["targets.lab disk"].detail == "1.0 GB free for its runs"


async def test_what_a_machine_lacks_is_told(subject: MakeSubject, answering: Callable[..., AnsweringShell]) -> None:
    answering(machine=machine(writable="no", missing="setsid tar", gpu=""), docker=ENGINE.format(nvidia=""))
    checks = await check_target(subject(), SshTarget(name="lab", runtime="docker", host="h", workdir="a:b"), AXOLOTL)
    details = {check.detail for check in checks if check.status is Status.FAILURE}
    assert {"it has no setsid, tar", "/work cannot be written to", "no NVIDIA GPU is seen"} <= details
    assert any("holds a colon" in detail for detail in details)


async def test_a_look_that_does_not_end_is_a_failure_and_the_rest_is_kept(
    subject: MakeSubject, answering: Callable[..., AnsweringShell]
) -> None:
    shell = answering(machine="")
    checks = await check_target(subject(), DOCKER, AXOLOTL)
    assert checks[-1].status is Status.FAILURE
    assert checks[-1].detail == "look at docker failed: no answer"
    assert shell.is_closed


async def test_a_target_out_of_reach(subject: MakeSubject, monkeypatch: pytest.MonkeyPatch) -> None:
    async def open_shell(_subject: object, _target: object) -> AnsweringShell:
        raise TargetError("cannot reach target `lab`")

    monkeypatch.setattr(target_module, "open_shell", open_shell)
    (check,) = await check_target(subject(), SshTarget(name="lab", runtime="native", host="h"), AXOLOTL)
    assert (check.status, check.detail) == (Status.FAILURE, "cannot reach target `lab`")
    assert check.next == "look at targets.lab.host and the SSH set-up"


async def test_a_host_that_is_not_set_names_its_variable(subject: MakeSubject) -> None:
    (check,) = await check_target(subject(), SshTarget(name="lab", runtime="native"), AXOLOTL)
    assert check.detail == "targets.lab.host is not set: set OVERBRAINER_TARGETS__LAB__HOST"


async def test_offline_a_machine_behind_ssh_is_left_out(subject: MakeSubject) -> None:
    (check,) = await check_target(subject(is_offline=True), SshTarget(name="lab", runtime="native", host="h"), None)
    assert check.status is Status.SKIPPED


async def test_a_pod_is_refused_as_a_training_would_be(subject: MakeSubject) -> None:
    (check,) = await check_target(subject(), RunpodTarget(name="pod"), AXOLOTL)
    assert check.status is Status.FAILURE
    assert "runpod" in check.detail


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """A real sshd."""
    server = Sshd(tmp_path / "server")
    server.start()
    yield server
    server.stop()


@needs_sshd
@pytest.mark.parametrize("client", ["builtin", "openssh"])
async def test_a_real_machine_behind_ssh_is_looked_at_and_left_as_it_was(
    subject: MakeSubject, server: Sshd, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.configure("")
    # the OpenSSH client takes its home from the account, not from HOME
    monkeypatch.setattr(ssh_connect, "open_ssh", partial(ssh_connect.open_ssh, home=server.client_home))
    before = sorted(server.remote_home.rglob("*"))
    target = SshTarget(name="lab", runtime="native", host=server.destination, workdir="deep/work", ssh_client=client)
    found = by_name(await check_target(subject(**server.environment), target, AXOLOTL))
    assert "targets.lab disk" in found
    assert found["trainer"].detail == "`axolotl` is not on PATH"
    assert sorted(server.remote_home.rglob("*")) == before


async def test_a_session_is_closed_with_its_shell() -> None:
    class Session:
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    session = Session()
    await SshShell(session).close()  # type: ignore[arg-type]
    assert session.is_closed
