"""The embedded trainer: what it refuses, what it needs, what it runs."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.config.settings import LocalTarget, RunpodTarget, SshTarget, Training
from overbrainer_core.errors import ConfigError
from overbrainer_core.training.programs import ProgramMissingError
from overbrainer_core.training.tiny import TRAINER, NumpyMissingError, trainer_python
from overbrainer_core.training.trainer import TrainSpec
from overbrainer_core.values.job import JobCommand

TINY = Training(target="here", base_model="tiny-0.5m", adapter="full", trainer="tiny")
HERE = LocalTarget(name="here", runtime="native")


@pytest.mark.parametrize("model", ["tiny-0.2m", "tiny-0.5m", "tiny-0.9m"])
def test_the_three_shapes_are_accepted(model: str) -> None:
    TRAINER.check(replace(TINY, base_model=model), HERE)
    TRAINER.check(replace(TINY, base_model=model), SshTarget(name="box", runtime="docker"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_model": "acme/x"}, "training.base_model: must be one of tiny-0.2m, tiny-0.5m, tiny-0.9m"),
        ({"adapter": "lora"}, 'training.adapter: trainer "tiny" needs full'),
        ({"given": frozenset({"epochs", "merge"})}, 'training.merge: not used by trainer "tiny"'),
        ({"given": frozenset({"axolotl_extra"})}, 'training.axolotl_extra: not used by trainer "tiny"'),
    ],
)
def test_what_it_does_not_know_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        TRAINER.check(replace(TINY, **changes), HERE)
    assert str(error.value) == message


def test_a_runpod_target_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'^training\.target: trainer "tiny" does not run on a runpod target$'):
        TRAINER.check(TINY, RunpodTarget(name="cloud"))


def test_it_runs_with_this_interpreter_only_on_a_local_native_target_without_a_venv() -> None:
    assert trainer_python(HERE) == sys.executable
    assert trainer_python(replace(HERE, venv="~/v")) == "python3"
    assert trainer_python(replace(HERE, runtime="docker")) == "python3"
    assert trainer_python(SshTarget(name="box", runtime="native")) == "python3"


def test_its_job_is_one_command_with_one_thread_for_each_part(tmp_path: Path) -> None:
    job = TRAINER.job(TrainSpec(training=TINY, target=HERE, seed=1, train_data=tmp_path / "train.jsonl"))
    assert job.commands("/r") == (
        JobCommand(program=sys.executable, arguments=("trainer/tiny_trainer.py", "tiny.json"), stage="train"),
    )
    assert job.environment("/r") == (
        ("OVERBRAINER_METRICS", "/r/metrics.jsonl"),
        ("OVERBRAINER_SNAPSHOT", "/r/snapshot.request"),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "1"),
        ("MKL_NUM_THREADS", "1"),
        ("VECLIB_MAXIMUM_THREADS", "1"),
    )
    assert (job.needs_metrics, job.stop_marker, job.caches_tools) == (True, "snapshot.json", False)
    assert (job.metrics_file, job.artifacts.required, TRAINER.uses_hf_token) == ("metrics.jsonl", "output", False)


async def test_numpy_is_looked_for_before_a_run_exists() -> None:
    await TRAINER.check_programs(TINY, HERE, dict(os.environ))


def fake_python(directory: Path, text: str) -> Path:
    """An executable `python3` in the `bin` of a venv."""
    path = directory / "bin" / "python3"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_a_missing_numpy_names_the_interpreter_and_the_command(tmp_path: Path) -> None:
    python = fake_python(tmp_path / "v", "#!/bin/sh\nexit 1\n")
    with pytest.raises(NumpyMissingError) as error:
        await TRAINER.check_programs(TINY, replace(HERE, venv="~/v/"), {"HOME": str(tmp_path), "PATH": os.defpath})
    assert str(error.value) == (
        f"the tiny trainer needs NumPy, which {python} cannot import: run `{python} -m pip install numpy`"
    )


async def test_a_missing_interpreter_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissingError, match=r"/v/bin/python3 is not there or cannot be run"):
        await TRAINER.check_programs(TINY, replace(HERE, venv=f"{tmp_path}/v"), {})


async def test_other_targets_are_looked_at_by_their_job() -> None:
    await TRAINER.check_programs(TINY, replace(HERE, runtime="docker"), {})
    await TRAINER.check_programs(TINY, SshTarget(name="box", runtime="native"), {})
