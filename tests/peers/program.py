"""The `overbrainer` program as a process, and projects for it to work on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it runs in the background like this, and every program started here would stay deaf too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A plain environment in which the checkout is importable."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "OVERBRAINER_NO_UPDATE_CHECK": "1", **(extra or {})}


def start(project: Path, *arguments: str, extra: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command on a project."""
    return subprocess.Popen(
        [sys.executable, "-m", "overbrainer_tui", "-C", str(project), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment(extra),
    )


def run(
    project: Path, *arguments: str, extra: Mapping[str, str] | None = None, limit_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    process = start(project, *arguments, extra=extra)
    try:
        stdout, stderr = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def until(condition: Callable[[], bool], *, limit_s: float = 30) -> None:
    """Return once the condition holds."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def end_group(pid: int) -> None:
    """End a job's process group that a test left running."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


CONFIG = """\
[project]
name = "e2e"

[[topics]]
name = "tea"
subtopics = 2
questions_per_subtopic = 3

[providers.here]
protocol = "openai"

[roles]
generator = {{ provider = "here", model = "generator" }}
parent = {{ provider = "here", model = "parent" }}

[pipeline]
concurrency = 2
max_retries = 1
eval_ratio = 0.34
{training}
"""

TINY_TRAINING = """
[training]
target = "local"
trainer = "tiny"
base_model = "tiny-0.2m"
adapter = "full"
epochs = {epochs}
learning_rate = 1e-3
sequence_len = 64
micro_batch_size = 2
gradient_accumulation_steps = 1
evals_per_epoch = 1

[targets.local]
kind = "local"
runtime = "native"
"""

AXOLOTL_TRAINING = """
[training]
target = "local"
base_model = "base"
adapter = "lora"

[targets.local]
kind = "local"
runtime = "native"
venv = "{venv}"
"""


def write_project(root: Path, *, training: str = "", base_url: str = "http://127.0.0.1:9/v1") -> Path:
    """A project on disk."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "overbrainer.toml").write_text(CONFIG.format(training=training))
    (root / ".env").write_text(f"OVERBRAINER_PROVIDERS__HERE__BASE_URL={base_url}\n")
    (root / ".overbrainer").mkdir(exist_ok=True)
    (root / ".overbrainer" / "version").write_text("1\n")
    return root


def write_split(root: Path, *, train: int = 8, evaluation: int = 2) -> None:
    """Training and evaluation data without any request."""
    (root / "data").mkdir(exist_ok=True)
    for name, count in (("train", train), ("eval", evaluation)):
        lines = [
            f'{{"id":"{number:032x}","topic":"tea","subtopic":"s","messages":['
            f'{{"role":"user","content":"What is {number}?"}},'
            f'{{"role":"assistant","content":"It is {number}."}}],'
            '"meta":{"model":"parent","input_tokens":1,"output_tokens":1,"finish_reason":"stop",'
            '"reasoning_kind":"none","excluded":null}}\n'
            for number in range(count)
        ]
        (root / "data" / f"{name}.jsonl").write_text("".join(lines))
