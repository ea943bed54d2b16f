"""What goes when a person deletes something from the dataset?

A deletion is confirmed with the questions and answers it takes along; it is refused when it would take others.
What a person deleted is recorded so that it does not come back, but for answers alone and questions that lost their
subtopic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from overbrainer_core.dataset.changes import Changes, EditOutcome, EditRefusedError, counted, first_match, matching
from overbrainer_core.dataset.records import Question, RejectedQuestion, RejectedSubtopic
from overbrainer_core.dataset.store import read_subtopics
from overbrainer_core.dataset.wire import EXAMPLES, QUESTIONS, SUBTOPICS
from overbrainer_core.project.paths import ProjectPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """How many questions and answers a deletion takes."""

    questions: int = 0
    answers: int = 0

    def __str__(self) -> str:
        return f"{counted(self.questions, 'question')} and {counted(self.answers, 'answer')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubtopic:
    """Delete the subtopic of this ID with its questions and their answers."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQuestion:
    """Delete the question of this ID with its answer."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAnswer:
    """Delete the answer of this question: the next `answers` asks the parent again."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteLostQuestions:
    """Delete the questions of a topic whose subtopic is gone, with their answers."""

    topic: str


Deletion = DeleteSubtopic | DeleteQuestion | DeleteAnswer | DeleteLostQuestions


def removal_of(paths: ProjectPaths, deletion: Deletion) -> Removal:
    """What a deletion would take now, for the question that is asked before it.

    Raises:
        EditRefusedError: there is nothing to delete.
        ProjectFileError: a data file cannot be read.
    """
    return _plan(Changes(paths), deletion)[0]


def plan_deletion(changes: Changes, deletion: Deletion, confirmed: Removal) -> EditOutcome:
    """Fill the changes with what a deletion does that was confirmed for these counts.

    Raises:
        EditRefusedError: it is gone, or takes other questions and answers than were shown.
    """
    removal, line = _plan(changes, deletion)
    if removal != confirmed:
        raise EditRefusedError(
            f"the dataset changed meanwhile: {removal} would be deleted, not {confirmed}", is_stale=True
        )
    return EditOutcome(
        line=line,
        questions=removal.questions,
        answers=removal.answers,
        needs_answers=isinstance(deletion, DeleteAnswer),
    )


def _plan(changes: Changes, deletion: Deletion) -> tuple[Removal, str]:
    """Fill the changes; what goes, and the line that tells it."""
    match deletion:
        case DeleteSubtopic(id=subtopic_id):
            return _plan_subtopic(changes, subtopic_id)
        case DeleteQuestion(id=question_id):
            _, question = first_match(changes.paths.questions, QUESTIONS, question_id, what="question")
            rejected = RejectedQuestion(
                id=question.id, topic=question.topic, subtopic_id=question.subtopic_id, text=question.text
            )
            changes.to_reject.append(rejected)
            own = matching(changes.paths.questions, QUESTIONS, lambda record: record.id == question_id)
            removal = _take(changes, own)
            return removal, f"question deleted with {counted(removal.answers, 'answer')}"
        case DeleteAnswer(id=question_id):
            first_match(changes.paths.answers, EXAMPLES, question_id, what="answer")
            removal = Removal(answers=_take_answers(changes, {question_id}))
            return removal, "answer deleted; its question waits for `answers`"
        case DeleteLostQuestions(topic=topic):
            return _plan_lost(changes, topic)
        case _:
            assert_never(deletion)


def _plan_subtopic(changes: Changes, subtopic_id: str) -> tuple[Removal, str]:
    paths = changes.paths
    _, subtopic = first_match(paths.subtopics, SUBTOPICS, subtopic_id, what="subtopic")
    changes.to_reject.append(RejectedSubtopic(id=subtopic.id, topic=subtopic.topic, name=subtopic.name))
    changes.subtopics.update(dict.fromkeys(matching(paths.subtopics, SUBTOPICS, lambda item: item.id == subtopic_id)))
    removal = _take(changes, matching(paths.questions, QUESTIONS, lambda item: item.subtopic_id == subtopic_id))
    return removal, f"subtopic deleted with {removal}"


def _plan_lost(changes: Changes, topic: str) -> tuple[Removal, str]:
    paths = changes.paths
    stored = {subtopic.id for subtopic in read_subtopics(paths.subtopics)}
    lost = matching(paths.questions, QUESTIONS, lambda item: item.topic == topic and item.subtopic_id not in stored)
    if not lost:
        raise EditRefusedError("every question of the topic has its subtopic", is_stale=True)
    removal = _take(changes, lost)
    return removal, f"{removal} deleted"


def _take(changes: Changes, questions: dict[int, Question]) -> Removal:
    """Take these questions and their answers."""
    changes.questions.update(dict.fromkeys(questions))
    answers = _take_answers(changes, {question.id for question in questions.values()})
    return Removal(questions=len(questions), answers=answers)


def _take_answers(changes: Changes, ids: set[str]) -> int:
    answers = matching(changes.paths.answers, EXAMPLES, lambda example: example.id in ids)
    changes.answers.update(dict.fromkeys(answers))
    return len(answers)
