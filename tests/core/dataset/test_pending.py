"""What is left to ask, read from the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_core.dataset.pending import StoredSubtopic, read_stored
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.usage import Usage


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path)
    found.data.mkdir()
    found.subtopics.write_text(
        "".join(json.dumps({"id": name, "topic": "tea", "name": f"N {name}"}) + "\n" for name in ("s1", "s2"))
    )
    questions = [("q1", "s1", "What?"), ("q2", "s1", "Why é?"), ("q3", "s9", "Who?")]
    found.questions.write_text(
        "".join(
            json.dumps({"id": name, "topic": "tea", "subtopic_id": subtopic, "subtopic": "x", "text": text}) + "\n"
            for name, subtopic, text in questions
        )
    )
    answers = [("q1", "big", 40), ("old", "big", 50), ("q3", "small", 60), ("none", "big", 0)]
    found.answers.write_text(
        "".join(
            json.dumps({"id": name, "topic": "tea", "meta": {"model": model, "input_tokens": 9, "output_tokens": out}})
            + "\n"
            for name, model, out in answers
        )
        + "not a record\n"
    )
    return found


def test_open_questions_are_those_without_any_answer(paths: ProjectPaths) -> None:
    stored = read_stored(paths, "big")
    assert stored.open_bytes == {"tea": [7]}
    assert stored.subtopics == {
        "tea": [
            StoredSubtopic(id="s1", name="N s1", questions=2, question_bytes=12),
            StoredSubtopic(id="s2", name="N s2"),
        ]
    }


def test_only_answers_of_the_model_tell_what_one_takes(paths: ProjectPaths) -> None:
    expected = [Usage(input_tokens=9, output_tokens=40), Usage(input_tokens=9, output_tokens=50)]
    assert read_stored(paths, "big").usages == {"tea": expected}
    assert read_stored(paths, "other").usages == {}


def test_answers_that_are_to_be_asked_again_still_tell_what_they_took(paths: ProjectPaths) -> None:
    stored = read_stored(paths, "big", unanswered=frozenset({"tea"}))
    assert stored.open_bytes == {"tea": [5, 7, 4]}
    assert len(stored.usages["tea"]) == 2


def test_without_a_model_no_answer_is_read(paths: ProjectPaths) -> None:
    paths.answers.unlink()
    paths.answers.mkdir()
    assert read_stored(paths, None).open_bytes == {"tea": [5, 7, 4]}


def test_a_project_without_data_has_nothing(tmp_path: Path) -> None:
    stored = read_stored(ProjectPaths(tmp_path), "big")
    assert (stored.subtopics, stored.open_bytes, stored.usages) == ({}, {}, {})
