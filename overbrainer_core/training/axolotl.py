"""How is a model trained with Axolotl? The default trainer: commands, environment, files and what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overbrainer_core.config.settings import LocalTarget, SshTarget, Target, Training
from overbrainer_core.executors.base import Executor
from overbrainer_core.training.axolotl_config import axolotl_config
from overbrainer_core.training.programs import check_program
from overbrainer_core.training.reasoning import reasoning_warning
from overbrainer_core.training.remote_programs import find_remote_program
from overbrainer_core.training.trainer import (
    CONFIG_FILE,
    METRICS_FILE,
    SNAPSHOT_REQUEST,
    Checkpoint,
    TrainingJob,
    TrainSpec,
    prepare_files,
    write_job_scripts,
)
from overbrainer_core.values.job import JobCommand

_PLUGIN = {"training/overbrainer_metrics.py": "plugin/overbrainer_metrics.py"}


@dataclass(frozen=True, slots=True)
class AxolotlJob(TrainingJob):
    """A training by `axolotl train`, then `axolotl merge-lora` when the adapter is to be merged."""

    def prepare(self, run_dir: Path, root: str) -> None:
        """Write data, plugin, checkpoint and `axolotl.yaml`."""
        write_job_scripts(_PLUGIN, run_dir)
        prepare_files(self.spec, TRAINER, run_dir, root)

    def commands(self, root: str) -> tuple[JobCommand, ...]:
        """Train, then merge where asked."""
        train = JobCommand(program="axolotl", arguments=("train", CONFIG_FILE), stage="train")
        merge = JobCommand(program="axolotl", arguments=("merge-lora", CONFIG_FILE), stage="merge")
        return (train, merge) if _merges(self.spec.training) else (train,)

    def environment(self, root: str) -> tuple[tuple[str, str], ...]:
        """What the plugin and Axolotl read."""
        return (
            ("AXOLOTL_DO_NOT_TRACK", "1"),
            ("PYTHONPATH", f"{root}/plugin"),
            ("OVERBRAINER_METRICS", f"{root}/{METRICS_FILE}"),
            ("OVERBRAINER_SNAPSHOT", f"{root}/{SNAPSHOT_REQUEST}"),
        )


def _merges(training: Training) -> bool:
    return training.merge and training.adapter != "full"


class AxolotlTrainer:
    """The trainer named `axolotl`."""

    uses_hf_token = True

    def check(self, training: Training, target: Target) -> None:
        """Axolotl takes every setting and every kind of target."""

    async def check_programs(self, training: Training, target: Target, environment: Mapping[str, str]) -> None:
        """On a native target, `axolotl` in the venv or on PATH."""
        if isinstance(target, LocalTarget) and target.runtime == "native":
            check_program("axolotl", target=target, environment=environment)

    async def check_remote(self, target: SshTarget, executor: Executor) -> None:
        """`axolotl` in the venv or on PATH of a machine behind SSH."""
        await find_remote_program("axolotl", target=target, executor=executor)

    def warnings(self, training: Training) -> list[str]:
        """A chat template that may drop the reasoning."""
        warning = reasoning_warning(training)
        return [warning] if warning else []

    def config(
        self, training: Training, *, root: str, has_eval: bool, checkpoint: Checkpoint | None = None
    ) -> dict[str, Any]:
        """The content of `axolotl.yaml`."""
        return axolotl_config(
            training,
            root=root,
            has_eval=has_eval,
            resume_checkpoint=checkpoint.in_run if checkpoint else None,
        )

    def job(self, spec: TrainSpec) -> AxolotlJob:
        """The training job."""
        return AxolotlJob(spec)


TRAINER = AxolotlTrainer()
