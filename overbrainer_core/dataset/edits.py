"""Which changes can a person make to the dataset, and what does each do?

Every edit reads the files afresh and is refused, with nothing changed, when what it is about is no longer what the
person saw. A question with another text is another question: its answer goes. Edits never touch `train.jsonl` and
`eval.jsonl`. The caller holds the project's lock and runs no stage meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from overbrainer_core.dataset.changes import (
    Changes,
    EditOutcome,
    EditRefusedError,
    counted,
    first_match,
    ids_among,
    matching,
)
from overbrainer_core.dataset.ids import question_id
from overbrainer_core.dataset.records import Example, Message, MessageRole
from overbrainer_core.dataset.removals import Deletion, Removal, plan_deletion
from overbrainer_core.dataset.rename import RenameSubtopic, plan_rename
from overbrainer_core.dataset.wire import EXAMPLES, QUESTIONS
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.text import replace_surrogates


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQuestion:
    """Give the question of this ID, seen with the text `shown`, another text."""

    id: str
    shown: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerText:
    """What an answer says, and the reasoning before it, if any."""

    content: str
    reasoning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditAnswer:
    """Give the answer of this question, seen as `shown`, another text."""

    id: str
    shown: AnswerText
    text: AnswerText


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete something, confirmed for so many questions and answers."""

    what: Deletion
    confirmed: Removal


Edit = EditQuestion | EditAnswer | RenameSubtopic | Delete


def make_edit(paths: ProjectPaths, edit: Edit) -> EditOutcome:
    """Check an edit against the files as they are now, and write it.

    Raises:
        EditRefusedError: it cannot be made; nothing was changed.
        ProjectFileError: a data file cannot be read or written; nothing was changed.
    """
    changes = Changes(paths)
    outcome = _plan(changes, edit)
    changes.write()
    return outcome


def _plan(changes: Changes, edit: Edit) -> EditOutcome:
    match edit:
        case EditQuestion():
            return _plan_question(changes, edit)
        case EditAnswer():
            return _plan_answer(changes, edit)
        case RenameSubtopic():
            return plan_rename(changes, edit)
        case Delete(what=what, confirmed=confirmed):
            return plan_deletion(changes, what, confirmed)
        case _:
            assert_never(edit)


def _plan_question(changes: Changes, edit: EditQuestion) -> EditOutcome:
    text = replace_surrogates(edit.text).strip()
    if not text:
        raise EditRefusedError("a question needs a text")
    paths = changes.paths
    number, question = first_match(paths.questions, QUESTIONS, edit.id, what="question")
    if question.text != edit.shown:
        raise EditRefusedError("the question was changed meanwhile", is_stale=True)
    if text == question.text:
        return EditOutcome(line="the text is unchanged", id=question.id)
    new = replace(question, id=question_id(question.subtopic_id, text), text=text)
    if new.id != question.id and ids_among(paths.questions, QUESTIONS, {new.id}):
        raise EditRefusedError("another question of the subtopic has that text")
    changes.questions[number] = new
    answers = matching(paths.answers, EXAMPLES, lambda example: example.id == question.id)
    if new.id == question.id:
        changes.answers.update({line: _asked(example, text) for line, example in answers.items()})
        return EditOutcome(line="question changed", id=new.id, questions=1, answers=len(answers))
    changes.answers.update(dict.fromkeys(answers))
    is_answered = bool(ids_among(paths.answers, EXAMPLES, {new.id}))
    gone = f"; {counted(len(answers), 'answer')} to the old text deleted" if answers else ""
    waits = "" if is_answered else "; it waits for `answers`"
    return EditOutcome(
        line=f"question changed{gone}{waits}",
        id=new.id,
        questions=1,
        answers=len(answers),
        needs_answers=not is_answered,
    )


def _asked(example: Example, text: str) -> Example:
    """The example with another text of its question."""
    return _with_message(example, MessageRole.USER, lambda message: replace(message, content=text))


def _plan_answer(changes: Changes, edit: EditAnswer) -> EditOutcome:
    number, example = first_match(changes.paths.answers, EXAMPLES, edit.id, what="answer")
    shown = answer_text(example)
    if shown is None or not _is_same(shown, edit.shown):
        raise EditRefusedError("the answer was changed meanwhile", is_stale=True)
    content = replace_surrogates(edit.text.content)
    reasoning = replace_surrogates(edit.text.reasoning or "")
    if not content.strip() and shown.content.strip():
        raise EditRefusedError("the answer would be empty; delete it instead")
    if not reasoning.strip() and (shown.reasoning or "").strip():
        raise EditRefusedError("the reasoning would be empty")
    kept = reasoning if reasoning.strip() else None
    changes.answers[number] = _with_message(
        example, MessageRole.ASSISTANT, lambda message: replace(message, content=content, reasoning_content=kept)
    )
    return EditOutcome(line="answer changed", id=example.id, answers=1)


def answer_text(example: Example) -> AnswerText | None:
    """What an example's answer says; None when a file edited by hand holds none."""
    for message in example.messages:
        if message.role is MessageRole.ASSISTANT:
            return AnswerText(content=message.content, reasoning=message.reasoning_content)
    return None


def _is_same(stored: AnswerText, shown: AnswerText) -> bool:
    """Whether both say the same; blank reasoning is none."""
    return stored.content == shown.content and (stored.reasoning or "") == (shown.reasoning or "")


def _with_message(example: Example, role: MessageRole, change: Callable[[Message], Message]) -> Example:
    """The example with its first message of that role changed."""
    messages = list(example.messages)
    for place, message in enumerate(messages):
        if message.role is role:
            messages[place] = change(message)
            break
    return replace(example, messages=tuple(messages))
