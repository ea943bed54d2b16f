"""The whole demo as a process: what it promises, measured on its files."""

from __future__ import annotations

import importlib
import itertools
import json
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.llm.demo_judge import mark_answer
from overbrainer_core.llm.demo_tables import find_fact
from tests.peers.program import ROOT, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.xdist_group("demo")]

END_OF_TURN = 4
"""The token that ends a turn."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The finished demo: its directory, what was printed, CPU seconds used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    root = tmp_path_factory.mktemp("demo") / "d"
    done = run(root.parent, "demo", "d", "--headless", limit_s=380)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (record,) = list(root.glob("runs/*/run.json"))
    return {"root": root, "done": done, "cpu": cpu, "run": record.parent}


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_it_ends_well_with_its_summaries(demo: dict[str, Any]) -> None:
    done = demo["done"]
    assert done.returncode == 0, done.stderr
    names = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert names == ["subtopics", "questions", "answers", "split", "train", "train"]
    assert "706 done, 0 skipped, 0 failed, 14 excluded" in done.stdout
    assert "split: 626 train, 80 eval, 14 excluded (truncated 11, refused 3), 0 orphaned" in done.stdout


def test_the_evaluation_loss_falls_below_a_tenth(demo: dict[str, Any]) -> None:
    losses = [line["eval_loss"] for line in lines(demo["run"] / "metrics.jsonl") if line.get("eval_loss")]
    assert len(losses) == 16
    assert losses[-1] < 0.1
    assert all(later <= earlier * 1.1 for earlier, later in itertools.pairwise(losses))


def test_it_costs_under_two_hundred_cpu_seconds(demo: dict[str, Any]) -> None:
    assert demo["cpu"] < 200


def test_the_child_knows_most_facts_and_errs_on_some(demo: dict[str, Any]) -> None:
    folder = ROOT / "job_scripts" / "training"
    sys.path.insert(0, str(folder))
    try:
        names = ("files", "model", "tokenizer")
        files, model_module, tokenizer = (importlib.import_module(f"tiny_{name}") for name in names)
    finally:
        sys.path.remove(str(folder))
    model, vocabulary = files.read_model(demo["run"] / "output")
    right = wins = losses = 0
    for record in lines(demo["root"] / "data" / "eval.jsonl"):
        question = record["messages"][-2]["content"]
        parent = record["messages"][-1]["content"]
        prompt = tokenizer.prompt_tokens([{"role": "user", "content": question}], vocabulary)
        ids = model_module.generate(model, prompt, limit=128, stop=END_OF_TURN)
        child = vocabulary.decode(ids).split("</think>")[-1].strip()
        fact = find_fact(question)
        assert fact is not None
        mine, theirs = mark_answer(fact, child), mark_answer(fact, parent)
        right += mine.is_right
        wins += mine.score > theirs.score
        losses += mine.score < theirs.score
    assert right >= 68
    assert wins >= 3
    assert losses >= 3


def test_a_second_call_starts_nothing(demo: dict[str, Any]) -> None:
    again = run(demo["root"].parent, "demo", "d", "--headless")
    assert again.returncode == 0
    assert again.stdout.splitlines()[-2:] == demo["done"].stdout.splitlines()[-2:]
    assert len(list(demo["root"].glob("runs/*/run.json"))) == 1
