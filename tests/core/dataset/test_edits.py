"""An edit changes what it names and nothing else, or is refused and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from overbrainer_core.dataset.edits import AnswerText, Delete, EditAnswer, EditQuestion, answer_text, make_edit
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.dataset.removals import DeleteQuestion, Removal
from overbrainer_core.dataset.store import InvalidRecordError, read_answers

BREWING = subtopic_id("tea", "Brewing")
HOT = question_id(BREWING, "How hot is it?")
LONG = question_id(BREWING, "How long does it take?")
BITTER = question_id(BREWING, "Why is it bitter?")


def messages(tea: Any, record_id: str) -> list[dict[str, str]]:
    """The messages of an answer."""
    found: list[dict[str, str]] = next(
        record["messages"] for record in tea.records("answers") if record["id"] == record_id
    )
    return found


def test_a_question_with_another_spelling_keeps_its_id_and_its_answer(tea: Any) -> None:
    outcome = tea.edit(EditQuestion(id=LONG, shown="How long does it take?", text=" How  LONG does it take?\n"))
    assert (outcome.id, outcome.needs_answers, outcome.line) == (LONG, False, "question changed")
    assert [record["text"] for record in tea.records("questions") if record["id"] == LONG] == [
        "How  LONG does it take?"
    ]
    assert messages(tea, LONG) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How  LONG does it take?"},
        {"role": "assistant", "content": "About How long does it take?", "reasoning_content": "It depends."},
    ]


def test_a_question_with_another_text_loses_its_answer(tea: Any) -> None:
    outcome = tea.edit(EditQuestion(id=HOT, shown="How hot is it?", text="How hot should it be?"))
    new = question_id(BREWING, "How hot should it be?")
    assert (outcome.id, outcome.answers, outcome.needs_answers) == (new, 1, True)
    assert outcome.line == "question changed; 1 answer to the old text deleted; it waits for `answers`"
    assert tea.ids("questions") == [new, LONG, BITTER, tea.ids("questions")[3]]
    assert HOT not in tea.ids("answers")
    assert len(tea.ids("answers")) == 2
    assert not tea.path("rejected").exists()


def test_an_answer_that_is_there_for_the_new_text_is_used(tea: Any) -> None:
    tea.answer("Brewing", "How hot should it be?")
    outcome = tea.edit(EditQuestion(id=HOT, shown="How hot is it?", text="How hot should it be?"))
    assert not outcome.needs_answers
    assert outcome.line == "question changed; 1 answer to the old text deleted"


def test_an_unanswered_question_changes_without_a_word_of_answers(tea: Any) -> None:
    outcome = tea.edit(EditQuestion(id=BITTER, shown="Why is it bitter?", text="Why is it sour?"))
    assert outcome.line == "question changed; it waits for `answers`"


def test_the_train_and_eval_files_and_other_lines_keep_their_bytes(tea: Any) -> None:
    path = tea.path("questions")
    odd = path.read_bytes().replace(b'{"id"', b'{ "id"', 1).replace(b"\n", b"\r\n\n", 1)
    path.write_bytes(odd)
    lines = odd.split(b"\n")
    tea.edit(EditQuestion(id=BITTER, shown="Why is it bitter?", text="Why is it sour?"))
    assert path.read_bytes().split(b"\n")[:2] == [lines[0], lines[2]]
    assert tea.path("train").read_text() == "train stays\n"
    assert tea.path("eval").read_text() == "eval stays\n"


@pytest.mark.parametrize(
    ("edit", "words", "is_stale"),
    [
        (EditQuestion(id="0" * 32, shown="x", text="y"), "the question is gone", True),
        (EditQuestion(id=HOT, shown="How cold is it?", text="y"), "the question was changed meanwhile", True),
        (EditQuestion(id=HOT, shown="How hot is it?", text="why is IT bitter?"), "another question", False),
        (EditQuestion(id=HOT, shown="How hot is it?", text=" \n"), "needs a text", False),
    ],
    ids=["gone", "changed", "taken", "blank"],
)
def test_an_edit_of_a_question_is_refused(tea: Any, edit: EditQuestion, words: str, is_stale: bool) -> None:
    error = tea.refused(edit)
    assert words in str(error)
    assert error.is_stale is is_stale


def test_the_same_text_writes_nothing(tea: Any) -> None:
    before = tea.path("questions").stat().st_ino
    assert tea.edit(EditQuestion(id=HOT, shown="How hot is it?", text="How hot is it?")).line == "the text is unchanged"
    assert tea.path("questions").stat().st_ino == before


def test_the_first_of_two_questions_with_one_id_is_edited(tea: Any) -> None:
    tea.question("Brewing", "How hot is it?")
    tea.edit(EditQuestion(id=HOT, shown="How hot is it?", text="How warm is it?"))
    assert tea.ids("questions")[0] != HOT
    assert tea.ids("questions")[-1] == HOT


LONG_SHOWN = AnswerText(content="About How long does it take?", reasoning="It depends.")


def test_an_answer_changes_its_texts_and_nothing_else(tea: Any) -> None:
    before = next(record for record in tea.records("answers") if record["id"] == LONG)
    text = AnswerText(content="Four minutes.\n", reasoning="Black tea.")
    outcome = tea.edit(EditAnswer(id=LONG, shown=LONG_SHOWN, text=text))
    after = next(record for record in tea.records("answers") if record["id"] == LONG)
    assert outcome.line == "answer changed"
    assert after["messages"][2] == {
        "role": "assistant",
        "content": "Four minutes.\n",
        "reasoning_content": "Black tea.",
    }
    after["messages"][2] = before["messages"][2]
    assert after == before


def test_blank_reasoning_where_there_was_none_stays_absent(tea: Any) -> None:
    shown = AnswerText(content="About How hot is it?")
    tea.edit(EditAnswer(id=HOT, shown=shown, text=AnswerText(content="Hot.", reasoning=" \n")))
    assert messages(tea, HOT)[-1] == {"role": "assistant", "content": "Hot."}


def test_an_excluded_answer_stays_excluded(tea: Any) -> None:
    cut = tea.answered("Cups", "Who made them?", excluded="truncated")
    shown = AnswerText(content="About Who made them?")
    tea.edit(EditAnswer(id=cut, shown=shown, text=AnswerText(content="A potter.", reasoning="I guess.")))
    record = tea.records("answers")[-1]
    assert record["meta"]["excluded"] == "truncated"
    assert record["meta"]["reasoning_kind"] == "none"
    assert record["messages"][-1]["reasoning_content"] == "I guess."


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (EditAnswer(id=BITTER, shown=LONG_SHOWN, text=LONG_SHOWN), "the answer is gone"),
        (EditAnswer(id=LONG, shown=replace(LONG_SHOWN, content="x"), text=LONG_SHOWN), "changed meanwhile"),
        (EditAnswer(id=LONG, shown=replace(LONG_SHOWN, reasoning=None), text=LONG_SHOWN), "changed meanwhile"),
        (EditAnswer(id=LONG, shown=LONG_SHOWN, text=AnswerText(content="x", reasoning=" ")), "the reasoning would"),
        (EditAnswer(id=LONG, shown=LONG_SHOWN, text=replace(LONG_SHOWN, content="\n")), "the answer would"),
    ],
    ids=["gone", "content", "reasoning", "no-reasoning", "no-content"],
)
def test_an_edit_of_an_answer_is_refused(tea: Any, edit: EditAnswer, words: str) -> None:
    assert words in str(tea.refused(edit))


def test_an_answer_without_an_assistant_cannot_be_edited(tea: Any) -> None:
    path = tea.path("answers")
    path.write_text(path.read_text().replace('"assistant"', '"user"', 1))
    assert answer_text(read_answers(path)[0]) is None
    shown = AnswerText(content="About How hot is it?")
    assert tea.refused(EditAnswer(id=HOT, shown=shown, text=shown)).is_stale


def test_a_lone_surrogate_of_an_editor_is_replaced(tea: Any) -> None:
    tea.edit(EditQuestion(id=HOT, shown="How hot is it?", text="How \ud83d hot?"))
    assert tea.records("questions")[0]["text"] == "How \ufffd hot?"


def test_a_bad_line_stops_an_edit_with_its_number(tea: Any) -> None:
    tea.path("answers").open("a").write("{}\n")
    before = tea.content()
    with pytest.raises(InvalidRecordError, match=r"answers\.jsonl:4: invalid record"):
        make_edit(tea.paths, EditQuestion(id=HOT, shown="How hot is it?", text="How hot?"))
    assert tea.content() == before


def test_a_torn_last_line_is_left_out_of_a_rewritten_file(tea: Any) -> None:
    tea.path("answers").open("a").write('{"id":"torn')
    tea.edit(Delete(what=DeleteQuestion(id=HOT), confirmed=Removal(questions=1, answers=1)))
    assert len(tea.records("answers")) == 2
