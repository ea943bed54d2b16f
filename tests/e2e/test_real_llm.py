"""The four stages on a real model: its replies are odd, repeated and cut, and the stages cope.

The model is a small base model behind the real llama.cpp server: it continues text rather than answers. What it says is
nobody's business here, what the stages make of it is: no crash, honest counters, nothing unfit for training.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.dataset.ids import question_id, subtopic_id
from tests.peers.llama_server import require_llama_server, serve_gguf, small_llm
from tests.peers.program import run

pytestmark = [pytest.mark.peer("xllamacpp"), pytest.mark.slow, pytest.mark.timeout(600)]

CONFIG = """\
[project]
name = "real"

[[topics]]
name = "tea"
subtopics = 2
questions_per_subtopic = 2

[providers.here]
protocol = "openai"

[roles]
generator = { provider = "here", model = "small", max_tokens = 32, temperature = 0.0 }
parent = { provider = "here", model = "small", max_tokens = 12, temperature = 0.0 }

[pipeline]
concurrency = 2
max_retries = 1
question_batch_size = 2
"""
SUMMARY = re.compile(
    r"(\d+) done, (\d+) skipped, (\d+) failed, (\d+) excluded; tokens (\d+) in, (\d+) out; cost unknown"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of the model's server."""
    require_llama_server()
    with small_llm(tmp_path_factory.mktemp("model")) as path, serve_gguf(path) as url:
        yield f"{url}/v1"


@pytest.fixture
def project(tmp_path: Path, server: str) -> Path:
    """A project whose generator and parent are the small model."""
    (tmp_path / ".overbrainer").mkdir()
    (tmp_path / ".overbrainer" / "version").write_text("1\n")
    (tmp_path / "overbrainer.toml").write_text(CONFIG)
    (tmp_path / ".env").write_text(f"OVERBRAINER_PROVIDERS__HERE__BASE_URL={server}\n")
    return tmp_path


def stage(project: Path, name: str) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """Run a stage; how it ended, and the numbers of its summary."""
    done = run(project, name, limit_s=300)
    assert done.returncode in (0, 7), done.stderr
    assert "Traceback" not in done.stderr
    numbers = [list(map(int, found)) for found in SUMMARY.findall(done.stdout.splitlines()[-1])]
    assert numbers, done.stdout
    assert (numbers[0][2] > 0) == (done.returncode == 7)
    return done, numbers[0]


def records(project: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a data file."""
    path = project / "data" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def history(project: Path, name: str) -> dict[str, Any]:
    """The newest line of a stage's history."""
    lines = (project / ".overbrainer" / "history.jsonl").read_text().splitlines()
    found: dict[str, Any] = [entry for entry in map(json.loads, lines) if entry["stage"] == name][-1]
    return found


def test_the_stages_cope_with_a_real_model(project: Path) -> None:
    _, (done, skipped, failed, excluded, tokens_in, tokens_out) = stage(project, "subtopics")
    assert (done + failed, skipped, excluded) == (1, 0, 0)
    assert tokens_in > 0
    assert 0 < tokens_out <= (1 + 2) * 32
    subtopics = records(project, "subtopics")
    assert len(subtopics) <= 2
    assert len({record["id"] for record in subtopics}) == len(subtopics)
    assert all(record["id"] == subtopic_id("tea", record["name"]) for record in subtopics)
    if not subtopics:
        subtopics = [{"id": subtopic_id("tea", "Brewing"), "topic": "tea", "name": "Brewing"}]
        (project / "data" / "subtopics.jsonl").write_text(json.dumps(subtopics[0]) + "\n")
    _, (done, skipped, failed, excluded, tokens_in, _) = stage(project, "questions")
    assert (done + failed, skipped, excluded) == (len(subtopics), 0, 0)
    assert tokens_in == history(project, "questions")["input_tokens"] > 0
    questions = records(project, "questions")
    assert len(questions) <= 2 * len(subtopics)
    assert all(record["text"] == record["text"].strip() != "" for record in questions)
    add_question(project, subtopics[0])
    answer_all(project)


def add_question(project: Path, subtopic: dict[str, Any]) -> None:
    """A question of a person's own: the model may have written none."""
    text = "Why does green tea turn bitter when the water is too hot?"
    record = {
        "id": question_id(subtopic["id"], text),
        "topic": "tea",
        "subtopic_id": subtopic["id"],
        "subtopic": subtopic["name"],
        "text": text,
    }
    with (project / "data" / "questions.jsonl").open("a") as handle:
        handle.write(json.dumps(record) + "\n")


def answer_all(project: Path) -> None:
    """Every answer is kept and classed by how it ended; asking again asks nothing; the split adds up."""
    questions = records(project, "questions")
    _, (done, skipped, failed, excluded, tokens_in, tokens_out) = stage(project, "answers")
    answers = records(project, "answers")
    assert (done + excluded + failed, skipped) == (len(questions), 0)
    assert len(answers) == done + excluded
    assert sum(record["meta"]["input_tokens"] for record in answers) == tokens_in
    assert sum(record["meta"]["output_tokens"] for record in answers) == tokens_out
    for record in answers:
        meta = record["meta"]
        assert meta["finish_reason"] in ("stop", "length")
        assert meta["output_tokens"] <= 12
        content = record["messages"][-1]["content"]
        is_cut = meta["finish_reason"] == "length"
        assert meta["excluded"] == ("truncated" if is_cut else "empty" if not content.strip() else None)
    if not failed:
        _, again = stage(project, "answers")
        assert again == [0, len(questions), 0, 0, 0, 0]
    split = json.loads(run(project, "split", "--json").stdout)
    assert split["excluded"] == excluded
    assert split["train"] + split["eval"] == done
    assert split["orphaned"] == 0
