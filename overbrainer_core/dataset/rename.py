"""What follows when a subtopic gets another name?

The ID of a subtopic comes from its name, and the IDs of its questions from that. A name that differs in case or
spacing alone keeps them all; another one moves the subtopic, its questions, their answers and its rejected questions to
new IDs. Texts stay, and answers are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from overbrainer_core.dataset.changes import (
    Changes,
    EditOutcome,
    EditRefusedError,
    counted,
    first_match,
    ids_among,
    matching,
)
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.records import Question, Rejected, RejectedQuestion, Subtopic
from overbrainer_core.dataset.wire import EXAMPLES, QUESTIONS, REJECTED, SUBTOPICS
from overbrainer_core.text import replace_surrogates

_LINE_ENDS = "\n\r\x85\u2028\u2029"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSubtopic:
    """Give the subtopic of this ID, seen under the name `shown`, another name."""

    id: str
    shown: str
    name: str


def plan_rename(changes: Changes, edit: RenameSubtopic) -> EditOutcome:
    """Fill the changes with what the rename does.

    Raises:
        EditRefusedError: the name cannot be used, or the subtopic is not as it was shown.
    """
    name = _checked_name(edit.name)
    paths = changes.paths
    number, subtopic = first_match(paths.subtopics, SUBTOPICS, edit.id, what="subtopic")
    if subtopic.name != edit.shown:
        raise EditRefusedError("the subtopic was renamed meanwhile", is_stale=True)
    if name == subtopic.name:
        return EditOutcome(line="the name is unchanged", id=subtopic.id)
    renamed = replace(subtopic, id=subtopic_id(subtopic.topic, name), name=name)
    if renamed.id != subtopic.id and ids_among(paths.subtopics, SUBTOPICS, {renamed.id}):
        raise EditRefusedError("another subtopic of the topic has that name")
    changes.subtopics[number] = renamed
    return _move_along(changes, subtopic, renamed)


def _checked_name(text: str) -> str:
    name = replace_surrogates(text).strip()
    if not name:
        raise EditRefusedError("a subtopic needs a name")
    if any(end in name for end in _LINE_ENDS):
        raise EditRefusedError("the name of a subtopic is one line")
    return name


def _move_along(changes: Changes, old: Subtopic, new: Subtopic) -> EditOutcome:
    """The subtopic's questions, their answers and its rejected questions."""
    paths = changes.paths
    own = matching(paths.questions, QUESTIONS, lambda question: question.subtopic_id == old.id)
    moved = {number: _moved(question, old, new) for number, question in own.items()}
    new_ids = {own[number].id: question.id for number, question in moved.items()}
    answers = matching(paths.answers, EXAMPLES, lambda example: example.id in new_ids)
    rejected: dict[int, Rejected] = {}
    if new.id != old.id:
        _refuse_collisions(changes, moved, answers)
        rejected = matching(paths.rejected, REJECTED, lambda record: _is_question_of(record, old))
    changes.questions.update(moved)
    for number, example in answers.items():
        changes.answers[number] = replace(example, id=new_ids[example.id], subtopic=new.name)
    for number, record in rejected.items():
        if isinstance(record, RejectedQuestion):
            changes.rejected[number] = replace(record, id=question_id(new.id, record.text), subtopic_id=new.id)
    moved_along = [counted(len(own), "question"), counted(len(answers), "answer")]
    if rejected:
        moved_along.append(counted(len(rejected), "rejected question"))
    line = f"subtopic renamed; {', '.join(moved_along)} moved along"
    return EditOutcome(line=line, id=new.id, questions=len(own), answers=len(answers), rejected=len(rejected))


def _moved(question: Question, old: Subtopic, new: Subtopic) -> Question:
    moved_id = question.id if new.id == old.id else question_id(new.id, question.text)
    return replace(question, id=moved_id, subtopic_id=new.id, subtopic=new.name)


def _is_question_of(record: Rejected, subtopic: Subtopic) -> bool:
    return isinstance(record, RejectedQuestion) and record.subtopic_id == subtopic.id


def _refuse_collisions(changes: Changes, moved: Mapping[int, Question], answers: Container[int]) -> None:
    """Refuse a rename after which two questions, or two answers, would share an ID."""
    ids = Counter(question.id for question in moved.values())
    paths = changes.paths
    taken = {found for found, count in ids.items() if count > 1}
    taken |= ids_among(paths.questions, QUESTIONS, ids, besides=moved)
    taken |= ids_among(paths.answers, EXAMPLES, ids, besides=answers)
    if taken:
        raise EditRefusedError(f"{counted(len(taken), 'question')} would get the ID of another question or answer")
