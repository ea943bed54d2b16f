"""Axolotl, a Python with NumPy, or an engine with its image: there, or named with what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from overbrainer_core.config.settings import LocalTarget, SshTarget
from overbrainer_core.flows.doctor_checks.base import Check, Status
from overbrainer_core.flows.doctor_checks.looks import LocalShell
from overbrainer_core.flows.doctor_checks.programs import Findings, check_programs

Stub = Callable[[str, str], Path]

NATIVE = LocalTarget(name="lab", runtime="native")
DOCKER = LocalTarget(name="lab", runtime="docker", image="axolotl:cu130")
ENGINE = """case "$1 $2" in
"version --format") echo 28.2.2 ;;
"version "*) : ;;
"image inspect") [ -e "$0.image" ] ;;
esac"""


def one(found: Findings) -> Check:
    """The only finding."""
    (check,) = found.checks
    return check


async def test_axolotl_in_an_environment_of_its_own(local_shell: LocalShell, stub: Stub, tmp_path: Path) -> None:
    stub("axolotl", "")
    stub("python", "echo noise of a start-up file; echo axolotl 0.21.0; echo torch 2.14.1+cu130")
    found = await check_programs(local_shell, LocalTarget(name="lab", runtime="native", venv="~/"), trainer="axolotl")
    check = one(found)
    assert (check.status, check.detail) == (
        Status.OK,
        f"axolotl 0.21.0, torch 2.14.1+cu130 in {tmp_path}/bin/axolotl",
    )
    assert found.needed_cuda == (13, 0)


async def test_axolotl_on_path(local_shell: LocalShell, stub: Stub, tmp_path: Path) -> None:
    stub("axolotl", "")
    found = await check_programs(local_shell, NATIVE, trainer="axolotl")
    assert one(found).detail == f"axolotl in {tmp_path}/bin/axolotl"
    assert found.needed_cuda is None


@pytest.mark.parametrize(
    ("venv", "detail", "next_step"),
    [
        (None, "`axolotl` is not on PATH", "install Axolotl there, or set targets.lab.venv"),
        (
            "/nonexistent",
            "`axolotl` is not in /nonexistent/bin, or cannot be run",
            "install Axolotl there, or set targets.lab.venv",
        ),
        ("venv", "targets.lab.venv is a relative path", "write it from / or ~/"),
    ],
)
async def test_no_axolotl(tmp_path: Path, venv: str | None, detail: str, next_step: str) -> None:
    shell = LocalShell({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    check = one(await check_programs(shell, LocalTarget(name="lab", runtime="native", venv=venv), trainer="axolotl"))
    assert (check.status, check.detail, check.next) == (Status.FAILURE, detail, next_step)


async def test_the_tiny_trainer_uses_this_python(local_shell: LocalShell) -> None:
    check = one(await check_programs(local_shell, NATIVE, trainer="tiny"))
    assert check.status is Status.OK
    assert check.detail.startswith("the tiny trainer, with NumPy ")
    assert check.detail.endswith(f" of {sys.executable}")


async def test_the_tiny_trainer_elsewhere_uses_the_python_of_that_machine(
    local_shell: LocalShell, stub: Stub, tmp_path: Path
) -> None:
    stub("python3", "exit 1")
    target = SshTarget(name="lab", runtime="native", host="h")
    check = one(await check_programs(local_shell, target, trainer="tiny"))
    python = tmp_path / "bin" / "python3"
    assert (check.status, check.detail, check.next) == (
        Status.FAILURE,
        f"the tiny trainer needs NumPy, which {python} cannot import",
        f"run `{python} -m pip install numpy`",
    )


async def test_no_python_for_the_tiny_trainer(local_shell: LocalShell) -> None:
    target = LocalTarget(name="lab", runtime="native", venv="/nonexistent")
    check = one(await check_programs(local_shell, target, trainer="tiny"))
    assert (check.status, check.next) == (Status.FAILURE, "install Python there, or set targets.lab.venv")


async def test_an_engine_with_its_image(local_shell: LocalShell, stub: Stub) -> None:
    program = stub("docker", ENGINE)
    program.with_name("docker.image").touch()
    found = await check_programs(local_shell, DOCKER, trainer="axolotl")
    assert [(check.name, check.status, check.detail) for check in found.checks] == [
        ("engine", Status.OK, "docker 28.2.2"),
        ("image", Status.OK, "axolotl:cu130"),
    ]
    assert found.needed_cuda == (13, 0)


async def test_an_image_that_is_not_there_is_a_warning(local_shell: LocalShell, stub: Stub) -> None:
    stub("docker", ENGINE)
    image = (await check_programs(local_shell, DOCKER, trainer="axolotl")).checks[1]
    assert image.status is Status.WARNING
    assert image.next == "`docker pull axolotl:cu130` on the target"


async def test_an_engine_that_cannot_be_used(local_shell: LocalShell, stub: Stub) -> None:
    stub("docker", "echo 'permission denied' >&2; exit 1")
    check = one(await check_programs(local_shell, DOCKER, trainer="axolotl"))
    assert (check.status, check.detail) == (Status.FAILURE, "`docker` cannot be used: permission denied")


async def test_an_engine_that_is_not_there(local_shell: LocalShell) -> None:
    target = LocalTarget(name="lab", runtime="docker", engine="no-such-engine", image="x")
    check = one(await check_programs(local_shell, target, trainer="axolotl"))
    assert (check.status, check.next) == (Status.FAILURE, "install it, or set targets.lab.runtime to native")
