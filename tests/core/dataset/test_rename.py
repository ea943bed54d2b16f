"""A renamed subtopic takes its questions, answers and rejected questions along."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.rename import RenameSubtopic

OLD = subtopic_id("tea", "Brewing")
NEW = subtopic_id("tea", "Making it")


def rename(name: str, **changes: str) -> RenameSubtopic:
    """The subtopic `Brewing` under another name."""
    return RenameSubtopic(**{"id": OLD, "shown": "Brewing", "name": name, **changes})


def test_another_name_moves_everything_to_new_ids(tea: Any) -> None:
    tea.rejected_question("Brewing", "Is it wet?")
    tea.rejected_question("Cups", "Is it round?")
    before = {name: tea.records(name) for name in ("subtopics", "questions", "answers", "rejected")}
    outcome = tea.edit(rename("Making it"))
    assert outcome.line == "subtopic renamed; 3 questions, 2 answers, 1 rejected question moved along"
    assert (outcome.id, outcome.questions, outcome.answers, outcome.rejected) == (NEW, 3, 2, 1)
    assert tea.records("subtopics") == [
        {"id": NEW, "topic": "tea", "name": "Making it"},
        before["subtopics"][1],
    ]
    for old, new in zip(before["questions"][:3], tea.records("questions")[:3], strict=True):
        moved = {"id": question_id(NEW, old["text"]), "subtopic_id": NEW, "subtopic": "Making it"}
        assert new == {**old, **moved}
    for old, new in zip(before["answers"][:2], tea.records("answers")[:2], strict=True):
        text = next(message["content"] for message in old["messages"] if message["role"] == "user")
        assert new == {**old, "id": question_id(NEW, text), "subtopic": "Making it"}
    wet = {"id": question_id(NEW, "Is it wet?"), "subtopic_id": NEW}
    assert tea.records("rejected") == [{**before["rejected"][0], **wet}, before["rejected"][1]]
    assert tea.records("questions")[3] == before["questions"][3]
    assert tea.records("answers")[2] == before["answers"][2]


def test_another_spelling_keeps_every_id(tea: Any) -> None:
    tea.rejected_question("Brewing", "Is it wet?")
    ids = {name: tea.ids(name) for name in ("subtopics", "questions", "answers", "rejected")}
    rejected = tea.path("rejected").stat().st_ino
    outcome = tea.edit(rename("  BREWING "))
    assert outcome.id == OLD
    assert {name: tea.ids(name) for name in ids} == ids
    assert tea.path("rejected").stat().st_ino == rejected
    assert tea.records("subtopics")[0]["name"] == "BREWING"
    assert [record["subtopic"] for record in tea.records("questions")] == ["BREWING"] * 3 + ["Cups"]
    assert [record["subtopic"] for record in tea.records("answers")] == ["BREWING"] * 2 + ["Cups"]


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029"])
def test_a_name_on_several_lines_is_refused(tea: Any, end: str) -> None:
    assert "one line" in str(tea.refused(rename(f"Making{end}it")))


@pytest.mark.parametrize(
    ("edit", "words", "is_stale"),
    [
        (rename("x", id="0" * 32), "the subtopic is gone", True),
        (rename("x", shown="brewing"), "renamed meanwhile", True),
        (rename("CUPS "), "another subtopic", False),
        (rename("  "), "needs a name", False),
    ],
    ids=["gone", "renamed", "taken", "blank"],
)
def test_a_rename_is_refused(tea: Any, edit: RenameSubtopic, words: str, is_stale: bool) -> None:
    error = tea.refused(edit)
    assert words in str(error)
    assert error.is_stale is is_stale


def test_ids_that_are_taken_refuse_a_rename_and_are_counted(tea: Any) -> None:
    tea.question("Making it", "How hot is it?")
    tea.answer("Making it", "How long does it take?")
    assert "2 questions would get the ID" in str(tea.refused(rename("Making it")))


def test_questions_that_would_become_one_refuse_a_rename(tea: Any) -> None:
    tea.question("Brewing", "How hot is it?")
    assert "1 question would get the ID" in str(tea.refused(rename("Making it")))


def test_the_same_name_writes_nothing(tea: Any) -> None:
    before = tea.path("subtopics").stat().st_ino
    assert tea.edit(rename("Brewing")).line == "the name is unchanged"
    assert tea.path("subtopics").stat().st_ino == before


def test_a_rejected_name_may_be_taken(tea: Any) -> None:
    tea.add("rejected", {"kind": "subtopic", "id": NEW, "topic": "tea", "name": "Making it"})
    assert tea.edit(rename("Making it")).id == NEW
