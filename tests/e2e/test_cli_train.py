"""Trainings as a process: started, left, found again, stopped, resumed, cancelled, and everything that goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

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

pytestmark = pytest.mark.timeout(90)

GOOD = """
line(event="begin", time=1.0, max_steps=2)
line(event="log", time=1.0, step=1, max_steps=2, loss=2.0, epoch=0.5)
line(event="log", time=2.0, step=2, max_steps=2, loss=1.0, epoch=1.0)
line(event="end", time=3.0, step=2)
os.makedirs("output", exist_ok=True)
open("output/adapter_config.json", "w").write("{}")
"""

WAITS = """
line(event="begin", time=1.0, max_steps=100)
for step in range(1, 1000):
    line(event="log", time=float(step), step=step, max_steps=100, loss=1.0 / step)
    time.sleep(0.05)
"""


def doubled(tmp_path: Path, body: str) -> Path:
    """A project that trains with a double of Axolotl."""
    venv = make_venv(tmp_path / "venv", body)
    project = write_project(tmp_path / "p", training=AXOLOTL_TRAINING.format(venv=venv))
    write_split(project)
    return project


def tiny(tmp_path: Path, *, epochs: int) -> Path:
    """A project that trains with the embedded trainer."""
    project = write_project(tmp_path / "p", training=TINY_TRAINING.format(epochs=epochs))
    write_split(project, train=32, evaluation=4)
    return project


def records(project: Path) -> list[dict[str, Any]]:
    """The run records, by directory."""
    return [json.loads(path.read_text()) for path in sorted((project / "runs").glob("*/run.json"))]


def last(text: str) -> str:
    """The final line."""
    return text.strip().splitlines()[-1]


def metric_count(project: Path) -> int:
    """Lines of the only run's metrics file."""
    return sum(path.read_bytes().count(b"\n") for path in (project / "runs").glob("*/metrics.jsonl"))


def wait_for_steps(project: Path, count: int) -> str:
    """The ID of the run, once it wrote this many lines."""
    until(lambda: metric_count(project) >= count)
    return str(records(project)[-1]["id"])


def test_a_training_succeeds_with_its_lines(tmp_path: Path) -> None:
    project = doubled(tmp_path, GOOD)
    done = run(project, "train")
    assert done.returncode == 0, done.stderr
    (record,) = records(project)
    run_id = record["id"]
    assert done.stdout.splitlines() == [
        f"train: run {run_id} succeeded; step 2/2, epoch 1.00, loss 1.0000; output in runs/{run_id}/output",
        f"train: adapter in runs/{run_id}/output",
    ]
    assert record["state"] == "succeeded"
    assert "train: job running" in done.stderr
    listing = run(project, "runs", "ls")
    assert listing.stdout.startswith(f"{run_id}  succeeded  local  ")


def test_the_json_document_of_a_training(tmp_path: Path) -> None:
    project = doubled(tmp_path, GOOD)
    done = run(project, "train", "--json")
    document = json.loads(done.stdout)
    assert document["state"] == "succeeded"
    assert document["output"].endswith("/output")


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ('print("ModuleNotFoundError: No module named peft"); sys.exit(3)', 9, "the job exited with code 3"),
        (
            'for step in range(1, 51):\n    line(event="log", time=float(step), step=step, loss=1.0)\n'
            'sys.exit("CUDA out of memory")',
            9,
            "CUDA out of memory",
        ),
        ('os.makedirs("output"); open("output/x", "w").write("x")', 9, "the job wrote no metrics"),
        (GOOD.replace('os.makedirs("output", exist_ok=True)', "sys.exit(0)"), 9, "left no output"),
    ],
    ids=["dies-at-once", "dies-at-step-50", "no-metrics", "no-output"],
)
def test_a_training_that_fails_says_why(tmp_path: Path, body: str, code: int, words: str) -> None:
    project = doubled(tmp_path, body)
    done = run(project, "train")
    assert done.returncode == code
    assert words in last(done.stderr)
    assert "job.log" in last(done.stderr)
    assert records(project)[0]["state"] == "failed"
    assert "Traceback" not in done.stderr


def test_torn_and_odd_metric_lines_are_skipped(tmp_path: Path) -> None:
    lines = ['{"event":"log","time":1.0,"step":1,"loss":NaN}', '{"event":"log","ti', "61%|###|"]
    odd = f"open(metrics, 'a').write(chr(10).join({lines!r}) + chr(10))\n"
    done = run(doubled(tmp_path, odd + GOOD), "train")
    assert done.returncode == 0, done.stderr
    assert "loss 1.0000" in done.stdout
    assert "malformed metrics line" in done.stderr
    assert "nan" not in done.stdout.lower()


def test_a_venv_without_axolotl_leaves_no_run(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    project = write_project(tmp_path / "p", training=AXOLOTL_TRAINING.format(venv=tmp_path / "venv"))
    write_split(project)
    done = run(project, "train")
    assert done.returncode == 8
    assert f"{tmp_path}/venv/bin/axolotl" in last(done.stderr)
    assert not list(project.glob("runs/*"))


def test_a_training_without_data_leaves_no_run(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", training=TINY_TRAINING.format(epochs=1))
    done = run(project, "train")
    assert "has no example: run `overbrainer split` first" in last(done.stderr)
    assert done.returncode == 3
    assert not list(project.glob("runs/*"))


def test_ctrl_c_leaves_the_job_running_and_attach_finds_it(tmp_path: Path) -> None:
    project = tiny(tmp_path, epochs=12)
    process = start(project, "train")
    run_id = wait_for_steps(project, 5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert last(stderr) == (
        f"error: interrupted: run {run_id} keeps running on target `local`; "
        f"follow it again with `overbrainer train attach {run_id}`"
    )
    assert records(project)[0]["state"] == "running"
    done = run(project, "train", "attach", run_id)
    assert done.returncode == 0, done.stderr
    assert f"train: run {run_id} succeeded; step 192/192" in done.stdout
    again = run(project, "train", "attach", run_id)
    assert again.stdout == done.stdout


def test_a_kill_of_the_program_does_not_touch_the_job(tmp_path: Path) -> None:
    project = tiny(tmp_path, epochs=8)
    process = start(project, "train")
    run_id = wait_for_steps(project, 5)
    process.kill()
    process.communicate()
    done = run(project, "train", "attach", run_id)
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in (project / "runs" / run_id / "metrics.jsonl").read_text().splitlines()]
    losses = [step["step"] for step in steps if step["event"] == "log" and "loss" in step]
    assert losses == list(range(1, 129))


def test_a_stop_beside_the_follower_saves_a_snapshot_that_resumes(tmp_path: Path) -> None:
    project = tiny(tmp_path, epochs=40)
    process = start(project, "train")
    run_id = wait_for_steps(project, 10)
    beside = run(project, "train", "stop", run_id)
    assert beside.returncode == 0, beside.stderr
    assert f"overbrainer (pid {process.pid}) is using this project" in beside.stdout
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert f"resume with `overbrainer train --resume-from {run_id}`" in stdout
    step = records(project)[0]["snapshot"]["step"]
    resumed = run(project, "train", "--resume-from", run_id, limit_s=80)
    assert resumed.returncode == 0, resumed.stderr
    new = records(project)[-1]
    assert new["resumed_from"] == run_id
    lines = (project / "runs" / new["id"] / "metrics.jsonl").read_text().splitlines()
    first = next(json.loads(line) for line in lines if '"log"' in line)
    assert first["step"] == step + 1


def test_a_cancel_ends_the_job_and_is_recorded(tmp_path: Path) -> None:
    project = doubled(tmp_path, WAITS)
    process = start(project, "train")
    run_id = wait_for_steps(project, 3)
    beside = run(project, "train", "cancel", run_id)
    assert beside.returncode == 0, beside.stderr
    assert beside.stdout == f"train: run {run_id} cancelled\n"
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 9
    assert last(stderr) == f"error: run {run_id} was cancelled"
    assert f"train: run {run_id} cancelled" in stdout
    assert records(project)[0]["state"] == "cancelled"
    again = run(project, "train", "cancel", run_id)
    assert last(again.stderr) == f"error: run {run_id} already ended: cancelled"


def test_a_run_directory_deleted_under_a_job_names_its_group(tmp_path: Path) -> None:
    project = doubled(tmp_path, 'line(event="begin", time=1.0)\ntime.sleep(60)\n')
    process = start(project, "train")
    wait_for_steps(project, 2)
    until(lambda: records(project)[0]["job"] is not None)
    pid = records(project)[0]["job"]["pid"]
    try:
        shutil.rmtree(project / "runs")
        _, stderr = process.communicate(timeout=60)
        assert process.returncode != 0
        assert str(pid) in stderr
        assert "Traceback" not in stderr
    finally:
        end_group(pid)


def test_unknown_runs_and_targets_are_told(tmp_path: Path) -> None:
    project = doubled(tmp_path, GOOD)
    for arguments in (("attach", "nope_1"), ("stop", "nope_1"), ("cancel", "nope_1")):
        done = run(project, "train", *arguments)
        assert done.returncode == 1
        assert "no run `nope_1`" in last(done.stderr)
    done = run(project, "train", "--target", "lokal")
    assert "unknown target `lokal`" in last(done.stderr)
    assert "local" in last(done.stderr)
    assert not list(project.glob("runs/*"))


def test_logs_are_masked_and_quiet_when_there_are_none(tmp_path: Path) -> None:
    project = doubled(tmp_path, 'print("HF_TOKEN=hf_abcdefghijklmnop \\x1b[2Jx")\n' + GOOD)
    run(project, "train")
    run_id = str(records(project)[0]["id"])
    done = run(project, "runs", "logs", run_id)
    assert done.returncode == 0
    assert "hf_abcdefghijklmnop" not in done.stdout
    assert "\x1b" not in done.stdout
    os.remove(project / "runs" / run_id / "job.log")
    missing = run(project, "runs", "logs", run_id)
    assert (missing.returncode, missing.stdout) == (0, "")
    assert missing.stderr == f"runs: no job.log for run {run_id} yet\n"


def test_a_full_disk_keeps_what_there_is(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    project = doubled(tmp_path, GOOD)
    (project / "data" / "train.jsonl").unlink()
    (project / "data" / "train.jsonl").symlink_to("/dev/full")
    done = run(project, "train")
    assert done.returncode in (1, 3)
    assert "Traceback" not in done.stderr
