"""A project that trains on this machine, with a stand-in of `axolotl` that does what its mode file says.

The stand-in obeys the same files as the real program under the plugin: metric lines, snapshot request, proof. The real
one is met in `tests/e2e`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

SCRIPT = """#!/bin/sh
mode=$(cat "$(dirname "$0")/../mode")
say() { printf '%s\\n' "$1" >> "$OVERBRAINER_METRICS"; }
log() { say '{"event":"log","time":'"$1"',"step":'"$1"',"epoch":0.5,"max_steps":3,"loss":1.5}'; }
if [ "$1" = merge-lora ]; then
    mkdir -p output/merged && echo merged > output/merged/model && exit 0
fi
echo "secrets: HF_TOKEN is ${HF_TOKEN:+set}"
case $mode in
    fail) echo "ValueError: eval dataset split is too small for sample_packing"; exit 7 ;;
    silent) mkdir -p output && echo model > output/model; exit 0 ;;
esac
say '{"event":"begin","time":1,"max_steps":3}'
log 1
while [ "$mode" = wait ] && [ ! -e "$OVERBRAINER_SNAPSHOT" ]; do sleep 0.05; done
if [ -e "$OVERBRAINER_SNAPSHOT" ]; then
    mkdir -p output/checkpoint-1 output && echo state > output/checkpoint-1/state && echo part > output/model
    printf '{"checkpoint": "output/checkpoint-1", "step": 1, "reason": "%s"}' "$(cat "$OVERBRAINER_SNAPSHOT")" \\
        > snapshot.json
    exit 0
fi
log 2
log 3
say '{"event":"end","time":4,"step":3}'
mkdir -p output && echo model > output/model
"""

TOML = """[project]
name = "demo"

[[topics]]
name = "sums"
subtopics = 1
questions_per_subtopic = 1

[providers.local]
protocol = "openai"

[roles]
generator = {{ provider = "local", model = "g" }}
parent = {{ provider = "local", model = "p", reasoning = true }}

[training]
target = "here"
base_model = "{base_model}"
adapter = "{adapter}"
{training}
[targets.here]
kind = "local"
runtime = "native"
{target}
[targets.box]
kind = "ssh"
runtime = "native"

[targets.image]
kind = "local"
runtime = "docker"
"""

LORA = "merge = true\n"


def example(first: int, second: int) -> str:
    """One line of training data."""
    messages = [
        {"role": "user", "content": f"What is {first} plus {second}?"},
        {"role": "assistant", "content": f"{first} plus {second} is {first + second}.", "reasoning_content": "add"},
    ]
    return json.dumps({"messages": messages}) + "\n"


def write_data(root: Path, *, train: int = 12, evaluation: int = 3) -> None:
    """Data files of a project."""
    (root / "data").mkdir(parents=True, exist_ok=True)
    (root / "data" / "train.jsonl").write_text("".join(example(number, 2) for number in range(train)))
    (root / "data" / "eval.jsonl").write_text("".join(example(number, 7) for number in range(evaluation)))


def write_project(
    root: Path,
    *,
    base_model: str = "acme/qwen3",
    adapter: str = "lora",
    training: str = LORA,
    target: str | None = None,
) -> None:
    """A project whose target `here` runs the stand-in, unless the target's lines say otherwise."""
    venv = root / "venv"
    (venv / "bin").mkdir(parents=True)
    program = venv / "bin" / "axolotl"
    program.write_text(SCRIPT)
    program.chmod(0o755)
    set_mode(root, "ok")
    lines = f'venv = "{venv}"\n' if target is None else target
    toml = TOML.format(base_model=base_model, adapter=adapter, training=training, target=lines)
    (root / "overbrainer.toml").write_text(toml)
    write_data(root)


def set_mode(root: Path, mode: str) -> None:
    """What the stand-in does: `ok`, `fail`, `silent` (no metrics), `wait` (until a snapshot is asked for)."""
    (root / "venv" / "mode").write_text(mode)


def project_environment(**more: str) -> dict[str, str]:
    """The environment that sessions of such a project are opened with."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "OVERBRAINER_PROVIDERS__LOCAL__BASE_URL": "http://127.0.0.1:9/v1",
        **more,
    }
