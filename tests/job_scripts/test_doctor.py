"""The doctor's looks, run for real under every shell: what is there is told, what is not leaves its part empty."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from overbrainer_core.assets import job_script, job_scripts_dir
from overbrainer_core.executors.scripts import shell_text
from overbrainer_core.system.probe import split_parts
from tests.peers.shells import Shell, every_shell, run_script, shells_with_path


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="no shellcheck here")
@pytest.mark.parametrize("name", ["machine", "engine", "program"])
def test_the_script_is_clean(name: str) -> None:
    script = str(job_scripts_dir() / "doctor" / f"{name}.sh")
    done = subprocess.run(["shellcheck", "-s", "sh", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def stub(directory: Path, name: str, body: str) -> Path:
    """A program of this name."""
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def look(
    shell: Shell, name: str, *parameters: str, programs: Path | None = None, home: Path | None = None
) -> dict[str, str]:
    """The parts of an answer, with these programs found first."""
    path = os.environ["PATH"] if programs is None else f"{programs}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(home or Path.home())}
    done = run_script(shell, shell_text(parameters, f"doctor/{name}.sh"), env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return split_parts(done.stdout.encode())


@every_shell
def test_the_nearest_directory_that_exists_is_told_and_nothing_is_made(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    parts = look(shell, "machine", str(tmp_path / "a b" / "runs" / "deep"))
    assert parts["directory"] == str(tmp_path / "a b")
    assert parts["writable"] == "yes"
    assert (
        parts["system"] == subprocess.run(["uname", "-sm"], capture_output=True, text=True, check=True).stdout.strip()
    )
    assert list(tmp_path.iterdir()) == [tmp_path / "a b"]
    assert list((tmp_path / "a b").iterdir()) == []


@every_shell
@pytest.mark.parametrize(
    ("given", "found"), [("work", ""), ("~", ""), ("~/work", ""), ("there/it's", "there"), ("/", "/"), ("/none", "/")]
)
def test_a_relative_directory_counts_from_the_home(shell: Shell, tmp_path: Path, given: str, found: str) -> None:
    (tmp_path / "there").mkdir()
    expected = found if found.startswith("/") else str(tmp_path / found)
    assert look(shell, "machine", given, home=tmp_path)["directory"] == expected


@every_shell
def test_no_driver_leaves_no_driver(shell: Shell, tmp_path: Path) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a driver")
    parts = look(shell, "machine", str(tmp_path))
    assert "driver" not in parts
    assert parts["missing"] == ""


SMI = """case "$*" in
*driver_version*) echo 580.65.06; echo 580.65.06 ;;
*) printf '| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0     |\\n' ;;
esac"""


@shells_with_path
def test_the_driver_and_its_cuda_are_told(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "nvidia-smi", SMI)
    parts = look(shell, "machine", str(tmp_path), programs=tmp_path / "bin")
    assert (parts["driver"], parts["cuda"]) == ("580.65.06", "13.0")


@shells_with_path
def test_a_driver_in_trouble_gives_a_sentence_and_no_cuda(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA-SMI has failed because...'; exit 9")
    parts = look(shell, "machine", str(tmp_path), programs=tmp_path / "bin")
    assert parts["cuda"] == ""


@shells_with_path
def test_missing_tools_are_named(shell: Shell, tmp_path: Path) -> None:
    only = tmp_path / "bin"
    only.mkdir()
    for name in ("uname", "tar", "find", "nohup"):
        (only / name).symlink_to(shutil.which(name) or "/nonexistent")
    where = shutil.which(shell[0]) or ""
    done = run_script((where, *shell[1:]), shell_text([str(tmp_path)], "doctor/machine.sh"), env={"PATH": str(only)})
    assert split_parts(done.stdout.encode())["missing"] == "setsid sha256sum"


DOCKER = """case "$1 $2" in
"version --format") echo 28.2.2 ;;
"version "*) echo fine ;;
"image inspect") [ "$4" = "here:1" ] ;;
esac"""


@shells_with_path
@pytest.mark.parametrize(("image", "found"), [("here:1", "there"), ("other:1", "absent")])
def test_an_engine_and_its_image(shell: Shell, tmp_path: Path, image: str, found: str) -> None:
    stub(tmp_path / "bin", "docker", DOCKER)
    stub(tmp_path / "bin", "nvidia-ctk", "")
    parts = look(shell, "engine", "docker", image, programs=tmp_path / "bin")
    assert (parts["engine"], parts["version"], parts["image"]) == ("usable", "28.2.2", found)
    assert "nvidia-ctk" in parts["nvidia"].split()


@shells_with_path
def test_an_engine_that_cannot_be_used_says_why(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "podman", "echo one >&2; echo 'permission denied' >&2; exit 125")
    parts = look(shell, "engine", "podman", "x", programs=tmp_path / "bin")
    assert (parts["engine"], parts["reason"]) == ("refused", "permission denied")
    assert "image" not in parts


@every_shell
def test_an_engine_that_is_not_there(shell: Shell) -> None:
    assert look(shell, "engine", "no-such-engine", "x") == {"engine": "absent"}


@every_shell
def test_a_program_by_its_path_below_the_home(shell: Shell, tmp_path: Path) -> None:
    stub(tmp_path / "bin", "it's here", "")
    assert look(shell, "program", "~/bin/it's here", "", "", home=tmp_path) == {"program": f"{tmp_path}/bin/it's here"}
    (tmp_path / "bin" / "it's here").chmod(0o644)
    assert look(shell, "program", "~/bin/it's here", "", "", home=tmp_path) == {"program": ""}
    assert look(shell, "program", f"{tmp_path}/bin", "", "") == {"program": ""}


@every_shell
def test_a_python_beside_it_runs_its_code(shell: Shell) -> None:
    parts = look(shell, "program", "no-such-program", sys.executable, "print('numpy', '2.4')\nprint('b')")
    assert parts == {"program": "", "python": sys.executable, "answer": "numpy 2.4\nb"}
    parts = look(shell, "program", "sh", sys.executable, "import no_such_module")
    assert parts["answer"] == ""
    assert parts["program"]


@every_shell
def test_versions_are_told_without_an_import(shell: Shell, tmp_path: Path) -> None:
    info = tmp_path / "site" / "torch-2.14.1+cu130.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1+cu130\n")
    python = stub(tmp_path, "python", f'PYTHONPATH="{info.parent}" exec {sys.executable} -S "$@"')
    parts = look(shell, "program", "sh", str(python), job_script("doctor/versions.py"))
    assert parts["answer"] == "torch 2.14.1+cu130"
