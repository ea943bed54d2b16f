"""Going on from a stopped run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.config.settings import LocalTarget, Training
from overbrainer_core.errors import RunError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot, save_run
from overbrainer_core.runs.resume import find_resume
from overbrainer_core.training.axolotl import TRAINER
from overbrainer_core.training.tiny import TRAINER as TINY
from overbrainer_core.training.trainer import TrainSpec

TRAINING = Training(target="here", base_model="acme/qwen3", adapter="lora", axolotl_extra={"weight_decay": 0.01})
RECORD = RunRecord(
    id="a",
    target="here",
    created=parse_rfc3339("2026-01-01T00:00:00Z"),
    remote_dir="/r/a",
    state=RunState.STOPPED,
    snapshot=Snapshot(checkpoint="output/checkpoint-4", step=4, reason="requested"),
)


def stopped(paths: ProjectPaths, training: Training = TRAINING, *, root: str = "/r/a", has_eval: bool = True) -> Path:
    """The directory of a stopped run that trained with these settings."""
    run_dir = paths.run("a")
    (run_dir / "output" / "checkpoint-4").mkdir(parents=True)
    source = paths.root / "source.jsonl"
    source.write_text("{}\n")
    trainer = TINY if training.trainer == "tiny" else TRAINER
    spec = TrainSpec(
        training=training,
        target=LocalTarget(name="here", runtime="native"),
        seed=7,
        train_data=source,
        eval_data=source if has_eval else None,
    )
    trainer.job(spec).prepare(run_dir, root)
    save_run(paths, RECORD)
    return run_dir


@pytest.mark.parametrize("has_eval", [True, False])
def test_checkpoint_and_data_are_those_of_the_stopped_run(paths: ProjectPaths, has_eval: bool) -> None:
    run_dir = stopped(paths, has_eval=has_eval)
    source = find_resume(paths, "a", TRAINING, TRAINER)
    assert (source.checkpoint.directory, source.checkpoint.step) == (run_dir / "output" / "checkpoint-4", 4)
    assert source.train_data == run_dir / "data" / "train.jsonl"
    assert source.eval_data == (run_dir / "data" / "eval.jsonl" if has_eval else None)
    assert (source.snapshot, source.seed) == ("output/checkpoint-4", None)


@pytest.mark.parametrize("root", ['/w "quoted"/a', "/w\\back/a", "/w é\u2028/a", "/workspace/run"])
def test_the_directory_of_the_old_run_may_have_any_name(paths: ProjectPaths, root: str) -> None:
    stopped(paths, root=root)
    assert find_resume(paths, "a", TRAINING, TRAINER).run_id == "a"


def test_settings_that_a_resume_may_change_are_not_compared(paths: ProjectPaths) -> None:
    stopped(paths)
    extra = {**TRAINING.axolotl_extra, "wandb_name": "x", "use_wandb": True, "logging_steps": 5, "eval_strategy": "no"}
    changed = replace(TRAINING, saves_per_epoch=9, evals_per_epoch=9, hub_model_id="a/b", axolotl_extra=extra)
    assert find_resume(paths, "a", changed, TRAINER) == find_resume(paths, "a", TRAINING, TRAINER)


def test_every_other_difference_is_named_in_order(paths: ProjectPaths) -> None:
    stopped(paths)
    changed = replace(TRAINING, lora_r=4, base_model="x", axolotl_extra={"weight_decay": 0.02, "new": {"a": 1}})
    with pytest.raises(RunError) as error:
        find_resume(paths, "a", changed, TRAINER)
    assert str(error.value) == (
        "cannot resume from run a: the training settings differ from the ones it ran with "
        "(base_model, lora_r, new, weight_decay); set them back to resume, or start a new run"
    )


def test_a_run_of_the_other_trainer_differs(paths: ProjectPaths) -> None:
    tiny = Training(target="here", base_model="tiny-0.2m", adapter="full", trainer="tiny")
    run_dir = stopped(paths, tiny)
    assert find_resume(paths, "a", tiny, TINY).seed == 7
    with pytest.raises(RunError, match="the training settings differ"):
        find_resume(paths, "a", TRAINING, TRAINER)
    (run_dir / "tiny.json").write_text(json.dumps({"seed": True}))
    assert find_resume(paths, "a", tiny, TINY).seed is None


@pytest.mark.parametrize("content", ["", "[", "output_dir: 7\n", "output_dir: /elsewhere\n"])
def test_settings_that_cannot_be_read_are_refused(paths: ProjectPaths, content: str) -> None:
    (stopped(paths) / "axolotl.yaml").write_text(content)
    with pytest.raises(RunError, match=r"its settings in runs/a/axolotl.yaml cannot be read$"):
        find_resume(paths, "a", TRAINING, TRAINER)


def test_missing_data_of_the_old_run_is_named(paths: ProjectPaths) -> None:
    (stopped(paths) / "data" / "eval.jsonl").unlink()
    with pytest.raises(RunError, match=r"^cannot resume from run a: .*eval\.jsonl is missing$"):
        find_resume(paths, "a", TRAINING, TRAINER)


def test_a_run_that_is_not_stopped_with_a_snapshot_is_refused(paths: ProjectPaths) -> None:
    stopped(paths)
    save_run(paths, replace(RECORD, state=RunState.FAILED, snapshot=None))
    with pytest.raises(RunError) as error:
        find_resume(paths, "a", TRAINING, TRAINER)
    assert str(error.value) == (
        "cannot resume from run a: it is failed, not stopped with a snapshot (see `overbrainer train stop`)"
    )
