"""What every trainer has: the known ones, their data, and the files of a prepared run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from overbrainer_core import assets
from overbrainer_core.config.settings import LocalTarget, Training
from overbrainer_core.errors import ConfigError
from overbrainer_core.files import FileAccessError
from overbrainer_core.training.trainer import (
    KNOWN_TRAINERS,
    Checkpoint,
    NoExampleError,
    TrainSpec,
    has_content,
    trainer_named,
)
from overbrainer_core.transfers.entries import CopyError

LORA = Training(target="here", base_model="acme/qwen3", adapter="lora")
TINY = Training(target="here", base_model="tiny-0.2m", adapter="full", trainer="tiny", given=frozenset({"epochs"}))
HERE = LocalTarget(name="here", runtime="native")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with training and evaluation data."""
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "train.jsonl").write_text('{"messages": []}\n')
    (directory / "eval.jsonl").write_text('{"messages": [1]}\n')
    return directory


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    directory.mkdir()
    return directory


def spec(data: Path, training: Training = LORA, **changes: Any) -> TrainSpec:
    """A training on this data."""
    fields: dict[str, Any] = {"train_data": data / "train.jsonl", "eval_data": data / "eval.jsonl", **changes}
    return TrainSpec(training=training, target=HERE, seed=42, **fields)


def files(directory: Path) -> list[str]:
    """The regular files under a directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_every_known_trainer_can_be_had() -> None:
    for name in KNOWN_TRAINERS:
        assert trainer_named(name).warnings(LORA) == []
    with pytest.raises(ConfigError, match=r"^training\.trainer: must be one of axolotl, tiny$"):
        trainer_named("os")


def test_an_axolotl_run_has_its_files_and_nothing_else(data: Path, run_dir: Path) -> None:
    job = trainer_named("axolotl").job(spec(data))
    job.prepare(run_dir, "/workspace/run")
    assert files(run_dir) == ["axolotl.yaml", "data/eval.jsonl", "data/train.jsonl", "plugin/overbrainer_metrics.py"]
    config = yaml.safe_load((run_dir / "axolotl.yaml").read_text())
    assert config["test_datasets"][0]["path"] == "/workspace/run/data/eval.jsonl"
    assert config["output_dir"] == "/workspace/run/output"
    assert "resume_from_checkpoint" not in config
    plugin = (run_dir / "plugin" / "overbrainer_metrics.py").read_text()
    assert plugin == assets.job_script("training/overbrainer_metrics.py")
    assert (run_dir / "data" / "train.jsonl").read_text() == '{"messages": []}\n'


def test_without_evaluation_data_none_is_copied_and_none_configured(data: Path, run_dir: Path) -> None:
    trainer_named("axolotl").job(spec(data, eval_data=None)).prepare(run_dir, str(run_dir))
    assert not (run_dir / "data" / "eval.jsonl").exists()
    assert "test_datasets" not in yaml.safe_load((run_dir / "axolotl.yaml").read_text())


@pytest.mark.parametrize("training", [LORA, TINY])
def test_a_resumed_run_holds_its_checkpoint_as_hard_links(data: Path, run_dir: Path, training: Training) -> None:
    source = data / "checkpoint-7"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "state").write_text("state")
    checkpoint = Checkpoint(directory=source, step=7)
    trainer_named(training.trainer).job(spec(data, training, checkpoint=checkpoint)).prepare(run_dir, "/job")
    linked = run_dir / "resume" / "checkpoint-7" / "deep" / "state"
    assert linked.samefile(source / "deep" / "state")
    config = yaml.safe_load((run_dir / "axolotl.yaml").read_text())
    assert config["resume_from_checkpoint"] == "/job/resume/checkpoint-7"


def test_missing_or_empty_training_data_is_named(data: Path, run_dir: Path) -> None:
    path = data / "train.jsonl"
    path.write_text("")
    for _ in range(2):
        with pytest.raises(NoExampleError, match=r"train\.jsonl has no example: run `overbrainer split` first$"):
            trainer_named("axolotl").job(spec(data)).prepare(run_dir, "/r")
        path.unlink(missing_ok=True)


def test_data_that_cannot_be_looked_at_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileAccessError):
        has_content(tmp_path / "file" / "train.jsonl")
    with pytest.raises(FileAccessError):
        has_content(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileAccessError):
        has_content(tmp_path / "pipe")
    assert not has_content(tmp_path / "missing")


def test_a_failed_copy_names_both_files(data: Path, run_dir: Path) -> None:
    (run_dir / "data").write_text("in the way")
    with pytest.raises(CopyError) as error:
        trainer_named("axolotl").job(spec(data)).prepare(run_dir, "/r")
    assert str(error.value) == f"cannot copy {data / 'train.jsonl'} to {run_dir / 'data' / 'train.jsonl'}"


def test_a_tiny_run_has_the_trainer_in_the_place_of_the_plugin(data: Path, run_dir: Path) -> None:
    trainer_named("tiny").job(spec(data, TINY)).prepare(run_dir, "/job")
    assert files(run_dir) == [
        "axolotl.yaml",
        "data/eval.jsonl",
        "data/train.jsonl",
        "tiny.json",
        "trainer/tiny_files.py",
        "trainer/tiny_model.py",
        "trainer/tiny_tokenizer.py",
        "trainer/tiny_trainer.py",
    ]
    assert json.loads((run_dir / "tiny.json").read_text()) == {
        "base_model": "tiny-0.2m",
        "train_data": "data/train.jsonl",
        "eval_data": "data/eval.jsonl",
        "epochs": 3,
        "learning_rate": 2e-4,
        "sequence_len": 4096,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "evals_per_epoch": 4,
        "saves_per_epoch": 1,
        "seed": 42,
        "output_dir": "output",
        "resume_from_checkpoint": None,
    }
    config = yaml.safe_load((run_dir / "axolotl.yaml").read_text())
    assert sorted(config) == [
        "base_model",
        "datasets",
        "evals_per_epoch",
        "gradient_accumulation_steps",
        "learning_rate",
        "micro_batch_size",
        "num_epochs",
        "output_dir",
        "saves_per_epoch",
        "sequence_len",
        "test_datasets",
    ]
