"""A deletion takes what was confirmed, and what a person deleted is remembered."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.dataset.changes import EditRefusedError
from overbrainer_core.dataset.edits import Delete
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.removals import (
    DeleteAnswer,
    DeleteLostQuestions,
    DeleteQuestion,
    DeleteSubtopic,
    Deletion,
    Removal,
    removal_of,
)

BREWING = subtopic_id("tea", "Brewing")
HOT = question_id(BREWING, "How hot is it?")
BITTER = question_id(BREWING, "Why is it bitter?")


def test_a_subtopic_goes_with_its_questions_and_their_answers(tea: Any) -> None:
    tea.rejected_question("Cups", "Is it round?")
    outcome = tea.edit(Delete(what=DeleteSubtopic(id=BREWING), confirmed=Removal(questions=3, answers=2)))
    assert outcome.line == "subtopic deleted with 3 questions and 2 answers"
    assert outcome.id is None
    assert [record["name"] for record in tea.records("subtopics")] == ["Cups"]
    assert [record["subtopic"] for record in tea.records("questions") + tea.records("answers")] == ["Cups", "Cups"]
    assert tea.records("rejected")[1:] == [{"kind": "subtopic", "id": BREWING, "topic": "tea", "name": "Brewing"}]


def test_a_question_goes_with_its_answer_and_is_remembered(tea: Any) -> None:
    outcome = tea.edit(Delete(what=DeleteQuestion(id=HOT), confirmed=Removal(questions=1, answers=1)))
    assert outcome.line == "question deleted with 1 answer"
    assert HOT not in tea.ids("questions") + tea.ids("answers")
    assert tea.records("rejected") == [
        {"kind": "question", "id": HOT, "topic": "tea", "subtopic_id": BREWING, "text": "How hot is it?"}
    ]


def test_an_answer_goes_alone_and_nothing_is_remembered(tea: Any) -> None:
    outcome = tea.edit(Delete(what=DeleteAnswer(id=HOT), confirmed=Removal(answers=1)))
    assert outcome.needs_answers
    assert HOT in tea.ids("questions")
    assert HOT not in tea.ids("answers")
    assert not tea.path("rejected").exists()


def test_questions_that_lost_their_subtopic_go_for_one_topic(tea: Any) -> None:
    tea.answered("Gone", "Where is it?")
    tea.question("Gone", "Who took it?")
    tea.question("Gone", "And here?", topic="coffee")
    outcome = tea.edit(Delete(what=DeleteLostQuestions(topic="tea"), confirmed=Removal(questions=2, answers=1)))
    assert outcome.line == "2 questions and 1 answer deleted"
    assert [record["subtopic"] for record in tea.records("questions")] == ["Brewing"] * 3 + ["Cups", "Gone"]
    assert len(tea.records("answers")) == 3
    assert not tea.path("rejected").exists()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (DeleteSubtopic(id="0" * 32), "the subtopic is gone"),
        (DeleteQuestion(id="0" * 32), "the question is gone"),
        (DeleteAnswer(id=BITTER), "the answer is gone"),
        (DeleteLostQuestions(topic="tea"), "every question of the topic has its subtopic"),
    ],
    ids=["subtopic", "question", "answer", "lost"],
)
def test_what_is_gone_is_not_deleted_again(tea: Any, what: Deletion, words: str) -> None:
    error = tea.refused(Delete(what=what, confirmed=Removal()))
    assert words in str(error)
    assert error.is_stale
    with pytest.raises(EditRefusedError, match=words):
        removal_of(tea.paths, what)


@pytest.mark.parametrize(
    ("what", "removal"),
    [
        (DeleteSubtopic(id=BREWING), Removal(questions=3, answers=2)),
        (DeleteQuestion(id=HOT), Removal(questions=1, answers=1)),
        (DeleteQuestion(id=BITTER), Removal(questions=1)),
        (DeleteAnswer(id=HOT), Removal(answers=1)),
    ],
    ids=["subtopic", "answered", "unanswered", "answer"],
)
def test_a_deletion_that_takes_other_counts_than_shown_must_be_confirmed_again(
    tea: Any, what: Deletion, removal: Removal
) -> None:
    assert removal_of(tea.paths, what) == removal
    tea.refused(Delete(what=what, confirmed=Removal(questions=removal.questions, answers=removal.answers + 1)))
    error = tea.refused(Delete(what=what, confirmed=Removal(questions=5, answers=removal.answers)))
    assert f"{removal} would be deleted, not 5 questions and" in str(error)
    tea.edit(Delete(what=what, confirmed=removal))


def test_every_record_of_a_deleted_id_goes(tea: Any) -> None:
    tea.answered("Brewing", "How hot is it?")
    tea.edit(Delete(what=DeleteQuestion(id=HOT), confirmed=Removal(questions=2, answers=2)))
    assert HOT not in tea.ids("questions") + tea.ids("answers")
    assert tea.ids("rejected") == [HOT]
