"""A project made by overbrainer 0.10 opens as it is and stays one; a new project stays readable for 0.10."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_core.assets import template
from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import parse_settings
from tests.peers.program import run

CONFIG = """\
# made by hand, kept as it is
[project]
name = "tea"

[[topics]]
name = "tea"
description = "Tea and how it is made"
subtopics = 1
questions_per_subtopic = 2

[providers.openrouter]
protocol = "openai"

[providers.claude]
protocol = "anthropic"

[roles]
generator = { provider = "openrouter", model = "maker/one", max_tokens = 4096, temperature = 0.7 }
parent = { provider = "claude", model = "maker/two", reasoning = true, thinking_budget = 2048 }
embedder = { provider = "openrouter", model = "maker/embed" }
judge = { provider = "openrouter", model = "maker/judge", max_tokens = 1024, reasoning_effort = "none" }

[pipeline]
concurrency = 4
max_retries = 5
dedup_threshold = 0.8
embedding_threshold = 0.9
question_batch_size = 10
request_timeout_secs = 600
eval_ratio = 0.5
seed = 42
include_system_prompt = true

[training]
target = "gpu_box"
base_model = "Qwen/Qwen3-4B"
adapter = "qlora"
epochs = 3
learning_rate = 2e-4
merge = true

[training.axolotl_extra]
warmup_ratio = 0.1
special_tokens = { eos_token = "</s>" }

[targets.here]
kind = "local"
runtime = "native"
venv = "~/axolotl"

[targets.gpu_box]
kind = "ssh"
runtime = "docker"
engine = "podman"
workdir = "work"
ssh_client = "openssh"

[targets.cloud]
kind = "runpod"
gpu_types = ["NVIDIA A40", "NVIDIA L40S"]
gpu_count = 2.0
max_hours = "6"
max_cost_usd = 20
data_center_ids = ["EU-RO-1"]
network_volume_id = "abc123"
max_volume_gb = 200

[export]
after_training = true
quantize = "Q5_K_M"
ollama_name = "me/tea:q5"

[hub]
repo = "me/tea"
private = true
after_training = false

[compare]
parent_price_in = 0.5
parent_price_out = 2
server_start_secs = 300

[metrics]
listen = "127.0.0.1:0"
"""
SUBTOPIC = '{"id":"58bdc0d8c84e2956d1ae19aba990a1af","topic":"tea","name":"Brewing temperature"}\n'
QUESTION = (
    '{"id":"0877f175ccf39b8df7a73b6470e9c152","topic":"tea","subtopic_id":"58bdc0d8c84e2956d1ae19aba990a1af",'
    '"subtopic":"Brewing temperature","text":"Why does green tea turn bitter above 80 C?"}\n'
)
ANSWER = (
    '{"id":"0877f175ccf39b8df7a73b6470e9c152","topic":"tea","subtopic":"Brewing temperature","messages":['
    '{"role":"user","content":"Why does green tea turn bitter above 80 C?"},'
    '{"role":"assistant","content":"Hotter water pulls out more catechins.",'
    '"reasoning_content":"Catechin solubility rises with heat."}],"meta":{"model":"maker/two",'
    '"input_tokens":58,"output_tokens":412,"finish_reason":"stop","reasoning_kind":"raw","excluded":null}}\n'
)
HISTORY = (
    '{"stage":"answers","started_at":"2026-09-28T10:00:00Z","ended_at":"2026-09-28T10:04:12Z","status":"ok",'
    '"provider":"claude","model":"maker/two","done":1,"skipped":0,"failed":0,"excluded":0,"input_tokens":58,'
    '"output_tokens":412,"cost":0.0931}\n'
)
RUN = {
    "id": "tea_20260928-110000",
    "target": "gpu_box",
    "created": "2026-09-28T11:00:00Z",
    "remote_dir": "/home/me/work/tea_20260928-110000",
    "job": {"dir": "/home/me/work/tea_20260928-110000", "pid": 4711, "container": None},
    "state": "succeeded",
    "message": None,
    "snapshots": True,
}
FILES = {
    "overbrainer.toml": CONFIG,
    ".env": "OVERBRAINER_PROVIDERS__OPENROUTER__BASE_URL=http://127.0.0.1:9/v1\nOVERBRAINER_TARGETS__GPU_BOX__HOST=me@lab\n",
    ".gitignore": ".env\n/data/\n/runs/\n/.overbrainer/\n",
    ".overbrainer/version": "1\n",
    ".overbrainer/history.jsonl": HISTORY,
    "data/subtopics.jsonl": SUBTOPIC,
    "data/questions.jsonl": QUESTION,
    "data/answers.jsonl": ANSWER,
    "runs/tea_20260928-110000/run.json": json.dumps(RUN, indent=2) + "\n",
}

NEW_KEYS = {
    "pipeline.max_cost_usd",
    "training.trainer",
    "compare.judge_orders",
    "compare.server",
    "targets.local.gpus",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project as 0.10 left it."""
    for name, text in FILES.items():
        path = tmp_path / "tea" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tea"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["config", "check"], "targets.cloud = runpod 2x [NVIDIA A40, NVIDIA L40S], max 6h, max $20, "),
        (["runs", "ls"], "tea_20260928-110000"),
        (["history"], "answers"),
        (["stats"], "tea"),
        (["split"], "split: 1 train, 0 eval, 0 excluded, 0 orphaned"),
        (["migrate"], "nothing to migrate"),
    ],
)
def test_it_opens_unchanged(project: Path, arguments: list[str], words: str) -> None:
    done = run(project, *arguments)
    assert (done.returncode, words in done.stdout) == (0, True), done.stdout + done.stderr
    assert "predates" not in done.stderr
    for name, text in FILES.items():
        held = (project / name).read_text()
        assert held.startswith(text) if name.endswith("history.jsonl") else held == text, name


def test_a_new_project_sets_no_key_that_0_10_refuses() -> None:
    settings = parse_settings(template("overbrainer.toml"), Environment(values={}))
    assert not NEW_KEYS & settings.file_keys
