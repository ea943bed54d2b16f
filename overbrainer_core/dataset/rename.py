"""What follows when a subtopic gets another name?

The ID of a subtopic comes from its name, and the IDs of its questions from that. A name that differs in case or
spacing alone keeps them all; another one moves the subtopic, its questions, their answers and its rejected questions to
new IDs. Texts stay, and answers are kept.
"""

from __future__ import annotations

from collections import Counter
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
from overbrainer_core.dataset.records import Question, Record, RejectedQuestion, Subtopic
from overbrainer_core.dataset.store import each_numbered
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
    targets = Counter(question.id for question in moved.values())
    found = matching(paths.answers, EXAMPLES, lambda example: example.id in new_ids or example.id in targets)
    answers = {number: example for number, example in found.items() if example.id in new_ids}
    rejected = 0
    if new.id != old.id:
        taken = {example.id for example in found.values() if example.id not in new_ids}
        taken |= {target for target, count in targets.items() if count > 1}
        taken |= ids_among(paths.questions, QUESTIONS, targets, besides=moved)
        if taken:
            raise EditRefusedError(f"{counted(len(taken), 'question')} would get the ID of another question or answer")
        rejected = _move_rejected(changes, old, new)
    changes.questions.update(moved)
    for number, example in answers.items():
        changes.answers[number] = replace(example, id=new_ids[example.id], subtopic=new.name)
    moved_along = [counted(len(own), "question"), counted(len(answers), "answer")]
    if rejected:
        moved_along.append(counted(rejected, "rejected question"))
    line = f"subtopic renamed; {', '.join(moved_along)} moved along"
    return EditOutcome(line=line, id=new.id, questions=len(own), answers=len(answers), rejected=rejected)


def _moved(question: Question, old: Subtopic, new: Subtopic) -> Question:
    moved_id = question.id if new.id == old.id else question_id(new.id, question.text)
    return replace(question, id=moved_id, subtopic_id=new.id, subtopic=new.name)


def _move_rejected(changes: Changes, old: Subtopic, new: Subtopic) -> int:
    """The subtopic's rejected questions; how many."""
    moved: dict[int, Record | None] = {
        number: replace(record, id=question_id(new.id, record.text), subtopic_id=new.id)
        for number, record in each_numbered(changes.paths.rejected, REJECTED)
        if isinstance(record, RejectedQuestion) and record.subtopic_id == old.id
    }
    changes.rejected.update(moved)
    return len(moved)
