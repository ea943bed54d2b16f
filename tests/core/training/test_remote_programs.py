"""What a machine behind SSH lacks is told in the words of a local target, before a run exists."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.config.settings import SshTarget
from overbrainer_core.errors import TargetError, describe
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.executors.local import LocalExecutor
from overbrainer_core.training import axolotl, tiny
from overbrainer_core.training.programs import ProgramMissingError
from overbrainer_core.training.remote_programs import check_remote_engine, find_remote_program
from overbrainer_core.training.tiny import NumpyMissingError

NATIVE = SshTarget(name="box", runtime="native", host="h")
DOCKER = SshTarget(name="box", runtime="docker", host="h", image="me/it:1")


def stub(directory: Path, name: str, text: str) -> Path:
    """A program that is a script."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> LocalExecutor:
    """A machine whose home and programs are the test's own, but for the shell's."""
    programs = tmp_path / "bin"
    for name in ("sh", "tail"):
        programs.mkdir(exist_ok=True)
        (programs / name).symlink_to(shutil.which(name) or name)
    return LocalExecutor(tmp_path / "runs", environment={"PATH": str(programs), "HOME": str(tmp_path)})


async def test_a_program_on_path_is_found(machine: LocalExecutor, tmp_path: Path) -> None:
    program = stub(tmp_path / "bin", "axolotl", "")
    look = await find_remote_program("axolotl", target=NATIVE, executor=machine)
    assert look.path == str(program)
    await axolotl.TRAINER.check_remote(NATIVE, machine)


async def test_a_program_of_a_venv_in_the_home_is_found(machine: LocalExecutor, tmp_path: Path) -> None:
    program = stub(tmp_path / "it's" / "bin", "axolotl", "")
    target = replace(NATIVE, venv="~/it's/")
    assert (await find_remote_program("axolotl", target=target, executor=machine)).path == str(program)


@pytest.mark.parametrize(
    ("venv", "words"),
    [
        (None, "it is not on PATH; install it, or set targets.box.venv"),
        ("/v/", "/v/bin/axolotl is not there or cannot be run; install it there, or set targets.box.venv"),
        ("v", "v/bin/axolotl is a relative path; write targets.box.venv from / or ~/"),
    ],
)
async def test_a_missing_program_is_named(machine: LocalExecutor, venv: str | None, words: str) -> None:
    with pytest.raises(ProgramMissingError) as error:
        await axolotl.TRAINER.check_remote(replace(NATIVE, venv=venv), machine)
    assert str(error.value) == f"target `box` has no `axolotl`: {words}"


async def test_numpy_is_looked_for(machine: LocalExecutor, tmp_path: Path) -> None:
    with pytest.raises(ProgramMissingError, match="target `box` has no `python3`: it is not on PATH"):
        await tiny.TRAINER.check_remote(NATIVE, machine)
    python = stub(tmp_path / "bin", "python3", "exit 1")
    with pytest.raises(NumpyMissingError) as error:
        await tiny.TRAINER.check_remote(NATIVE, machine)
    assert str(error.value).startswith(f"the tiny trainer needs NumPy, which {python} cannot import: run ")
    stub(tmp_path / "bin", "python3", "echo numpy is here")
    await tiny.TRAINER.check_remote(NATIVE, machine)


async def test_an_engine_is_looked_at(machine: LocalExecutor, tmp_path: Path) -> None:
    with pytest.raises(ProgramMissingError) as error:
        await check_remote_engine(DOCKER, machine)
    assert str(error.value) == (
        "target `box` has no `docker`: it is not on PATH; install it, or set targets.box.runtime to native"
    )
    stub(tmp_path / "bin", "docker", 'echo "the daemon sleeps" >&2; exit 1')
    with pytest.raises(TargetError, match=r"^target `box`: `docker` cannot be used: the daemon sleeps$"):
        await check_remote_engine(DOCKER, machine)
    stub(tmp_path / "bin", "docker", '[ "$1" = version ]')
    (note,) = await check_remote_engine(DOCKER, machine)
    assert note.startswith("target `box`: docker has no image me/it:1 here and pulls it first; ")
    stub(tmp_path / "bin", "docker", "exit 0")
    assert await check_remote_engine(DOCKER, machine) == ()


class HangingMachine(LocalExecutor):
    """A machine whose probes take too long."""

    async def probe(self, script: str) -> bytes:
        """No answer."""
        await asyncio.sleep(0)
        raise CommandError.timed_out("probe", 20)


async def test_a_machine_that_gives_no_answer_is_told(tmp_path: Path) -> None:
    machine = HangingMachine(tmp_path / "runs", environment=dict(os.environ))
    for look in (
        find_remote_program("axolotl", target=NATIVE, executor=machine),
        check_remote_engine(DOCKER, machine),
    ):
        with pytest.raises(TargetError) as error:
            await look
        assert describe(error.value).endswith(" gave no answer: probe failed: timed out after 20 s")
