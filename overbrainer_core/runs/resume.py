"""Can a new run go on from a stopped one: its snapshot, its data, its settings?

Everything is refused here, before anything is created. The new run trains on the stopped run's own data, whatever the
project's is today.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.config.settings import Training
from overbrainer_core.errors import ProjectFileError, RunError
from overbrainer_core.files import read_regular
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState, load_run
from overbrainer_core.training.axolotl_config import differing_keys
from overbrainer_core.training.run_config import MAX_BYTES, load_run_config, parse_yaml, run_root
from overbrainer_core.training.tiny import SETTINGS_FILE
from overbrainer_core.training.trainer import CONFIG_FILE, Checkpoint, Trainer, has_content
from overbrainer_core.training.yaml_writer import to_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeSource:
    """A stopped run that a new one goes on from; `seed` is the one it trained with, where its files tell."""

    run_id: str
    checkpoint: Checkpoint
    train_data: Path
    eval_data: Path | None
    seed: int | None = None

    @property
    def snapshot(self) -> str:
        """The checkpoint as messages name it."""
        return f"output/checkpoint-{self.checkpoint.step}"


def find_resume(paths: ProjectPaths, run_id: str, training: Training, trainer: Trainer) -> ResumeSource:
    """The stopped run to go on from.

    Raises:
        RunError: there is no such run, or it cannot be resumed with these settings.
        FileAccessError: its data cannot be looked at.
    """
    record = load_run(paths, run_id)
    checkpoint = _checkpoint(paths, record)
    run_dir = paths.run(run_id)
    config = load_run_config(run_dir)
    root = run_root(config) if config is not None else None
    if config is None or root is None:
        raise RunError(f"cannot resume from run {run_id}: its settings in runs/{run_id}/{CONFIG_FILE} cannot be read")
    has_eval = "test_datasets" in config
    expected = parse_yaml(to_yaml(trainer.config(training, root=root, has_eval=has_eval)))
    keys = differing_keys(config, expected)
    if keys:
        raise RunError(
            f"cannot resume from run {run_id}: the training settings differ from the ones it ran with "
            f"({', '.join(keys)}); set them back to resume, or start a new run"
        )
    train_data, eval_data = run_dir / "data" / "train.jsonl", run_dir / "data" / "eval.jsonl"
    for path in (train_data, eval_data) if has_eval else (train_data,):
        if not has_content(path):
            raise RunError(f"cannot resume from run {run_id}: {path} is missing")
    return ResumeSource(
        run_id=run_id,
        checkpoint=checkpoint,
        train_data=train_data,
        eval_data=eval_data if has_eval else None,
        seed=_seed(run_dir),
    )


def _checkpoint(paths: ProjectPaths, record: RunRecord) -> Checkpoint:
    snapshot = record.snapshot
    if record.state is not RunState.STOPPED or snapshot is None:
        raise RunError(
            f"cannot resume from run {record.id}: it is {record.state}, not stopped with a snapshot "
            "(see `overbrainer train stop`)"
        )
    directory = paths.run(record.id) / snapshot.checkpoint
    if not directory.is_dir():
        raise RunError(
            f"cannot resume from run {record.id}: its snapshot is not in runs/{record.id}/{snapshot.checkpoint}; "
            f"retrieve it with `overbrainer train attach {record.id}`"
        )
    return Checkpoint(directory=directory, step=snapshot.step)


def _seed(run_dir: Path) -> int | None:
    """The seed that the embedded trainer used: a resume draws the same order of examples."""
    try:
        seed = json.loads(read_regular(run_dir / SETTINGS_FILE, limit=MAX_BYTES))["seed"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ProjectFileError):
        return None
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None
