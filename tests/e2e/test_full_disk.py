"""The program on a disk that is full at one moment or another: one error line, nothing torn, nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.series_kills import processes_in
from tests.peers.llm_api import Answer, completion, list_or_answer, llm_api
from tests.peers.program import (
    AXOLOTL_TRAINING,
    TINY_TRAINING,
    end_group,
    run,
    start,
    until,
    write_project,
    write_split,
)
from tests.peers.trainer_double import make_venv

pytestmark = pytest.mark.timeout(120)

GOOD = """
line(event="begin", time=1.0, max_steps=1)
line(event="log", time=1.0, step=1, max_steps=1, loss=2.0, epoch=1.0)
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""

FILLS = """
line(event="begin", time=1.0, max_steps=1)
line(event="log", time=1.0, step=1, max_steps=1, loss=2.0, epoch=1.0)
os.makedirs("output", exist_ok=True)
with open("output/model", "wb", buffering=0) as handle:
    while True:
        handle.write(b"x" * 4096)
"""

FILLS_AND_WAITS = """
line(event="begin", time=1.0, max_steps=1)
try:
    with open("output", "wb", buffering=0) as handle:
        while True:
            handle.write(b"x" * 4096)
except OSError:
    time.sleep(100)
"""

Disk = Callable[[int], None]


class SmallDisk:
    """A file system of one MiB."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def leave(self, free: int) -> None:
        """Fill it until so many bytes are free."""
        (self.root / "ballast").unlink(missing_ok=True)
        found = os.statvfs(self.root)
        with open(self.root / "ballast", "wb") as handle:
            handle.write(b"x" * max(found.f_bavail * found.f_frsize - free, 0))

    def clear(self) -> None:
        """Give the room back."""
        (self.root / "ballast").unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small file system of its own, mounted while the test runs."""
    root = tmp_path / "disk"
    root.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(root)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system has no file system that a test may mount")
    try:
        yield SmallDisk(root)
    finally:
        for group in set(processes_in(root).values()):
            end_group(group)
        for _ in range(50):
            if subprocess.run(["umount", str(root)], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(["umount", "-l", str(root)], check=True)


def doubled(disk: SmallDisk, tmp_path: Path, body: str) -> Path:
    """A project on the disk that trains with a double of Axolotl."""
    venv = make_venv(tmp_path / "venv", body)
    project = write_project(disk.root / "p", training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(project)
    return project


def records(project: Path) -> list[dict[str, Any]]:
    """The run records, by directory."""
    return [json.loads(path.read_text()) for path in sorted((project / "runs").glob("*/run.json"))]


def last(text: str) -> str:
    """The final line."""
    return text.strip().splitlines()[-1]


def leftovers(project: Path) -> list[str]:
    """Temporary files of ours."""
    return [str(path.relative_to(project)) for path in project.rglob(".*.tmp")]


def long_answers(request: dict[str, Any]) -> Answer:
    """Lists for the generator, answers of some kilobytes for the parent."""
    return list_or_answer(request) if request["model"] == "generator" else completion("An answer. " * 600)


@pytest.mark.parametrize("free", [0, 4096, 8192, 16384])
def test_answers_are_whole_or_not_there_and_the_next_run_goes_on(disk: SmallDisk, free: int) -> None:
    with llm_api(long_answers) as endpoint:
        project = write_project(disk.root / "p", base_url=endpoint.base_url)
        assert run(project, "questions").returncode == 0
        disk.leave(free)
        done = run(project, "answers")
        path = project / "data" / "answers.jsonl"
        assert done.returncode == 3
        assert last(done.stderr) == f"error: cannot access {path}: No space left on device"
        kept = path.read_bytes()
        assert kept == b"" or kept.endswith(b"\n")
        assert len(kept.splitlines()) == free // 8192
        disk.clear()
        assert run(project, "answers").returncode == 0
    lines = path.read_bytes()
    assert lines.startswith(kept)
    assert len({json.loads(line)["id"] for line in lines.splitlines()}) == 6


@pytest.mark.parametrize("free", [0, 4096, 24576])
def test_a_split_that_does_not_fit_changes_neither_file(disk: SmallDisk, free: int) -> None:
    with llm_api(long_answers) as endpoint:
        project = write_project(disk.root / "p", base_url=endpoint.base_url)
        assert run(project, "run").returncode == 0
    files = [project / "data" / name for name in ("train.jsonl", "eval.jsonl")]
    before = [path.read_bytes() for path in files]
    disk.leave(free)
    done = run(project, "split")
    assert done.returncode == 3
    assert last(done.stderr).endswith("No space left on device")
    assert [path.read_bytes() for path in files] == before
    assert leftovers(project) == []


@pytest.mark.parametrize("free", range(4096, 45056, 8192))
def test_a_start_without_room_leaves_no_job_and_no_half_file(disk: SmallDisk, tmp_path: Path, free: int) -> None:
    project = doubled(disk, tmp_path, "time.sleep(60)\n")
    (project / "runs").mkdir()
    (project / ".overbrainer" / "lock").touch()
    disk.leave(free)
    process = start(project, "train")
    until(lambda: process.poll() is not None or [record["state"] for record in records(project)] == ["running"])
    if process.poll() is None:
        disk.clear()
        assert run(project, "train", "cancel", records(project)[0]["id"]).returncode == 0
        process.communicate(timeout=30)
        return
    _, stderr = process.communicate(timeout=30)
    assert process.returncode in (3, 8)
    assert last(stderr).startswith("error: cannot ")
    assert last(stderr).endswith("No space left on device")
    assert processes_in(project) == {}
    assert leftovers(project) == []
    assert run(project, "runs", "ls").returncode == 0
    disk.clear()
    (tmp_path / "venv" / "bin" / "axolotl").write_text("#!/bin/sh\nexit 3\n")
    assert run(project, "train").returncode == 9
    assert {record["state"] for record in records(project)} <= {"failed", "cancelled"}


def test_a_job_that_fills_the_disk_ends_with_its_code_and_its_reason(disk: SmallDisk, tmp_path: Path) -> None:
    project = doubled(disk, tmp_path, FILLS)
    done = run(project, "train")
    assert done.returncode == 9, done.stderr
    (record,) = records(project)
    assert record["state"] == "failed"
    assert "the job exited with code 1" in record["message"]
    assert record["message"].endswith("; the disk of runs/ is full")
    assert (project / "runs" / record["id"] / "exit_code").read_text().strip() in record["message"]


def test_a_job_that_fills_the_disk_and_goes_on_can_be_cancelled(disk: SmallDisk, tmp_path: Path) -> None:
    project = doubled(disk, tmp_path, FILLS_AND_WAITS)
    process = start(project, "train")
    until(lambda: os.statvfs(disk.root).f_bavail == 0 and [r["state"] for r in records(project)] == ["running"])
    process.kill()
    process.communicate()
    done = run(project, "train", "cancel", records(project)[0]["id"])
    assert done.returncode == 0, done.stderr
    assert records(project)[0]["state"] == "cancelled"
    assert processes_in(project) == {}


def test_a_tiny_training_on_a_full_disk_says_so_and_leaves_no_half_checkpoint(disk: SmallDisk) -> None:
    project = write_project(disk.root / "p", training=TINY_TRAINING.format(epochs=40))
    write_split(project, train=8, evaluation=2)
    done = run(project, "train")
    assert done.returncode == 9, done.stderr
    assert "the disk of runs/ is full" in last(done.stderr)
    (record,) = records(project)
    assert record["state"] == "failed"
    for path in (project / "runs" / record["id"] / "output").glob("checkpoint-*"):
        assert path.suffix == ".tmp" or (path / "state.json").exists()
