"""The Axolotl plugin, imported where neither Axolotl nor torch is."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from overbrainer_core import assets
from overbrainer_core.runs.outcome import parse_proof
from overbrainer_core.training.metrics import parse_line
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric


@pytest.fixture
def plugin() -> types.ModuleType:
    """The plugin's module, freshly loaded from its file."""
    path = assets.job_scripts_dir() / "training" / "overbrainer_metrics.py"
    spec = importlib.util.spec_from_file_location("overbrainer_metrics_under_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "metrics.jsonl"


def state(step: int = 1, **changes: Any) -> SimpleNamespace:
    """A trainer's state."""
    return SimpleNamespace(
        **{"global_step": step, "max_steps": 9, "epoch": 0.5, "is_world_process_zero": True, **changes}
    )


ARGS = SimpleNamespace(output_dir="output", device="cpu")


def control() -> SimpleNamespace:
    """A trainer's control."""
    return SimpleNamespace(should_save=False, should_training_stop=False)


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a metrics file, strictly read."""
    return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]


def test_it_imports_without_axolotl_torch_and_transformers() -> None:
    path = assets.job_scripts_dir() / "training"
    code = (
        f"import sys; sys.path.insert(0, {str(path)!r}); import overbrainer_metrics as m; "
        "assert 'torch' not in sys.modules; print(m.OverbrainerMetricsPlugin().add_callbacks_pre_trainer(None, None))"
    )
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_environment_decides_which_callbacks_there_are(
    plugin: types.ModuleType, monkeypatch: pytest.MonkeyPatch, metrics: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("OVERBRAINER_METRICS", str(metrics))
    made = plugin.OverbrainerMetricsPlugin().add_callbacks_pre_trainer({}, None)
    assert [type(callback).__name__ for callback in made] == ["MetricsCallback"]
    monkeypatch.setenv("OVERBRAINER_SNAPSHOT", str(tmp_path / "snapshot.request"))
    made = plugin.OverbrainerMetricsPlugin().add_callbacks_pre_trainer({}, None)
    assert [type(callback).__name__ for callback in made] == ["MetricsCallback", "SnapshotCallback"]


def test_a_training_writes_begin_logs_and_end(plugin: types.ModuleType, metrics: Path) -> None:
    callback = plugin.MetricsCallback(str(metrics))
    callback.on_train_begin(ARGS, state(0), control())
    callback.on_log(ARGS, state(1), control(), logs={"loss": 1.25, "learning_rate": 2e-4, "grad_norm": 0.8, "ppl": 3.0})
    callback.on_log(ARGS, state(1), control(), logs={"eval_loss": 0.5, "eval_runtime": 1.0})
    callback.on_log(ARGS, state(2), control(), logs={"train_runtime": 4.0})
    callback.on_train_end(ARGS, state(2), control())
    written = lines(metrics)
    assert [line["event"] for line in written] == ["begin", "log", "log", "log", "end"]
    assert {key: written[1][key] for key in ("step", "epoch", "max_steps", "loss", "learning_rate", "grad_norm")} == {
        "step": 1,
        "epoch": 0.5,
        "max_steps": 9,
        "loss": 1.25,
        "learning_rate": 2e-4,
        "grad_norm": 0.8,
    }
    assert "ppl" not in written[1]
    parsed = [parse_line(line) for line in metrics.read_text().splitlines()]
    assert [type(value) for value in parsed] == [PhaseMark, TrainMetric, TrainMetric, TrainMetric, PhaseMark]
    assert parsed[0] == PhaseMark(kind=MarkKind.BEGIN, time=written[0]["time"], max_steps=9)


def test_what_is_no_finite_number_becomes_null(plugin: types.ModuleType, metrics: Path) -> None:
    callback = plugin.MetricsCallback(str(metrics))
    odd = {"loss": float("nan"), "grad_norm": float("inf"), "learning_rate": "high", "eval_loss": object()}
    callback.on_log(ARGS, state(1, epoch=float("nan"), max_steps=-1), control(), logs=odd)
    (line,) = lines(metrics)
    assert (line["loss"], line["grad_norm"], line["learning_rate"], line["eval_loss"]) == (None, None, None, None)
    assert "epoch" not in line
    assert "max_steps" not in line


def test_other_processes_than_the_main_one_write_nothing(plugin: types.ModuleType, metrics: Path) -> None:
    callback = plugin.MetricsCallback(str(metrics))
    callback.on_train_begin(ARGS, state(is_world_process_zero=False), control())
    assert not metrics.exists()


def test_an_evaluation_writes_its_first_step_then_one_line_in_two_seconds(
    plugin: types.ModuleType, metrics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(plugin.time, "monotonic", lambda: now[0])
    callback = plugin.MetricsCallback(str(metrics))
    for _ in range(9):
        callback.on_prediction_step(ARGS, state(), control(), eval_dataloader=range(9))
        now[0] += 0.5
    callback.on_evaluate(ARGS, state(), control())
    callback.on_prediction_step(ARGS, state(), control(), eval_dataloader=iter(()))
    assert [(line["step"], line.get("total")) for line in lines(metrics)] == [(1, 9), (5, 9), (9, 9), (1, None)]


def test_a_missing_loader_and_an_unwritable_file_never_raise(
    plugin: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    callback = plugin.MetricsCallback(str(tmp_path / "file" / "metrics.jsonl"))
    callback.on_train_begin(ARGS, state(), control())
    callback.on_prediction_step(ARGS, state(), control())
    callback.on_log(ARGS, SimpleNamespace(), control(), logs=None)
    assert capsys.readouterr().err.count("cannot write metrics") == 1


def test_a_line_that_a_full_disk_cut_does_not_spoil_the_next_one(plugin: types.ModuleType, metrics: Path) -> None:
    callback = plugin.MetricsCallback(str(metrics))
    callback.on_train_begin(ARGS, state(), control())
    metrics.rename(metrics.with_name("kept"))
    metrics.mkdir()
    callback.on_log(ARGS, state(1), control(), logs={"loss": 1.0})
    metrics.rmdir()
    metrics.with_name("kept").rename(metrics)
    with metrics.open("a") as handle:
        handle.write('{"event": "log", "ti')
    callback.on_log(ARGS, state(2), control(), logs={"loss": 0.5})
    callback.on_log(ARGS, state(3), control(), logs={"loss": 0.25})
    assert [json.loads(line)["step"] for line in metrics.read_text().splitlines()[2:]] == [2, 3]


def test_a_request_saves_stops_and_is_proved(plugin: types.ModuleType, tmp_path: Path) -> None:
    request = tmp_path / "snapshot.request"
    callback = plugin.SnapshotCallback(str(request))
    wanted = control()
    callback.on_step_end(ARGS, state(1), wanted)
    assert not wanted.should_save
    callback.on_save(ARGS, state(1), wanted)
    assert not (tmp_path / "snapshot.json").exists()
    request.write_text("deadline")
    callback.on_step_end(ARGS, state(2), wanted)
    assert (wanted.should_save, wanted.should_training_stop) == (True, True)
    assert not (tmp_path / "snapshot.json").exists()
    callback.on_save(ARGS, state(2), wanted)
    proof = parse_proof((tmp_path / "snapshot.json").read_bytes())
    assert proof is not None
    assert (proof.checkpoint, proof.step, proof.reason) == ("output/checkpoint-2", 2, "deadline")
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("text", "reason"), [("cost", "cost"), ("disk\n", "disk"), ("because", "requested"), ("", "requested")]
)
def test_only_known_reasons_are_taken(plugin: types.ModuleType, tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "snapshot.request").write_text(text)
    callback = plugin.SnapshotCallback(str(tmp_path / "snapshot.request"))
    callback.on_step_end(ARGS, state(2), control())
    callback.on_save(ARGS, state(2), control())
    assert json.loads((tmp_path / "snapshot.json").read_text())["reason"] == reason


def test_a_request_that_cannot_be_read_is_a_request(plugin: types.ModuleType, tmp_path: Path) -> None:
    (tmp_path / "snapshot.request").mkdir()
    callback = plugin.SnapshotCallback(str(tmp_path / "snapshot.request"))
    wanted = control()
    callback.on_step_end(ARGS, state(2), wanted)
    assert wanted.should_training_stop


def test_a_request_at_the_last_step_changes_nothing(plugin: types.ModuleType, tmp_path: Path) -> None:
    (tmp_path / "snapshot.request").write_text("requested")
    callback = plugin.SnapshotCallback(str(tmp_path / "snapshot.request"))
    wanted = control()
    callback.on_step_end(ARGS, state(9), wanted)
    callback.on_save(ARGS, state(9), wanted)
    assert not wanted.should_training_stop
    assert not (tmp_path / "snapshot.json").exists()


class Tensor:
    """As much of a tensor as a broadcast needs."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def item(self) -> int:
        """The only value."""
        return self.values[0]


@pytest.mark.parametrize("answer", [0, 1])
def test_all_processes_of_a_distributed_training_take_the_answer_of_rank_zero(
    plugin: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    def broadcast(tensor: Tensor, src: int) -> None:
        assert src == 0
        tensor.values[0] = answer

    torch = types.ModuleType("torch")
    torch.distributed = SimpleNamespace(  # type: ignore[attr-defined]
        is_available=lambda: True, is_initialized=lambda: True, broadcast=broadcast
    )
    torch.tensor = lambda values, dtype, device: Tensor(values)  # type: ignore[attr-defined]
    torch.int32 = "int32"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    callback = plugin.SnapshotCallback(str(tmp_path / "snapshot.request"))
    wanted = control()
    callback.on_step_end(ARGS, state(2, is_world_process_zero=False), wanted)
    callback.on_save(ARGS, state(2, is_world_process_zero=False), wanted)
    assert wanted.should_training_stop is bool(answer)
    assert not (tmp_path / "snapshot.json").exists()


def test_a_failing_look_never_raises_into_the_training(
    plugin: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object) -> bool:
        raise RuntimeError("no process group")

    monkeypatch.setattr(plugin.SnapshotCallback, "_is_asked", broken)
    monkeypatch.setattr(plugin.SnapshotCallback, "_write_proof", broken)
    callback = plugin.SnapshotCallback(str(tmp_path / "snapshot.request"))
    callback.on_step_end(ARGS, state(2), control())
    callback._reason = "requested"
    callback.on_save(ARGS, state(2), control())
    assert "no process group" in capsys.readouterr().err
