"""How does `[training]` become a job, and what does each trainer need and refuse?

A trainer is one module of this package that holds a `TRAINER`, named by the `training.trainer` key; all trainers
write the same metric lines and obey the same snapshot request, so that nothing above this package tells them apart.
"""

from __future__ import annotations

import importlib
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from overbrainer_core import assets
from overbrainer_core.config.settings import SshTarget, Target, Training
from overbrainer_core.errors import ConfigError, ProjectFileError
from overbrainer_core.executors.base import Executor
from overbrainer_core.files import FileAccessError
from overbrainer_core.jobs.base import Artifacts, Job
from overbrainer_core.training.yaml_writer import to_yaml
from overbrainer_core.transfers.entries import CopyError, hard_link_tree

KNOWN_TRAINERS = ("axolotl", "tiny")
"""Values of `training.trainer`; each is a module of this package."""

METRICS_FILE = "metrics.jsonl"
SNAPSHOT_REQUEST = "snapshot.request"
SNAPSHOT_PROOF = "snapshot.json"
CONFIG_FILE = "axolotl.yaml"
"""Every trainer writes its settings here: resume, export and the finish lines read them."""

TRAINING_ARTIFACTS = Artifacts(entries=("output", METRICS_FILE), exclude=("checkpoint-*",), required="output")
"""What a training brings back; a stopped one also its snapshot."""


class NoExampleError(ProjectFileError):
    """There is nothing to train on."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} has no example: run `overbrainer split` first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint of a stopped run: its directory on this machine and its step."""

    directory: Path
    step: int

    @property
    def in_run(self) -> str:
        """Where it stands in the resumed run."""
        return f"resume/checkpoint-{self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSpec:
    """Everything that one training is made of; without `eval_data` nothing is evaluated."""

    training: Training
    target: Target
    seed: int
    train_data: Path
    eval_data: Path | None = None
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What every training has in common as a job, whichever trainer runs it."""

    spec: TrainSpec

    @property
    def artifacts(self) -> Artifacts:
        """The model and the metrics, without the checkpoints."""
        return TRAINING_ARTIFACTS

    @property
    def metrics_file(self) -> str:
        """Where the trainer, or its plugin, writes."""
        return METRICS_FILE

    @property
    def needs_metrics(self) -> bool:
        """A training without a metric line has failed."""
        return True

    @property
    def stop_marker(self) -> str | None:
        """A training stopped with a snapshot ends there, nothing is merged."""
        return SNAPSHOT_PROOF

    @property
    def caches_tools(self) -> bool:
        """Nothing is downloaded besides the model."""
        return False


class Trainer(Protocol):
    """Turns `[training]` into a job."""

    @property
    def uses_hf_token(self) -> bool:
        """Whether the job gets `HF_TOKEN`."""
        ...

    def check(self, training: Training, target: Target) -> None:
        """Refuse settings or a target that this trainer cannot use (`ConfigError`)."""
        ...

    async def check_programs(self, training: Training, target: Target, environment: Mapping[str, str]) -> None:
        """Look for what the job will run on a local target, before a run exists."""
        ...

    async def check_remote(self, target: SshTarget, executor: Executor) -> None:
        """Look for what the job will run on a native target behind SSH, before a run exists."""
        ...

    def warnings(self, training: Training) -> list[str]:
        """What a person should know before the training starts."""
        ...

    def config(
        self, training: Training, *, root: str, has_eval: bool, checkpoint: Checkpoint | None = None
    ) -> dict[str, Any]:
        """The content of `axolotl.yaml` for a run whose directory the job sees as `root`."""
        ...

    def job(self, spec: TrainSpec) -> Job:
        """The training job."""
        ...


def trainer_named(name: str) -> Trainer:
    """The trainer of `training.trainer`.

    Raises:
        ConfigError: there is none of that name.
    """
    if name not in KNOWN_TRAINERS:
        raise ConfigError(f"training.trainer: must be one of {', '.join(KNOWN_TRAINERS)}")
    module = importlib.import_module(f"overbrainer_core.training.{name}")  # only the one that is used
    return cast(Trainer, module.TRAINER)


def prepare_files(spec: TrainSpec, trainer: Trainer, run_dir: Path, root: str) -> None:
    """Write what every training has: the data, the checkpoint it resumes from, and `axolotl.yaml`.

    Raises:
        NoExampleError: there is no training data.
        CopyError: a file cannot be copied.
        FileAccessError: a file cannot be read or written.
    """
    if not has_content(spec.train_data):
        raise NoExampleError(spec.train_data)
    _copy(spec.train_data, run_dir / "data" / "train.jsonl")
    if spec.eval_data is not None:
        _copy(spec.eval_data, run_dir / "data" / "eval.jsonl")
    if spec.checkpoint is not None:
        hard_link_tree(spec.checkpoint.directory, run_dir / spec.checkpoint.in_run)
    config = trainer.config(spec.training, root=root, has_eval=spec.eval_data is not None, checkpoint=spec.checkpoint)
    write_text(run_dir / CONFIG_FILE, to_yaml(config))


def has_content(path: Path) -> bool:
    """Whether a data file exists and is not empty.

    Raises:
        FileAccessError: it cannot be looked at, which is not the same as missing, or it is no file.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise IsADirectoryError(21, os.strerror(21)) if stat.S_ISDIR(found.st_mode) else OSError(22, "not a file")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileAccessError(path) from error
    return found.st_size > 0


def _copy(source: Path, destination: Path) -> None:
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)
    except OSError as error:
        raise CopyError(source, destination) from error


def write_text(path: Path, text: str) -> None:
    """Write a file of a run directory that nobody reads yet.

    Raises:
        FileAccessError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileAccessError(path) from error


def write_job_scripts(names: Mapping[str, str], run_dir: Path) -> None:
    """Write job scripts into a run directory: name of the script to path in the run."""
    for name, path in names.items():
        write_text(run_dir / path, assets.job_script(name))
