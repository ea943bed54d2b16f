"""The tiny trainer stopped, killed and resumed: snapshots, checkpoints, the same bits afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MakeRun = Callable[..., Any]
"""Makes a run directory from a name and changed settings."""
Prepare = Callable[..., Any]
"""Prepares a small training of a run directory."""
LIMIT_S = 15
"""Seconds that a test waits for a checkpoint, on a crowded machine."""


def test_a_request_ends_the_training_with_a_snapshot_and_a_model(
    make_run: MakeRun,
) -> None:
    run = make_run(saves_per_epoch=1)
    (run.path / "snapshot.request").write_text("deadline\n")
    code, out, _ = run.train()
    assert code == 0
    proof = json.loads((run.path / "snapshot.json").read_text())
    assert list(proof) == ["checkpoint", "step", "time", "reason"]
    assert (proof["checkpoint"], proof["step"], proof["reason"]) == (
        "output/checkpoint-1",
        1,
        "deadline",
    )
    assert isinstance(proof["time"], float)
    assert run.checkpoints() == ["checkpoint-1"]
    assert run.weights() == (run.path / "output" / "checkpoint-1" / "model.safetensors").read_bytes()
    assert run.lines()[-1]["event"] == "end"
    assert "stopped with a snapshot (deadline)" in out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"cost", "cost"),
        (b" disk\n", "disk"),
        (b"", "requested"),
        (b"\xff\xfe", "requested"),
        (b"whim", "requested"),
    ],
)
def test_a_request_of_any_content_counts(tiny: Any, tmp_path: Path, *, content: bytes, reason: str) -> None:
    path = tmp_path / "snapshot.request"
    snapshot = tiny.trainer.Snapshot(str(path))
    assert snapshot.reason() is None
    path.write_bytes(content)
    assert snapshot.reason() == reason


def test_a_request_at_the_last_step_is_ignored(make_run: MakeRun) -> None:
    run = make_run(epochs=1, gradient_accumulation_steps=6)
    (run.path / "snapshot.request").write_text("requested")
    assert run.train()[0] == 0
    assert run.checkpoints() == ["checkpoint-1"]
    assert not (run.path / "snapshot.json").exists()


def test_a_resume_from_any_step_gives_the_bits_of_the_uninterrupted_training(
    small_training: Prepare, tiny: Any, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = small_training(make_run("whole", epochs=3, gradient_accumulation_steps=1))
    assert whole.run(1)
    assert whole.max_steps == 18
    parts = make_run("parts", epochs=3, gradient_accumulation_steps=1)
    request = parts.path / "snapshot.request"
    request.write_text("requested")
    monkeypatch.setenv("OVERBRAINER_SNAPSHOT", str(request))
    checkpoint = None
    for step in range(1, 19):
        training = small_training(parts, resume_from_checkpoint=checkpoint)
        assert training.run(1 + step % 2)
        assert training.state.step == step
        checkpoint = str(parts.path / "output" / f"checkpoint-{step}")
    np.testing.assert_array_equal(whole.state.model.flat, training.state.model.flat)
    np.testing.assert_array_equal(whole.state.optimizer.m, training.state.optimizer.m)
    np.testing.assert_array_equal(whole.state.optimizer.v, training.state.optimizer.v)


def test_a_stopped_process_resumes_in_another_run_bit_for_bit(
    make_run: MakeRun,
) -> None:
    whole, stopped, resumed = make_run("whole"), make_run("stopped"), make_run("resumed")
    assert whole.train()[0] == 0
    (stopped.path / "snapshot.request").write_text("requested")
    assert stopped.train()[0] == 0
    shutil.copytree(stopped.path / "output" / "checkpoint-1", resumed.path / "resume" / "checkpoint-1")
    resumed.write_settings(resume_from_checkpoint="resume/checkpoint-1")
    code, out, _ = resumed.train()
    assert code == 0
    assert "resumed after step 1 of resume/checkpoint-1" in out
    assert [line["step"] for line in resumed.lines() if "loss" in line] == [2, 3, 4, 5, 6]
    assert resumed.weights() == whole.weights()


def test_a_killed_training_restarts_from_its_last_checkpoint_bit_for_bit(
    make_run: MakeRun,
) -> None:
    whole = make_run("whole", epochs=12)
    killed = make_run("killed", epochs=12)
    assert whole.train()[0] == 0
    with killed.start() as process:
        limit = time.monotonic() + LIMIT_S
        while not (killed.path / "output" / "checkpoint-9").exists():
            assert time.monotonic() < limit
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    steps = [int(name.split("-")[1]) for name in killed.checkpoints() if name.split("-")[1].isdigit()]
    assert max(steps) < 36
    killed.write_settings(resume_from_checkpoint=f"output/checkpoint-{max(steps)}")
    code, out, _ = killed.train()
    assert code == 0
    assert f"resumed after step {max(steps)} " in out
    assert killed.weights() == whole.weights()
    assert killed.checkpoints() == ["checkpoint-33", "checkpoint-36"]
    assert not list((killed.path / "output").glob("**/*.tmp"))
    assert not list((killed.path / "output").glob("**/.*.tmp"))


def test_a_checkpoint_of_a_finished_training_only_writes_the_model_again(
    make_run: MakeRun,
) -> None:
    run = make_run(epochs=1)
    assert run.train()[0] == 0
    weights = run.weights()
    (run.path / "output" / "model.safetensors").unlink()
    run.write_settings(resume_from_checkpoint="output/checkpoint-3")
    assert run.train()[0] == 0
    assert run.weights() == weights


def test_a_checkpoint_replaces_one_of_the_same_step(small_training: Prepare, tiny: Any, make_run: MakeRun) -> None:
    training = small_training(make_run())
    directory = Path(training.settings.output_dir) / "checkpoint-1"
    (directory / "old").mkdir(parents=True)
    tiny.trainer.save_checkpoint(directory, training.state, 0.5)
    assert not (directory / "old").exists()
    assert os.listdir(directory.parent) == ["checkpoint-1"]


def test_a_checkpoint_that_is_cut_off_has_no_name_yet(
    small_training: Prepare, tiny: Any, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = small_training(make_run())
    output = Path(training.settings.output_dir)

    def full(*_arguments: Any, **_arrays: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tiny.trainer.np, "savez", full)
    output.mkdir()
    with pytest.raises(OSError, match="No space"):
        tiny.trainer.save_checkpoint(output / "checkpoint-1", training.state, 0.5)
    assert os.listdir(output) == ["checkpoint-1.tmp"]
    tiny.trainer.drop_unfinished(output)
    assert os.listdir(output) == []


def test_the_checkpoint_just_saved_stays_whatever_else_lies_there(tiny: Any, tmp_path: Path) -> None:
    for name in (
        "checkpoint-5",
        "checkpoint-40",
        "checkpoint-60",
        "checkpoint-80",
        "checkpoint-x",
        "other",
    ):
        (tmp_path / name).mkdir()
    tiny.trainer.drop_checkpoints(tmp_path, 5)
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint-5",
        "checkpoint-80",
        "checkpoint-x",
        "other",
    ]
