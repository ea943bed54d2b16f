"""Values that other programs misread arrive as they were meant: in the request, and in the settings of the trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.peers.llm_api import llm_api
from tests.peers.program import run, write_project, write_split

TRAINING = """
[training]
target = "local"
base_model = {base_model}
adapter = "lora"
learning_rate = {learning_rate}

[training.axolotl_extra]
adam_epsilon = 1e-8

[targets.local]
kind = "local"
runtime = "native"
venv = "{venv}"
"""


def key_sent(tmp_path: Path, lines: str) -> str:
    """The key that reaches the provider when `.env` has these lines."""
    with llm_api() as endpoint:
        project = write_project(tmp_path / "p", base_url=endpoint.base_url)
        env = project / ".env"
        env.write_text(lines + env.read_text())
        done = run(project, "subtopics")
        assert done.returncode == 0, done.stderr
        return endpoint.authorization.removeprefix("Bearer ")


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("sk-Ab#12", "sk-Ab#12"),
        ('"a#b"', "a#b"),
        ("val # note", "val"),
        ("'p#q'", "p#q"),
        ("pa$word", "pa$word"),
        ('"pa$word"', "pa$word"),
        ("'${HOME}'", "${HOME}"),
        ("0123", "0123"),
        ("true", "true"),
    ],
)
def test_a_key_arrives_as_it_was_meant(tmp_path: Path, written: str, key: str) -> None:
    assert key_sent(tmp_path, f"OVERBRAINER_PROVIDERS__HERE__API_KEY={written}\n") == key


def test_the_first_of_a_repeated_name_wins_and_export_is_fine(tmp_path: Path) -> None:
    name = "OVERBRAINER_PROVIDERS__HERE__API_KEY"
    assert key_sent(tmp_path, f"export A=1\n{name}=first\n# {name}=third\n{name}=second\n") == "first"


def test_a_name_without_a_value_swallows_no_line(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    (project / ".env").write_text("A=1\nOVERBRAINER_HF_TOKEN\nOVERBRAINER_PIPELINE__SEED=7\n")
    done = run(project, "config", "check")
    assert (done.returncode, done.stderr) == (3, "error: cannot parse .env (syntax error at line 2)\n")


def trained_with(tmp_path: Path, **values: str) -> dict[str, Any]:
    """What the trainer is told to do."""
    axolotl = tmp_path / "venv" / "bin" / "axolotl"
    axolotl.parent.mkdir(parents=True)
    axolotl.write_text("#!/bin/sh\nexit 1\n")
    axolotl.chmod(0o755)
    defaults = {"base_model": '"Qwen/Qwen3-0.6B"', "learning_rate": "2e-4", "venv": str(tmp_path / "venv")}
    project = write_project(tmp_path / "p", training=TRAINING.format(**{**defaults, **values}))
    write_split(project)
    done = run(project, "train", extra={"OVERBRAINER_TRAINING__AXOLOTL_EXTRA__WEIGHT_DECAY": "1e-2"})
    assert done.returncode == 9, done.stderr
    (config,) = (project / "runs").glob("*/axolotl.yaml")
    loaded: dict[str, Any] = yaml.safe_load(config.read_text())
    return loaded


@pytest.mark.parametrize(
    ("written", "number", "text"), [("2e-4", 2e-4, None), ("1e-7", 1e-7, "1.0e-7"), ("3e20", 3e20, "3.0e+20")]
)
def test_numbers_are_numbers_to_the_trainer(tmp_path: Path, written: str, number: float, text: str | None) -> None:
    config = trained_with(tmp_path, learning_rate=written)
    assert config["learning_rate"] == number
    assert config["adam_epsilon"] == 1e-8
    assert config["weight_decay"] == 0.01
    (path,) = (tmp_path / "p" / "runs").glob("*/axolotl.yaml")
    if text is not None:
        assert f"learning_rate: {text}\n" in path.read_text()


@pytest.mark.parametrize("model", ["/data/models/Quill-9.5b", "./out/merged"])
def test_a_model_on_the_target_is_passed_on_as_it_is(tmp_path: Path, model: str) -> None:
    assert trained_with(tmp_path, base_model=f'"{model}"')["base_model"] == model
