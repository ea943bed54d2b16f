from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.events.types import ItemDone, StageFinished, StageModel, StageStarted
from overbrainer_core.pipeline.split import AnswerClass, allocate, classify, eval_size, split_answers
from overbrainer_core.values.stage import Exclusion, SplitReport, Stage

CASES = json.loads((Path(__file__).resolve().parents[2] / "golden" / "split.json").read_text(encoding="utf-8"))["cases"]


@dataclass(frozen=True)
class Answer:
    id: str
    topic: str
    subtopic: str


def answers_of(case: dict[str, Any]) -> list[Answer]:
    return [Answer(entry["id"], entry["topic"], entry["subtopic"]) for entry in case["records"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_membership_and_order_are_those_of_existing_projects(case: dict[str, Any]) -> None:
    answers = answers_of(case)
    for _ in range(3):
        train, evaluation = split_answers(answers, eval_ratio=case["eval_ratio"], seed=case["seed"])
        assert [answer.id for answer in train] == case["train"]
        assert [answer.id for answer in evaluation] == case["eval"]
        random.Random(1).shuffle(answers)


def tea(seed: int) -> tuple[list[str], list[str]]:
    brewing, steeping = subtopic_id("tea", "Brewing temperature"), subtopic_id("tea", "Steeping time")
    texts = [
        (brewing, "Brewing temperature", "Why does green tea turn bitter above 80 C?"),
        (brewing, "Brewing temperature", "How hot should water be for white tea?"),
        (brewing, "Brewing temperature", "What does boiling water do to black tea?"),
        (steeping, "Steeping time", "How long should oolong steep?"),
        (steeping, "Steeping time", "Why re-steep pu-erh many times?"),
    ]
    answers = [Answer(question_id(subtopic, text), "tea", name) for subtopic, name, text in texts]
    train, evaluation = split_answers(answers, eval_ratio=0.4, seed=seed)
    return [answer.id[:8] for answer in train], [answer.id[:8] for answer in evaluation]


def test_pinned_membership() -> None:
    assert tea(42) == (["26e9a520", "0877f175", "fcb5ffb0"], ["8821064f", "450a1e4f"])
    assert tea(7) == (["8821064f", "26e9a520", "fcb5ffb0"], ["0877f175", "450a1e4f"])


# C051
@pytest.mark.parametrize(
    ("usable", "ratio", "size"),
    [(0, 0.5, 0), (1, 0.9, 0), (2, 0.1, 1), (2, 0.9, 1), (10, 0.99, 9), (5, 0.5, 3), (15, 0.1, 2), (105, 0.1, 11)],
)
def test_the_eval_size_rounds_halves_up_and_leaves_one_on_each_side(usable: int, ratio: float, size: int) -> None:
    assert eval_size(usable, ratio) == size


def test_places_are_shared_by_size_and_none_is_lost() -> None:
    assert allocate(0, {}, seed=1) == {}
    assert allocate(3, {"a": 0, "b": 0}, seed=1) == {"a": 0, "b": 0}
    found = allocate(7, {"a": 10, "b": 10, "c": 1}, seed=42)
    assert sum(found.values()) == 7
    assert found["a"] + found["b"] >= 6


def test_an_answer_without_its_topic_or_question_is_orphaned_whatever_else_it_is() -> None:
    known = {"topics": frozenset({"tea"}), "questions": frozenset({"q"})}
    assert classify(Answer("q", "tea", "s"), None, **known) is AnswerClass.USABLE
    assert classify(Answer("q", "tea", "s"), Exclusion.EMPTY, **known) is AnswerClass.EXCLUDED
    assert classify(Answer("q", "old", "s"), Exclusion.EMPTY, **known) is AnswerClass.ORPHANED
    assert classify(Answer("x", "tea", "s"), None, **known) is AnswerClass.ORPHANED


def answer(identity: str, topic: str, excluded: str | None = None) -> dict[str, Any]:
    return {
        "id": identity,
        "topic": topic,
        "subtopic": "s",
        "messages": [{"role": "user", "content": identity}],
        "meta": {
            "model": "m",
            "input_tokens": 1,
            "output_tokens": 1,
            "finish_reason": "stop",
            "reasoning_kind": "none",
            "excluded": excluded,
        },
    }


def question(identity: str, topic: str) -> dict[str, Any]:
    return {"id": identity, "topic": topic, "subtopic_id": "i", "subtopic": "s", "text": identity}


def prepare(project: Any) -> None:
    project.topics(
        Topic(name="tea", subtopics=1, questions_per_subtopic=1),
        Topic(name="rice", subtopics=1, questions_per_subtopic=1),
    )
    project.write(project.paths.questions, *[question(f"q{n}", "tea") for n in range(12)], question("r", "rice"))
    project.write(
        project.paths.answers,
        *[answer(f"q{n}", "tea") for n in range(10)],
        answer("q10", "tea", "truncated"),
        answer("q11", "tea", "no_raw_reasoning"),
        answer("r", "rice"),
        answer("gone", "tea"),
        answer("gone too", "tea", "empty"),
        answer("q0", "old topic"),
    )


async def test_both_files_are_written_and_the_summary_counts(stage_project: Any) -> None:
    prepare(stage_project)
    outcome = await stage_project.run(Stage.SPLIT)
    assert outcome.summary == "split: 10 train, 1 eval, 2 excluded (truncated 1, no_raw_reasoning 1), 3 orphaned"
    assert stage_project.report.results == [outcome.summary]
    train = stage_project.lines(stage_project.paths.train)
    evaluation = stage_project.lines(stage_project.paths.eval)
    assert {entry["id"] for entry in train + evaluation} == {f"q{n}" for n in range(10)} | {"r"}
    assert answer("r", "rice") in train + evaluation
    started, finished = stage_project.events
    assert started == StageStarted(stage=Stage.SPLIT, total=16)
    assert isinstance(finished, StageFinished)
    assert (finished.stats.done, finished.stats.skipped, finished.stats.excluded) == (11, 3, 2)
    assert not any(isinstance(event, ItemDone | StageModel) for event in stage_project.events)
    (line,) = stage_project.history()
    assert (line["done"], line["skipped"], line["failed"], line["excluded"]) == (0, 0, 0, 2)
    assert line["split"] == {"train": 10, "eval": 1, "orphaned": 3}
    assert line["provider"] is None
    assert stage_project.provider.requests == []


async def test_a_topic_limits_the_counts_and_not_the_files(stage_project: Any) -> None:
    prepare(stage_project)
    outcome = await stage_project.run(Stage.SPLIT, topic="rice")
    assert outcome.split is not None
    assert outcome.split.train + outcome.split.eval == 1
    assert outcome.split.orphaned == 0
    lines = stage_project.lines(stage_project.paths.train) + stage_project.lines(stage_project.paths.eval)
    assert len(lines) == 11
    assert stage_project.events[0] == StageStarted(stage=Stage.SPLIT, total=1)


async def test_the_same_answers_give_the_same_bytes_in_any_order(stage_project: Any) -> None:
    prepare(stage_project)
    await stage_project.run(Stage.SPLIT)
    before = stage_project.paths.train.read_bytes(), stage_project.paths.eval.read_bytes()
    lines = stage_project.lines(stage_project.paths.answers)
    stage_project.write(stage_project.paths.answers, *reversed(lines))
    await stage_project.run(Stage.SPLIT)
    assert (stage_project.paths.train.read_bytes(), stage_project.paths.eval.read_bytes()) == before


async def test_usable_answers_that_are_all_orphaned_are_a_warning(stage_project: Any) -> None:
    stage_project.write(stage_project.paths.answers, answer("a", "tea"), answer("b", "tea"))
    outcome = await stage_project.run(Stage.SPLIT)
    assert outcome.split == SplitReport(train=0, eval=0, orphaned=2)
    assert outcome.summary == "split: 0 train, 0 eval, 0 excluded, 2 orphaned"
    (warning,) = stage_project.report.warnings
    assert "2 usable answers" in warning
    assert stage_project.paths.train.read_bytes() == b""


async def test_a_project_without_answers_splits_to_nothing(stage_project: Any) -> None:
    outcome = await stage_project.run(Stage.SPLIT)
    assert outcome.split == SplitReport(train=0, eval=0, orphaned=0)
    assert stage_project.report.warnings == []


def test_the_same_answer_twice_never_ends_on_both_sides() -> None:
    dice = random.Random(5)
    for seed in range(40):
        numbers = [dice.randrange(9) for _ in range(dice.randrange(1, 14))]
        answers = [Answer(f"q{number}", "tea", "ab"[number % 2]) for number in numbers]
        train, evaluation = split_answers(answers, eval_ratio=dice.choice([0.1, 0.5, 0.9]), seed=seed)
        assert not {answer.id for answer in train} & {answer.id for answer in evaluation}
        assert len(train) + len(evaluation) == len(answers)
        assert train


def test_copies_of_one_answer_all_train() -> None:
    answers = [Answer("q", "tea", "a")] * 3
    assert split_answers(answers, eval_ratio=0.5, seed=1) == (answers, [])


@pytest.mark.parametrize(("subtopics", "each", "train", "evaluation"), [(20, 1, 18, 2), (7, 15, 94, 11)])
def test_many_tiny_subtopics_still_give_an_evaluation_set(
    subtopics: int, each: int, train: int, evaluation: int
) -> None:
    answers = [Answer(f"{name}-{n}", "tea", f"s{name}") for name in range(subtopics) for n in range(each)]
    trained, evaluated = split_answers(answers, eval_ratio=0.1, seed=42)
    assert (len(trained), len(evaluated)) == (train, evaluation)


def test_every_topic_has_its_share_of_the_evaluation_set_however_small_its_subtopics_are() -> None:
    answers = [Answer(f"{topic}-{n}", topic, f"s{n}") for topic in ("a", "b", "c") for n in range(10)]
    _, evaluated = split_answers(answers, eval_ratio=0.1, seed=42)
    assert sorted(answer.topic for answer in evaluated) == ["a", "b", "c"]
