"""The tiny trainer: its lines, checkpoints, snapshots and exact resumes, also as a process."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MakeRun = Callable[..., Any]
"""Makes a run directory from a name and changed settings."""
Prepare = Callable[..., Any]
"""Prepares a small training of a run directory."""
SCRIPTS = ("tiny_trainer.py", "tiny_model.py", "tiny_tokenizer.py", "tiny_files.py")
# A whole training


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_parses_as_python_3_8(tiny: Any, script: str) -> None:
    assert ast.parse((tiny.directory / script).read_text(), feature_version=(3, 8)).body


def test_a_training_leaves_lines_checkpoints_and_a_model(
    make_run: MakeRun,
) -> None:
    run = make_run(saves_per_epoch=3, evals_per_epoch=3)
    code, out, err = run.train()
    assert (code, err) == (0, "")
    lines = run.lines()
    assert lines[0]["event"] == "begin"
    assert lines[0]["max_steps"] == 6
    assert lines[-1] == {"event": "end", "time": lines[-1]["time"], "step": 6}
    assert all(isinstance(line["time"], float) for line in lines)
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4, 5, 6]
    assert [line["epoch"] for line in steps] == pytest.approx([1 / 3, 2 / 3, 1, 4 / 3, 5 / 3, 2], abs=1e-3)
    assert all({"learning_rate", "grad_norm", "max_steps"} <= set(line) for line in steps)
    evals = [line for line in lines if "eval_loss" in line]
    assert [line["step"] for line in evals] == [1, 2, 3, 4, 5, 6]
    assert {line["event"] for line in evals} == {"log"}
    progress = [line for line in lines if line["event"] == "eval"]
    assert [(line["step"], line["total"]) for line in progress] == [(1, 1)] * 6
    assert run.checkpoints() == ["checkpoint-5", "checkpoint-6"]
    assert set(os.listdir(run.path / "output" / "checkpoint-6")) >= {
        "state.npz",
        "state.json",
        "config.json",
    }
    assert run.weights() == (run.path / "output" / "checkpoint-6" / "model.safetensors").read_bytes()
    assert not (run.path / "snapshot.json").exists()
    assert "training tiny-0.2m: " in out
    assert "training examples: 24 used" in out
    assert "evaluation examples: 6 used" in out
    assert "step 6: saved output/checkpoint-6" in out
    assert "step 6: eval_loss " in out


def test_a_checkpoint_says_where_it_was_made(make_run: MakeRun) -> None:
    run = make_run(epochs=1, seed=2**63 - 1)
    assert run.train()[0] == 0
    state = json.loads((run.path / "output" / "checkpoint-3" / "state.json").read_text())
    assert state == {"step": 3, "epoch": 1.0, "seed": 2**63 - 1}
    with np.load(run.path / "output" / "checkpoint-3" / "state.npz") as arrays:
        assert sorted(arrays) == ["m", "v", "weights"]
        assert {str(arrays[name].dtype) for name in arrays} == {"float32"}


def test_a_child_learns_the_facts_it_is_told(make_run: MakeRun) -> None:
    run = make_run(epochs=30, saves_per_epoch=1)
    assert run.train()[0] == 0
    losses = [line["eval_loss"] for line in run.lines() if "eval_loss" in line]
    assert len(losses) == 30
    assert losses[0] > 3
    assert min(losses) < 0.5
    assert [line["loss"] for line in run.lines() if "loss" in line][-1] < 0.1


def test_one_thread_gives_the_bits_of_two(make_run: MakeRun) -> None:
    one, two = make_run("one"), make_run("two")
    assert "threads: 1" in one.train(OVERBRAINER_TINY_THREADS="1")[1]
    assert "threads: 2" in two.train(OVERBRAINER_TINY_THREADS="2")[1]
    assert one.weights() == two.weights()
    assert [line.get("eval_loss") for line in one.lines()] == [line.get("eval_loss") for line in two.lines()]


def test_threads_change_nothing_in_many_parts_either(small_training: Prepare, tiny: Any, make_run: MakeRun) -> None:
    run = make_run(micro_batch_size=1, gradient_accumulation_steps=7)
    first, second = (small_training(run) for _ in range(2))
    assert first.run(1)
    assert second.run(2)
    np.testing.assert_array_equal(first.state.model.flat, second.state.model.flat)


def test_accumulation_changes_only_the_rounding(small_training: Prepare, tiny: Any, make_run: MakeRun) -> None:
    run = make_run()
    whole = small_training(run, micro_batch_size=8, gradient_accumulation_steps=1)
    parts = small_training(run, micro_batch_size=1, gradient_accumulation_steps=8)
    assert whole.run(1)
    assert parts.run(1)
    np.testing.assert_allclose(whole.state.model.flat, parts.state.model.flat, atol=1e-3)


@pytest.mark.parametrize(
    ("steps", "times", "due"),
    [(4, 1, [4]), (4, 2, [2, 4]), (5, 2, [3, 5]), (3, 7, [1, 2, 3]), (20, 4, [5, 10, 15, 20])],
)
def test_evaluations_fall_on_even_parts_of_an_epoch(tiny: Any, *, steps: int, times: int, due: list[int]) -> None:
    found = [step for step in range(1, 2 * steps + 1) if tiny.trainer.is_due(step, steps, times)]
    assert found == [*due, *(steps + step for step in due)]


def test_without_evaluation_data_nothing_is_evaluated(
    make_run: MakeRun,
) -> None:
    run = make_run(eval_data=None, epochs=1)
    assert run.train()[0] == 0
    assert {line["event"] for line in run.lines()} == {"begin", "log", "end"}


def test_an_example_that_is_too_long_is_left_out_and_counted(
    chat_record: Callable[..., dict[str, Any]],
    make_run: MakeRun,
) -> None:
    run = make_run(epochs=1)
    long = chat_record("What? " * 200, "Peru", "Lima")
    with (run.path / "data" / "train.jsonl").open("a") as file:
        file.write(json.dumps(long) + "\n")
    code, out, _ = run.train()
    assert code == 0
    assert "training examples: 24 used" in out
    assert "1 left out (longer than 128 tokens, or no answer)" in out


def test_evaluation_progress_is_written_at_once_and_then_not_too_often(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = [100.0]
    monkeypatch.setattr(tiny.trainer.time, "monotonic", lambda: moment[0])
    metrics = tiny.trainer.Metrics(str(tmp_path / "deep" / "metrics.jsonl"))
    for evaluation in range(2):
        for done in range(1, 8):
            metrics.evaluating(done, 7)
            moment[0] += 0.9 if evaluation == 0 else 0.1
    written = (tmp_path / "deep" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in written] == [1, 4, 7, 1]


def test_a_line_that_a_full_disk_cut_does_not_spoil_the_next_one(tiny: Any, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = tiny.trainer.Metrics(str(path))
    path.mkdir()
    metrics.write("begin")
    path.rmdir()
    path.write_text('{"event": "beg')
    metrics.write("log", step=1)
    metrics.write("log", step=2)
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()[1:]] == [1, 2]


def test_metrics_that_cannot_be_written_do_not_end_a_training(
    make_run: MakeRun,
) -> None:
    run = make_run(epochs=1)
    (run.path / "metrics.jsonl").mkdir()
    code, _, err = run.train()
    assert code == 0
    assert err == f"cannot write {run.path}/metrics.jsonl: Is a directory\n"


def test_without_environment_there_are_no_lines_and_no_snapshots(
    small_training: Prepare, tiny: Any, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(epochs=1)
    monkeypatch.chdir(run.path)
    (run.path / "snapshot.request").write_text("requested")
    assert tiny.trainer.Snapshot(None).reason() is None
    assert small_training(run).run(1)
    assert not (run.path / "metrics.jsonl").exists()


# What ends a training


def test_a_loss_that_is_not_finite_is_written_as_null_and_ends_the_training(
    make_run: MakeRun,
) -> None:
    run = make_run()
    (run.path / "snapshot.request").write_text("requested")
    assert run.train()[0] == 0
    (run.path / "snapshot.request").unlink()
    state = run.path / "output" / "checkpoint-1" / "state.npz"
    with np.load(state) as arrays:
        kept = {name: arrays[name] for name in arrays}
    kept["weights"][-1] = np.nan
    np.savez(state, **kept)
    (run.path / "output" / "model.safetensors").unlink()
    run.write_settings(resume_from_checkpoint="output/checkpoint-1")
    code, out, _ = run.train()
    assert code == 1
    last = run.lines()[-1]
    assert (last["event"], last["step"]) == ("log", 2)
    assert last["loss"] is None
    assert last["grad_norm"] is None
    assert "step 2: the loss or its gradient is no finite number" in out
    assert run.checkpoints() == ["checkpoint-1"]
    assert not (run.path / "output" / "model.safetensors").exists()


def test_a_gradient_that_is_not_finite_ends_the_training_too(
    make_run: MakeRun,
) -> None:
    run = make_run(learning_rate=1e30, epochs=4)
    code, out, _ = run.train()
    assert code == 1
    assert run.lines()[-1]["grad_norm"] is None
    assert "no finite number" in out


def test_a_missing_numpy_is_said_in_one_line(make_run: MakeRun) -> None:
    run = make_run()
    blocked = run.path / "blocked"
    blocked.mkdir()
    (blocked / "numpy.py").write_text("raise ImportError('none here')\n")
    code, out, err = run.train(PYTHONPATH=str(blocked))
    assert (code, out) == (1, "")
    assert err == (
        f"the tiny trainer needs NumPy, which {sys.executable} cannot import;"
        f" run `{sys.executable} -m pip install numpy`\n"
    )


def test_settings_of_another_kind_are_refused(tiny: Any, make_run: MakeRun) -> None:
    run = make_run()
    path = run.path / "tiny.json"
    for content, text in [
        ("{", "not a JSON document"),
        ("[]", "must hold exactly the keys base_model, epochs"),
        (json.dumps({**run.settings, "more": 1}), "must hold exactly the keys"),
        (
            json.dumps({**run.settings, "base_model": "big"}),
            "base_model: must be one of tiny-0.2m,",
        ),
    ]:
        path.write_text(content)
        with pytest.raises(tiny.trainer.TrainingError, match=text):
            tiny.trainer.load_settings(path)
    path.unlink()
    code, _, err = run.train()
    assert (code, err) == (1, "cannot read tiny.json: No such file or directory\n")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{\n", "line 1: not a chat record"),
        ('\n{"messages": "no"}\n', "line 2: not a chat record"),
        ('{"messages": [{"role": "user"}]}\n', "line 1: not a chat record"),
        ('{"messages": [{"role": "user", "content": 1}]}\n', "line 1: not a chat record"),
        ("[]\n", "line 1: not a chat record"),
        ("", "no example of data/train.jsonl fits into 128 tokens; raise sequence_len"),
    ],
)
def test_data_that_teaches_nothing_is_refused(make_run: MakeRun, *, content: str, text: str) -> None:
    run = make_run()
    (run.path / "data" / "train.jsonl").write_text(content)
    code, _, err = run.train()
    assert code == 1
    assert err.endswith(f"{text}\n")
    assert len(err.splitlines()) == 1


def test_a_line_separator_inside_a_text_splits_no_record(
    chat_record: Callable[..., dict[str, Any]], tiny: Any, tmp_path: Path
) -> None:
    line = chat_record("a\u2028b\x85c", "Peru", "Lima")
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(line, ensure_ascii=False) + "\n\n", encoding="utf-8")
    ((question, _),) = tiny.trainer.load_messages(path)
    assert question["content"] == "a\u2028b\x85c"


def test_a_checkpoint_of_another_model_is_refused(make_run: MakeRun) -> None:
    run = make_run(epochs=1)
    assert run.train()[0] == 0
    run.write_settings(base_model="tiny-0.5m", resume_from_checkpoint="output/checkpoint-3")
    code, _, err = run.train()
    assert (code, err) == (1, "cannot resume: the checkpoint is of another base_model or context\n")


def test_a_checkpoint_that_is_not_whole_is_refused(small_training: Prepare, tiny: Any, make_run: MakeRun) -> None:
    run = make_run()
    training = small_training(run)
    directory = run.path / "output" / "checkpoint-1"
    directory.parent.mkdir()
    for name, content in (
        ("state.json", b"{}"),
        ("state.npz", b"PK\x03\x04"),
        ("config.json", b"{}"),
    ):
        tiny.trainer.save_checkpoint(directory, training.state, 0.5)
        (directory / name).write_bytes(content)
        with pytest.raises(tiny.trainer.TrainingError, match="cannot resume: "):
            tiny.trainer.load_checkpoint(directory)
    with pytest.raises(tiny.trainer.TrainingError, match="No such file or directory"):
        tiny.trainer.load_checkpoint(run.path / "nowhere")


@pytest.mark.parametrize("wanted", ["0", "two", "-1", "1.5"])
def test_a_thread_count_of_nothing_is_refused(tiny: Any, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setenv("OVERBRAINER_TINY_THREADS", wanted)
    with pytest.raises(tiny.trainer.TrainingError, match="OVERBRAINER_TINY_THREADS: must be"):
        tiny.trainer.usable_threads()


def test_threads_follow_the_cores_and_the_environment(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert tiny.trainer.usable_threads() == 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2, 3})
    assert tiny.trainer.usable_threads() == 2
    monkeypatch.setenv("OVERBRAINER_TINY_THREADS", "64")
    assert tiny.trainer.usable_threads() == 2
    monkeypatch.setenv("OVERBRAINER_TINY_THREADS", "1")
    assert tiny.trainer.usable_threads() == 1


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("tiny-0.2m", 0.18e6, 0.22e6), ("tiny-0.5m", 0.44e6, 0.48e6), ("tiny-0.9m", 0.9e6, 0.97e6)],
)
def test_the_models_have_the_sizes_of_their_names(tiny: Any, *, name: str, low: float, high: float) -> None:
    settings = tiny.trainer.Settings(
        *(name, "t", None, 1, 1e-3, 256, 1, 1, 1, 1, 1, "output", None),
    )
    shape = tiny.trainer.shape_of_settings(settings, 1614)
    assert low < shape.size() < high
    assert shape.head_size % 2 == 0


def test_a_wrong_command_line_names_the_right_one(tiny: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert tiny.trainer.main([]) == 1
    assert capsys.readouterr().err == "usage: tiny_trainer.py SETTINGS.json\n"
