"""The dataset in numbers: a document, and lines that fit 80 columns."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.flows.stats import MAX_LEAKS_SHOWN, dataset_stats, stats_document, stats_lines
from overbrainer_core.text import cell_width

META = {
    "model": "m",
    "input_tokens": 1,
    "output_tokens": 120,
    "finish_reason": "stop",
    "reasoning_kind": "none",
    "excluded": None,
}
REPEATED = "How long should green tea steep in hot water"


def question(text: str, topic: str = "tea") -> dict[str, Any]:
    """A question under the subtopic `Brewing`."""
    under = subtopic_id(topic, "Brewing")
    return {
        "id": question_id(under, text),
        "topic": topic,
        "subtopic_id": under,
        "subtopic": "Brewing",
        "text": text,
    }


def example(text: str, topic: str = "tea", **meta: Any) -> dict[str, Any]:
    """The answer of a question."""
    asked = question(text, topic)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    answer = {"role": "assistant", "content": "Four minutes."}
    identity = {key: asked[key] for key in ("id", "topic", "subtopic")}
    return {**identity, "messages": [*messages, answer], "meta": {**META, **meta}}


@pytest.fixture
def project(stage_project: Any) -> Any:
    """Two topics that share a question, which is in train and, reworded, in eval."""
    paths = stage_project.paths
    subtopics = [{"id": subtopic_id(topic, "Brewing"), "topic": topic, "name": "Brewing"} for topic in ("tea", "mate")]
    stage_project.topics(
        Topic(name="tea", subtopics=1, questions_per_subtopic=2),
        Topic(name="mate", subtopics=1, questions_per_subtopic=2),
    )
    stage_project.write(paths.subtopics, *subtopics)
    stage_project.write(paths.questions, question(REPEATED), question(REPEATED, "mate"), question("Why?"))
    answers = [example(REPEATED), example(REPEATED, "mate"), example("Why?", excluded="truncated")]
    stage_project.write(paths.answers, *answers)
    stage_project.write(paths.train, example(REPEATED))
    stage_project.write(paths.eval, example(REPEATED + " please", "mate"))
    return stage_project


def test_the_document_has_the_figures_of_every_topic(project: Any) -> None:
    document = stats_document(dataset_stats(project.paths, project.settings))
    assert document["topics"][0] == {
        "topic": "tea",
        "subtopics": 1,
        "questions": 2,
        "answers": 2,
        "usable": 1,
        "excluded": 1,
        "refused": 0,
        "truncated": 1,
        "question_chars": {"p50": 4, "p95": 44},
        "answer_chars": {"p50": 13, "p95": 13},
        "output_tokens": {"p50": 120, "p95": 120},
    }
    assert [topic["topic"] for topic in document["topics"]] == ["tea", "mate"]
    assert document["near_duplicates"] == 1
    assert document["leaks"] == [
        {
            "eval_id": question(REPEATED + " please", "mate")["id"],
            "train_id": question(REPEATED)["id"],
            "similarity": 0.8889,
        }
    ]
    assert list(document) == ["topics", "near_duplicates", "leaks"]


def test_a_threshold_of_the_settings_decides_what_repeats(project: Any) -> None:
    project.change(dedup_threshold=0.95)
    document = stats_document(dataset_stats(project.paths, project.settings))
    assert (document["near_duplicates"], document["leaks"]) == (1, [])


def test_the_lines_are_aligned(project: Any) -> None:
    lines = stats_lines(dataset_stats(project.paths, project.settings))
    assert lines == [
        "topic       subtopics  questions    answers     usable   excluded",
        "tea                 1          2          2          1          1",
        "mate                1          1          1          1          0",
        "all topics          2          3          3          2          1",
        "",
        "                              question chars  answer chars output tokens",
        "topic      truncated   refused    p50    p95    p50    p95    p50    p95",
        "tea                1         0      4     44     13     13    120    120",
        "mate               0         0     44     44     13     13    120    120",
        "all topics         1         0     44     44     13     13    120    120",
        "",
        "questions that nearly repeat one of another topic: 1",
        "evaluation questions that nearly repeat a training question: 1 of 1",
        f"  {question(REPEATED + ' please', 'mate')['id']}  {question(REPEATED)['id']}  0.89",
    ]


def test_an_empty_dataset_has_figures_too(stage_project: Any) -> None:
    stats = dataset_stats(stage_project.paths, stage_project.settings)
    lines = stats_lines(stats)
    assert lines[1] == "tea            0          0          0          0          0"
    assert lines[5].split() == ["tea", "0", "0", "-", "-", "-", "-", "-", "-"]
    assert lines[-1] == "evaluation questions: none yet"
    assert stats_document(stats)["topics"][0]["answer_chars"] == {"p50": None, "p95": None}


def test_odd_topics_and_many_leaks_stay_within_80_columns(project: Any) -> None:
    wide = "水" * 30 + "\x1b[31m"
    texts = [f"{REPEATED} number {number}" for number in range(MAX_LEAKS_SHOWN + 5)]
    project.write(project.paths.questions, *[question(text, wide) for text in texts])
    project.write(project.paths.answers, example("gone", wide, output_tokens=9_999_999))
    project.write(project.paths.train, *[example(text) for text in texts])
    project.write(project.paths.eval, *[example(text, wide) for text in texts])
    lines = stats_lines(dataset_stats(project.paths, project.settings))
    assert max(map(cell_width, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert any(line.startswith("not configured: 水") for line in lines)
    assert "orphaned answers: 1" in lines
    assert lines[-1] == "  and 5 more: --json lists them all"
