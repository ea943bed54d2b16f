"""The scripts of the tiny trainer, as modules and as processes in a run's directory.

As modules they are no package and import one another by name.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PLACES = ("Peru", "Iceland", "Kenya", "Japan", "Chile", "Ghana", "Norway", "Oman", "Nepal", "Cuba")
CITIES = (
    "Lima",
    "Reykjavik",
    "Nairobi",
    "Tokyo",
    "Santiago",
    "Accra",
    "Oslo",
    "Muscat",
    "Kathmandu",
    "Havana",
)
FORMS = (
    "What is the capital of {}?",
    "Name the seat of government in {}.",
    "Where does {} have its capital?",
)
LIMIT_S = 15
"""Seconds that a test waits for a process, on a crowded machine."""
TINY_SCRIPTS = ("tiny_model", "tiny_tokenizer", "tiny_files", "tiny_trainer")


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyScripts:
    """The four scripts, and the folder they lie in."""

    directory: Path
    model: Any
    tokenizer: Any
    files: Any
    trainer: Any


@pytest.fixture(scope="module")
def tiny() -> Iterator[TinyScripts]:
    """The tiny trainer's scripts, importable while the tests of a file run."""
    directory = Path(__file__).resolve().parents[2] / "job_scripts" / "training"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(directory))
        modules = {name[len("tiny_") :]: importlib.import_module(name) for name in TINY_SCRIPTS}
        yield TinyScripts(directory=directory, **modules)
    for name in TINY_SCRIPTS:
        sys.modules.pop(name, None)


def record(question: str, place: str, city: str) -> dict[str, Any]:
    """A line of a training file."""
    answer = {
        "role": "assistant",
        "content": f"The capital of {place} is {city}.",
        "reasoning_content": f"This asks for {place}.",
    }
    messages = [{"role": "user", "content": question}, answer]
    return {"id": "0" * 32, "topic": "t", "subtopic": "s", "messages": messages, "meta": {}}


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """A JSON lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in records))


class RunDirectory:
    """A run's directory with data and settings, and the trainer as a process in it."""

    def __init__(self, path: Path, script: Path, **changes: Any) -> None:
        self.path = path
        self.script = script
        known = list(zip(PLACES, CITIES, strict=True))
        records = [record(form.format(place), place, city) for form in FORMS for place, city in known]
        random.Random(3).shuffle(records)
        write_lines(path / "data" / "train.jsonl", records[:24])
        write_lines(path / "data" / "eval.jsonl", records[24:])
        self.settings: dict[str, Any] = {
            "base_model": "tiny-0.2m",
            "train_data": "data/train.jsonl",
            "eval_data": "data/eval.jsonl",
            "epochs": 2,
            "learning_rate": 4e-3,
            "sequence_len": 128,
            "micro_batch_size": 4,
            "gradient_accumulation_steps": 2,
            "evals_per_epoch": 1,
            "saves_per_epoch": 1,
            "seed": 42,
            "output_dir": "output",
            "resume_from_checkpoint": None,
        }
        self.write_settings(**changes)

    def write_settings(self, **changes: Any) -> None:
        """Writes the settings file with some changes."""
        self.settings.update(changes)
        (self.path / "tiny.json").write_text(json.dumps(self.settings))

    def environment(self, **more: str) -> dict[str, str]:
        """What the job's shell gives the trainer."""
        names = {
            "OVERBRAINER_METRICS": str(self.path / "metrics.jsonl"),
            "OVERBRAINER_SNAPSHOT": str(self.path / "snapshot.request"),
        }
        return {**os.environ, **names, **more}

    def start(self, **more: str) -> subprocess.Popen[str]:
        """The trainer, started."""
        return subprocess.Popen(
            [sys.executable, str(self.script), "tiny.json"],
            cwd=self.path,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def train(self, **more: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a whole training."""
        with self.start(**more) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    def lines(self) -> list[dict[str, Any]]:
        """The metrics written so far."""
        text = (self.path / "metrics.jsonl").read_text()
        return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]

    def weights(self) -> bytes:
        """The trained weights."""
        return (self.path / "output" / "model.safetensors").read_bytes()

    def checkpoints(self) -> list[str]:
        """Names of the checkpoints."""
        return sorted(path.name for path in (self.path / "output").glob("checkpoint-*"))


@pytest.fixture
def make_run(tiny: TinyScripts, tmp_path: Path) -> Callable[..., RunDirectory]:
    """Makes run directories of a test."""

    def make(name: str = "run", **changes: Any) -> RunDirectory:
        return RunDirectory(tmp_path / name, tiny.directory / "tiny_trainer.py", **changes)

    return make


@pytest.fixture
def chat_record() -> Callable[..., dict[str, Any]]:
    """Makes the line of a training file."""
    return record


@pytest.fixture
def small_training(tiny: TinyScripts) -> Callable[..., Any]:
    """Prepares a training of a hidden size of 16 in this process, resumed where settings say so."""

    def prepare(run: RunDirectory, **changes: Any) -> Any:
        settings = tiny.trainer.Settings(
            **{
                **run.settings,
                "train_data": str(run.path / "data" / "train.jsonl"),
                "output_dir": str(run.path / "output"),
                **changes,
            }
        )
        records = tiny.trainer.load_messages(Path(settings.train_data))
        evals = tiny.trainer.load_messages(run.path / "data" / "eval.jsonl")
        if settings.resume_from_checkpoint:
            state = tiny.trainer.load_checkpoint(Path(settings.resume_from_checkpoint))
        else:
            texts = tiny.tokenizer.chat_texts(records)
            vocabulary = tiny.tokenizer.learn_vocabulary(texts, limit=320)
            shape = tiny.model.Shape(
                vocab=len(vocabulary), hidden=16, layers=2, heads=4, kv_heads=2, inner=24, context=256
            )
            model = tiny.model.initial_model(shape, settings.seed)
            state = tiny.trainer.State(model, vocabulary, tiny.model.AdamW(shape), 0, settings.seed)
        fitting = tiny.trainer.fitting_examples
        return tiny.trainer.Training(
            settings,
            state,
            train=fitting(records, state.vocabulary, settings.sequence_len),
            evals=fitting(evals, state.vocabulary, settings.sequence_len),
        )

    return prepare
