"""Programs of a local target, looked at before a run exists."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.config.settings import LocalTarget, Training
from overbrainer_core.errors import TargetError
from overbrainer_core.training.axolotl import TRAINER
from overbrainer_core.training.programs import ProgramMissingError, check_engine, check_program, venv_program

NATIVE = LocalTarget(name="here", runtime="native")


def program(directory: Path, name: str, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    """An executable file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_venv_in_the_home_directory_is_found_there() -> None:
    assert venv_program("~/v//", "axolotl", {"HOME": "/home/me"}) == "/home/me/v/bin/axolotl"
    assert venv_program("~", "axolotl", {"HOME": "/home/me"}) == "/home/me/bin/axolotl"
    assert venv_program("/opt/v", "axolotl", {}) == "/opt/v/bin/axolotl"


def test_a_program_on_path_or_in_the_venv_is_accepted(tmp_path: Path) -> None:
    program(tmp_path / "bin", "axolotl")
    check_program("axolotl", target=NATIVE, environment={"PATH": str(tmp_path / "bin")})
    venv = LocalTarget(name="here", runtime="native", venv=str(tmp_path))
    check_program("axolotl", target=venv, environment={})


@pytest.mark.parametrize(
    ("venv", "words"),
    [
        (None, "target `here` has no `axolotl`: it is not on PATH; install it, or set targets.here.venv"),
        ("venv", "target `here` has no `axolotl`: venv/bin/axolotl is a relative path"),
        ("/no", "target `here` has no `axolotl`: /no/bin/axolotl is not there or cannot be run"),
    ],
)
async def test_a_missing_program_is_named_with_the_way_out(venv: str | None, words: str) -> None:
    target = LocalTarget(name="here", runtime="native", venv=venv)
    training = Training(target="here", base_model="m", adapter="lora")
    with pytest.raises(ProgramMissingError) as error:
        await TRAINER.check_programs(training, target, {"PATH": "/nowhere"})
    assert str(error.value).startswith(words)


async def test_axolotl_is_not_looked_for_around_a_container() -> None:
    training = Training(target="here", base_model="m", adapter="lora")
    await TRAINER.check_programs(training, LocalTarget(name="here", runtime="docker"), {"PATH": "/nowhere"})


def test_a_file_that_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "axolotl")
    path.chmod(0o644)
    if os.access(path, os.X_OK):  # pragma: no cover  # a system whose root may run anything
        pytest.skip("this system has no file that root may not run")
    with pytest.raises(ProgramMissingError):
        check_program("axolotl", target=LocalTarget(name="here", runtime="native", venv=str(tmp_path)), environment={})


DOCKER = LocalTarget(name="box", runtime="docker", engine="docker")


async def test_a_missing_engine_is_named_before_a_run_exists() -> None:
    with pytest.raises(ProgramMissingError, match="target `box` has no `docker`: it is not on PATH"):
        await check_engine(DOCKER, environment={"PATH": "/nowhere"}, timeout_s=5)


async def test_an_engine_that_answers_is_accepted(tmp_path: Path) -> None:
    program(tmp_path, "docker", '#!/bin/sh\n[ "$1" = version ]\n')
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    (note,) = await check_engine(DOCKER, environment=environment, timeout_s=5)
    assert note.startswith(f"target `box`: docker has no image {DOCKER.image} here and pulls it first; nothing is ")


@pytest.mark.parametrize(("engine", "check"), [("docker", "version"), ("podman", "info")])
async def test_an_image_that_is_here_needs_no_word(engine: str, check: str, tmp_path: Path) -> None:
    text = f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n'
    program(tmp_path, engine, text)
    target = LocalTarget(name="box", runtime="docker", engine=engine, image="me/it:1")
    assert await check_engine(target, environment={"PATH": f"{tmp_path}:{os.defpath}"}, timeout_s=5) == ()
    assert (tmp_path / "calls").read_text() == f"{check}\nimage inspect me/it:1\n"


async def test_an_engine_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    program(tmp_path, "docker", "#!/bin/sh\necho hello\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    with pytest.raises(TargetError, match=r"`docker` cannot be used: Cannot connect to the Docker daemon$"):
        await check_engine(DOCKER, environment={"PATH": f"{tmp_path}:{os.defpath}"}, timeout_s=5)


async def test_an_engine_that_never_answers_is_given_up(tmp_path: Path) -> None:
    program(tmp_path, "docker", "#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(TargetError, match="`docker version` gave no answer"):
        await check_engine(DOCKER, environment={"PATH": f"{tmp_path}:{os.defpath}"}, timeout_s=0.2)
