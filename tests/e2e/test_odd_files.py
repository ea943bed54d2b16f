"""The program in a project where something else stands in the place of a file or a directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.peers.llm_api import Answer, list_or_answer, llm_api
from tests.peers.program import AXOLOTL_TRAINING, run, start, until, write_project, write_split
from tests.peers.trainer_double import make_venv

pytestmark = pytest.mark.timeout(120)

GOOD = """
line(event="begin", time=1.0, max_steps=1)
line(event="log", time=1.0, step=1, max_steps=1, loss=2.0, epoch=1.0)
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that trains with a double of Axolotl."""
    venv = make_venv(tmp_path / "venv", GOOD)
    root = write_project(tmp_path / "p", training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(root)
    return root


def last(text: str) -> str:
    """The final line."""
    return text.strip().splitlines()[-1]


def make_file(path: Path) -> None:
    """A regular file."""
    path.write_text("x")


def make_link(path: Path) -> None:
    """A link to nothing."""
    path.symlink_to("/nowhere/at/all")


def make_device(path: Path) -> None:
    """A link to a file without an end."""
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [make_file, make_link])
def test_no_directory_of_runs_is_one_error_line(project: Path, make: Callable[[Path], None]) -> None:
    make(project / "runs")
    for arguments in (
        ("train",),
        ("train", "attach", "e2e_1"),
        ("train", "cancel", "e2e_1"),
        ("runs", "logs", "e2e_1"),
    ):
        done = run(project, *arguments)
        assert done.returncode != 0
        assert last(done.stderr).startswith("error: ")
        assert "Traceback" not in done.stderr
    assert os.path.lexists(project / "runs")
    assert not (project / "runs").is_dir()


def test_a_linked_directory_of_runs_is_used(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project / "runs").symlink_to(tmp_path / "elsewhere")
    assert run(project, "train").returncode == 0
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


@pytest.mark.parametrize("make", [make_file, lambda path: path.symlink_to("/tmp")])
def test_no_state_directory_is_refused_and_nothing_is_written_through_it(
    project: Path, make: Callable[[Path], None]
) -> None:
    shutil.rmtree(project / ".overbrainer")
    make(project / ".overbrainer")
    for arguments in (("train",), ("split",), ("train", "attach", "e2e_1")):
        done = run(project, *arguments)
        assert done.returncode == 3
        assert last(done.stderr) == f"error: refusing to use {project}/.overbrainer: it is not a safe lock path"
    assert run(project, "runs", "ls").returncode == 0
    assert not (project / "runs").exists()


@pytest.mark.parametrize("name", ["job.log", "metrics.jsonl", "run.json", "axolotl.yaml"])
@pytest.mark.parametrize("make", [os.mkfifo, make_device])
def test_an_odd_file_of_an_ended_run_hangs_no_command(project: Path, name: str, make: Callable[[Path], None]) -> None:
    assert run(project, "train").returncode == 0
    (run_dir,) = (project / "runs").iterdir()
    (run_dir / name).unlink(missing_ok=True)
    make(run_dir / name)
    for arguments in (
        ("train", "attach", run_dir.name),
        ("runs", "ls", "--json"),
        ("runs", "logs", run_dir.name),
    ):
        done = run(project, *arguments, limit_s=40)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 3)


def test_a_read_only_project_can_be_looked_at(project: Path) -> None:
    assert run(project, "train").returncode == 0
    (run_dir,) = (project / "runs").iterdir()
    bind = ["mount", "--bind", str(project), str(project)]
    if os.getuid() != 0 or subprocess.run(bind, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system has no file system that a test may mount")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(project)], check=True)
        for arguments in (("runs", "ls"), ("runs", "logs", run_dir.name), ("history",), ("config", "check")):
            assert run(project, *arguments).returncode == 0
        for arguments in (("train",), ("split",), ("train", "cancel", run_dir.name)):
            done = run(project, *arguments)
            assert done.returncode == 3
            assert last(done.stderr) == f"error: cannot lock {project}/.overbrainer/lock: Read-only file system"
    finally:
        subprocess.run(["umount", str(project)], check=True)


def test_answers_that_are_paid_for_survive_the_deletion_of_the_data_directory(tmp_path: Path) -> None:
    gate = threading.Event()
    served = 0

    def reply(request: dict[str, Any]) -> Answer:
        nonlocal served
        if request["model"] == "parent":
            served += 1
            if served > 2:
                gate.wait(20)
        return list_or_answer(request)

    with llm_api(reply) as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        run(project, "questions")
        process = start(project, "answers")
        path = project / "data" / "answers.jsonl"
        until(lambda: path.exists() and path.read_bytes().count(b"\n") == 2)
        shutil.rmtree(project / "data")
        gate.set()
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 0
    assert f"{path} was deleted or replaced while it was written" in stderr
    assert len({json.loads(line)["id"] for line in path.read_text().splitlines()}) == 4
