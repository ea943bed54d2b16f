"""Several overbrainer processes on one project at the same moment."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.series_kills import BODY, processes_in
from tests.peers.program import AXOLOTL_TRAINING, run, start, until, write_project, write_split
from tests.peers.trainer_double import make_venv

pytestmark = pytest.mark.timeout(120)

STUBBORN = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
line(event="begin", time=1.0, max_steps=9)
line(event="log", time=1.0, step=1, max_steps=9, loss=1.0)
while True:
    time.sleep(1)
"""

PARENT = """
import subprocess
line(event="begin", time=1.0, max_steps=1)
line(event="log", time=1.0, step=1, max_steps=1, loss=1.0)
subprocess.Popen(["sleep", "60"], cwd=os.getcwd())
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A directory whose processes are ended with the test."""
    yield tmp_path
    for group in set(processes_in(tmp_path).values()):
        os.killpg(group, signal.SIGKILL)


def project_in(root: Path, body: str = BODY) -> Path:
    """A project that trains with this double."""
    venv = make_venv(root / "venv", body)
    project = write_project(root / "p", training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(project)
    return project


def records(project: Path) -> list[dict[str, Any]]:
    """The run records, by directory."""
    return [json.loads(path.read_text()) for path in sorted((project / "runs").glob("*/run.json"))]


def left_running(project: Path) -> str:
    """The ID of a run that goes on without a follower."""
    process = start(project, "train")
    until(lambda: any((project / "runs").glob("*/metrics.jsonl")) and records(project)[0]["state"] == "running")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    return str(records(project)[0]["id"])


def together(project: Path, *commands: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """Start the commands at once and wait for all of them."""
    processes = [start(project, *command) for command in commands]
    done = []
    for command, process in zip(commands, processes, strict=True):
        stdout, stderr = process.communicate(timeout=90)
        assert "Traceback" not in stderr, stderr
        done.append(subprocess.CompletedProcess(command, process.returncode, stdout, stderr))
    return done


def test_two_trainings_at_once_are_one_training_and_one_refusal(root: Path) -> None:
    project = project_in(root)
    first, second = start(project, "train"), start(project, "train")
    until(lambda: any((project / "runs").glob("*/metrics.jsonl")))
    until(lambda: None not in (first.poll(), second.poll()) or 4 in (first.poll(), second.poll()))
    (run_dir,) = (project / "runs").iterdir()
    (run_dir / "go").touch()
    codes = []
    for process in (first, second):
        _, stderr = process.communicate(timeout=60)
        assert "Traceback" not in stderr
        codes.append(process.returncode)
    assert sorted(codes) == [0, 4]
    assert [record["state"] for record in records(project)] == ["succeeded"]


def test_two_attaches_at_once_are_one_follow_and_one_refusal(root: Path) -> None:
    project = project_in(root)
    run_id = left_running(project)
    first, second = start(project, "train", "attach", run_id), start(project, "train", "attach", run_id)
    until(lambda: 4 in (first.poll(), second.poll()))
    (project / "runs" / run_id / "go").touch()
    assert sorted(process.wait(60) for process in (first, second)) == [0, 4]
    for process in (first, second):
        process.communicate()
    assert records(project)[0]["state"] == "succeeded"


def test_cancels_at_the_same_moment_end_the_job_once(root: Path) -> None:
    project = project_in(root)
    run_id = left_running(project)
    done = together(project, *itertools.repeat(("train", "cancel", run_id), 3))
    assert any(process.returncode == 0 and "cancelled" in process.stdout for process in done)
    for process in done:
        told = process.stdout + process.stderr
        assert process.returncode == 0 or f"run {run_id} already ended: cancelled" in told, told
    assert processes_in(project) == {}
    run(project, "train", "attach", run_id)
    assert records(project)[0]["state"] == "cancelled"


def test_a_stop_and_a_cancel_at_the_same_moment_end_the_job(root: Path) -> None:
    project = project_in(root)
    run_id = left_running(project)
    together(project, ("train", "stop", run_id), ("train", "cancel", run_id), ("train", "attach", run_id))
    run(project, "train", "attach", run_id)
    assert records(project)[0]["state"] in ("cancelled", "stopped")
    assert processes_in(project) == {}


def test_a_job_that_ignores_the_request_to_end_is_killed(root: Path) -> None:
    project = project_in(root, STUBBORN)
    run_id = left_running(project)
    done = run(project, "train", "cancel", run_id, limit_s=90)
    assert done.returncode == 0, done.stderr
    assert records(project)[0]["state"] == "cancelled"
    assert processes_in(project) == {}


def test_a_child_that_outlives_its_job_is_named_with_its_group(root: Path) -> None:
    project = project_in(root, PARENT)
    done = run(project, "train")
    assert done.returncode == 0, done.stderr
    (record,) = records(project)
    group = record["job"]["pid"]
    assert set(processes_in(project).values()) == {group}
    assert (
        f"process group {group} is still alive; if it is this job's, end it with: kill -s TERM -- -{group}"
        in done.stderr
    )


def test_a_recycled_process_id_is_neither_followed_nor_signalled(root: Path) -> None:
    project = project_in(root)
    run_id = left_running(project)
    directory = project / "runs" / run_id
    os.killpg(records(project)[0]["job"]["pid"], signal.SIGKILL)
    until(lambda: not processes_in(project))
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        record = records(project)[0]
        record["job"]["pid"] = stranger.pid
        (directory / "run.json").write_text(json.dumps(record))
        cancelled = run(project, "train", "cancel", run_id)
        assert stranger.poll() is None
        assert "Traceback" not in cancelled.stderr
        attached = run(project, "train", "attach", run_id)
        assert stranger.poll() is None
        assert attached.returncode == 9
    finally:
        stranger.kill()
        stranger.wait()
