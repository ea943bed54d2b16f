"""How is a model trained with the embedded trainer? A small Llama from random weights, by NumPy on the CPU.

Everything around the training is the same as with Axolotl: `axolotl.yaml` is written too, because resume, export
and the finish lines read a run's settings there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overbrainer_core import assets
from overbrainer_core.aio.process import run_command
from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Target, Training
from overbrainer_core.errors import ConfigError, OverbrainerError
from overbrainer_core.executors.base import Executor
from overbrainer_core.training.axolotl_config import data_keys
from overbrainer_core.training.programs import check_program, venv_program
from overbrainer_core.training.remote_programs import find_remote_program
from overbrainer_core.training.trainer import (
    METRICS_FILE,
    SNAPSHOT_REQUEST,
    Checkpoint,
    TrainingJob,
    TrainSpec,
    prepare_files,
    write_job_scripts,
    write_text,
)
from overbrainer_core.values.job import JobCommand

BASE_MODELS = ("tiny-0.2m", "tiny-0.5m", "tiny-0.9m")
"""Shapes that the embedded trainer knows."""

SETTINGS_FILE = "tiny.json"

_UNUSED_KEYS = (
    "lora_r",
    "lora_alpha",
    "lora_dropout",
    "optimizer",
    "lr_scheduler",
    "sample_packing",
    "merge",
    "hub_model_id",
    "axolotl_extra",
)
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_IMPORT_TIMEOUT_S = 60.0
"""Seconds for one import of NumPy, which is slow on a cold disk."""

_IMPORTED = "numpy is here"
_IMPORT = f"import numpy; print({_IMPORTED!r})"


class NumpyMissingError(OverbrainerError):
    """The interpreter of the embedded trainer cannot import NumPy."""

    def __init__(self, python: str) -> None:
        self.python = python
        super().__init__(
            f"the tiny trainer needs NumPy, which {python} cannot import: run `{python} -m pip install numpy`"
        )


def trainer_python(target: Target) -> str:
    """The program that runs the trainer: the runtime looks for a bare name in the venv or on PATH."""
    if isinstance(target, LocalTarget) and target.runtime == "native" and target.venv is None:
        return sys.executable or "python3"
    return "python3"


@dataclass(frozen=True, slots=True)
class TinyJob(TrainingJob):
    """A training by the embedded trainer's job script."""

    def prepare(self, run_dir: Path, root: str) -> None:
        """Write data, checkpoint, `axolotl.yaml`, the trainer's files and its settings."""
        scripts = sorted(path.name for path in (assets.job_scripts_dir() / "training").glob("tiny_*.py"))
        write_job_scripts({f"training/{name}": f"trainer/{name}" for name in scripts}, run_dir)
        write_text(run_dir / SETTINGS_FILE, json.dumps(self._settings(), indent=2) + "\n")
        prepare_files(self.spec, TRAINER, run_dir, root)

    def _settings(self) -> dict[str, Any]:
        spec, training = self.spec, self.spec.training
        return {
            "base_model": training.base_model,
            "train_data": "data/train.jsonl",
            "eval_data": "data/eval.jsonl" if spec.eval_data is not None else None,
            "epochs": training.epochs,
            "learning_rate": training.learning_rate,
            "sequence_len": training.sequence_len,
            "micro_batch_size": training.micro_batch_size,
            "gradient_accumulation_steps": training.gradient_accumulation_steps,
            "evals_per_epoch": training.evals_per_epoch,
            "saves_per_epoch": training.saves_per_epoch,
            "seed": spec.seed,
            "output_dir": "output",
            "resume_from_checkpoint": spec.checkpoint.in_run if spec.checkpoint else None,
        }

    def commands(self, root: str) -> tuple[JobCommand, ...]:
        """One command."""
        arguments = ("trainer/tiny_trainer.py", SETTINGS_FILE)
        return (JobCommand(program=trainer_python(self.spec.target), arguments=arguments, stage="train"),)

    def environment(self, root: str) -> tuple[tuple[str, str], ...]:
        """Where to write, where to look for a request, and one thread for each part of a batch."""
        return (
            ("OVERBRAINER_METRICS", f"{root}/{METRICS_FILE}"),
            ("OVERBRAINER_SNAPSHOT", f"{root}/{SNAPSHOT_REQUEST}"),
            *((name, "1") for name in _THREAD_VARIABLES),
        )


class TinyTrainer:
    """The trainer named `tiny`."""

    uses_hf_token = False

    def check(self, training: Training, target: Target) -> None:
        """Refuse what the embedded trainer does not know.

        Raises:
            ConfigError: the key and what it must be.
        """
        if isinstance(target, RunpodTarget):
            raise ConfigError('training.target: trainer "tiny" does not run on a runpod target')
        if training.base_model not in BASE_MODELS:
            raise ConfigError(f"training.base_model: must be one of {', '.join(BASE_MODELS)}")
        if training.adapter != "full":
            raise ConfigError('training.adapter: trainer "tiny" needs full')
        for key in _UNUSED_KEYS:
            if key in training.given:
                raise ConfigError(f'training.{key}: not used by trainer "tiny"')

    async def check_programs(self, training: Training, target: Target, environment: Mapping[str, str]) -> None:
        """On a native target, a Python that imports NumPy.

        Raises:
            ProgramMissingError: there is no such Python.
            NumpyMissingError: it cannot import NumPy.
        """
        if not isinstance(target, LocalTarget) or target.runtime != "native":
            return
        python = trainer_python(target)
        if not Path(python).is_absolute():
            check_program(python, target=target, environment=environment)
        if target.venv is not None:
            python = venv_program(target.venv, python, environment)
        try:
            result = await run_command([python, "-c", "import numpy"], env=environment, timeout_s=_IMPORT_TIMEOUT_S)
        except (OSError, TimeoutError) as error:
            raise NumpyMissingError(python) from error
        if result.exit_status != 0:
            raise NumpyMissingError(python)

    async def check_remote(self, target: SshTarget, executor: Executor) -> None:
        """A Python that imports NumPy, on a machine behind SSH.

        Raises:
            ProgramMissingError: there is no such Python.
            NumpyMissingError: it cannot import NumPy.
        """
        look = await find_remote_program(trainer_python(target), target=target, executor=executor, code=_IMPORT)
        if _IMPORTED not in look.answer:
            raise NumpyMissingError(look.path)

    def warnings(self, training: Training) -> list[str]:
        """None: the embedded trainer writes its own chat template."""
        return []

    def config(
        self, training: Training, *, root: str, has_eval: bool, checkpoint: Checkpoint | None = None
    ) -> dict[str, Any]:
        """The settings of the run under Axolotl's names; no `adapter`, which tells a full model."""
        config = {
            "base_model": training.base_model,
            **data_keys(root, has_eval=has_eval),
            "num_epochs": training.epochs,
            "learning_rate": training.learning_rate,
            "sequence_len": training.sequence_len,
            "micro_batch_size": training.micro_batch_size,
            "gradient_accumulation_steps": training.gradient_accumulation_steps,
            "saves_per_epoch": training.saves_per_epoch,
            "output_dir": f"{root}/output",
        }
        if has_eval:
            config["evals_per_epoch"] = training.evals_per_epoch
        if checkpoint is not None:
            config["resume_from_checkpoint"] = f"{root}/{checkpoint.in_run}"
        return config

    def job(self, spec: TrainSpec) -> TinyJob:
        """The training job."""
        return TinyJob(spec)


TRAINER = TinyTrainer()
