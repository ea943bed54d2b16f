from __future__ import annotations

from pathlib import Path

from overbrainer_core.dataset.counts import count_examples, dataset_counts
from overbrainer_core.project.paths import ProjectPaths


def _answer(question: str, topic: str = "tea", excluded: str = "null") -> str:
    return (
        f'{{"id":"{question}","topic":"{topic}","subtopic":"S","messages":[],"meta":{{"model":"m","input_tokens":1,'
        f'"output_tokens":1,"finish_reason":"stop","reasoning_kind":"none","excluded":{excluded}}}}}\n'
    )


def test_counts_are_told_per_configured_topic(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    paths.data.mkdir()
    paths.subtopics.write_text('{"id":"s","topic":"tea","name":"S"}\n{"id":"u","topic":"rice","name":"U"}\n')
    paths.questions.write_text(
        "".join(f'{{"id":"q{n}","topic":"tea","subtopic_id":"s","subtopic":"S","text":"x"}}\n' for n in range(4))
    )
    paths.answers.write_text(
        _answer("q0")
        + _answer("q0")
        + _answer("q1", excluded='"empty"')
        + "oops\n"
        + _answer("gone")
        + _answer("z", "old")
    )
    counts = dataset_counts(paths, ["tea", "rice"])
    tea, rice = counts.topics
    assert (tea.subtopics, tea.questions, tea.answered) == (1, 4, 2)
    assert (tea.usable, tea.excluded, tea.orphaned) == (2, 1, 1)
    assert (rice.subtopics, rice.questions) == (1, 0)
    assert counts.questions_by_subtopic == {"s": 4}
    assert counts.unconfigured == 1
    assert [problem.line for problem in counts.problems] == [4]
    assert counts.total().subtopics == 2


def test_a_new_project_counts_nothing(tmp_path: Path) -> None:
    counts = dataset_counts(ProjectPaths(tmp_path), ["tea"])
    assert counts.topics[0].questions == 0
    assert count_examples(ProjectPaths(tmp_path).train) == 0


def test_examples_are_counted_without_blank_and_torn_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("{}\n\n{}\n{}")
    assert count_examples(path) == 3
    path.write_text("{}\n\n{}\n{")
    assert count_examples(path) == 2
