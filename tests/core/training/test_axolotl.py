"""The Axolotl job: its commands, environment and results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Training
from overbrainer_core.training.axolotl import TRAINER
from overbrainer_core.training.trainer import TRAINING_ARTIFACTS, TrainSpec
from overbrainer_core.values.job import JobCommand

LORA = Training(target="here", base_model="acme/qwen3", adapter="lora")
HERE = LocalTarget(name="here", runtime="native")


def spec(directory: Path, training: Training = LORA) -> TrainSpec:
    """A training on data in this directory."""
    return TrainSpec(training=training, target=HERE, seed=42, train_data=directory / "train.jsonl")


def test_the_axolotl_job_trains_then_merges_where_asked(tmp_path: Path) -> None:
    train = JobCommand(program="axolotl", arguments=("train", "axolotl.yaml"), stage="train")
    merge = JobCommand(program="axolotl", arguments=("merge-lora", "axolotl.yaml"), stage="merge")
    assert TRAINER.job(spec(tmp_path)).commands("/r") == (train,)
    assert TRAINER.job(spec(tmp_path, replace(LORA, merge=True))).commands("/r") == (train, merge)
    assert TRAINER.job(spec(tmp_path, replace(LORA, merge=True, adapter="full"))).commands("/r") == (train,)
    job = TRAINER.job(spec(tmp_path))
    assert job.environment("/r") == (
        ("AXOLOTL_DO_NOT_TRACK", "1"),
        ("PYTHONPATH", "/r/plugin"),
        ("OVERBRAINER_METRICS", "/r/metrics.jsonl"),
        ("OVERBRAINER_SNAPSHOT", "/r/snapshot.request"),
    )
    assert (job.artifacts, job.metrics_file, job.stop_marker) == (TRAINING_ARTIFACTS, "metrics.jsonl", "snapshot.json")
    assert (job.needs_metrics, job.caches_tools, TRAINER.uses_hf_token) == (True, False, True)


def test_every_kind_of_target_is_accepted() -> None:
    for target in (HERE, SshTarget(name="box", runtime="docker"), RunpodTarget(name="cloud")):
        TRAINER.check(LORA, target)


def test_a_template_that_may_drop_the_reasoning_is_warned_about() -> None:
    assert TRAINER.warnings(LORA) == []
    (warning,) = TRAINER.warnings(replace(LORA, base_model="acme/llama"))
    assert "may drop reasoning_content" in warning
