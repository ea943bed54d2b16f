"""Answers of the demo's parent: right ones, and those that are wrong on purpose."""

from collections import Counter

import pytest

from overbrainer_core.llm.demo_facts import normalize_question
from overbrainer_core.llm.demo_parent import Fate, fate_of, parent_reply, slipped_value
from overbrainer_core.llm.demo_reply import UNKNOWN, Reply
from overbrainer_core.llm.demo_tables import default_questions, question_index


def questions_with(fate: Fate) -> list[str]:
    return [text for text in default_questions() if fate_of(text) is fate]


def test_an_answer_tells_the_asked_fact_and_the_others() -> None:
    question = next(text for text in questions_with(Fate.RIGHT) if "Peru" in text and "capital" in text)
    assert parent_reply(question, with_reasoning=False) == Reply(
        content="The capital of Peru is Lima. "
        "Peru lies in South America, its money is the sol and its people speak Spanish."
    )


def test_reasoning_stands_beside_the_answer_when_asked_for() -> None:
    question = questions_with(Fate.RIGHT)[0]
    reply = parent_reply(question, with_reasoning=True)
    assert reply.reasoning == question_index()[normalize_question(question)].reasoning()
    assert reply.content == parent_reply(question, with_reasoning=False).content


def test_the_spelling_of_a_question_makes_no_difference() -> None:
    for question in default_questions()[::17]:
        shouted = question.upper().rstrip("?")
        assert parent_reply(shouted, with_reasoning=True) == parent_reply(question, with_reasoning=True)


def test_a_question_in_free_wording_is_answered() -> None:
    reply = parent_reply("Please name the money of Japan.", with_reasoning=False)
    assert reply.content.startswith("People in Japan pay with the yen.")


@pytest.mark.parametrize("question", ["Which element has 12 protons?", "Who are you?", "", "\x00\ud83d"])
def test_what_the_tables_do_not_cover_is_said_so(question: str) -> None:
    assert parent_reply(question, with_reasoning=True) == Reply(content=UNKNOWN)


def test_an_unchanged_demo_has_the_promised_share_of_each_fate() -> None:
    fates = Counter(map(fate_of, default_questions()))
    assert fates[Fate.FILTERED] == 3
    assert fates[Fate.CUT] == 11
    assert 0.035 < fates[Fate.SLIP] / 720 < 0.045
    assert 0.055 < fates[Fate.SHORT] / 720 < 0.065


def test_fates_keep_their_shares_over_all_questions() -> None:
    fates = Counter(map(fate_of, question_index()))
    total = len(question_index())
    assert 0.03 < fates[Fate.SLIP] / total < 0.05
    assert 0.045 < fates[Fate.SHORT] / total < 0.075
    assert 0.01 < fates[Fate.CUT] / total < 0.022


def test_a_slip_is_wrong_between_right_reasoning_and_a_right_second_sentence() -> None:
    for question in questions_with(Fate.SLIP):
        fact = question_index()[normalize_question(question)]
        wrong = slipped_value(fact, question)
        reply = parent_reply(question, with_reasoning=True)
        assert wrong != fact.value
        assert wrong in fact.topic.values_of(fact.attribute)
        assert reply.content == f"{fact.first_sentence(wrong)} {fact.second_sentence()}"
        assert (reply.reasoning, reply.finish) == (fact.reasoning(), "stop")


def test_a_short_answer_lacks_its_second_sentence() -> None:
    for question in questions_with(Fate.SHORT):
        fact = question_index()[normalize_question(question)]
        assert parent_reply(question, with_reasoning=False) == Reply(content=fact.first_sentence())


def test_a_cut_answer_ends_early_and_says_so() -> None:
    for question in questions_with(Fate.CUT):
        fact = question_index()[normalize_question(question)]
        reply = parent_reply(question, with_reasoning=True)
        whole = f"{fact.first_sentence()} {fact.second_sentence()}"
        assert reply.finish == "length"
        assert whole.startswith(reply.content)
        assert 0 < len(reply.content) < len(whole)


def test_a_filtered_answer_is_empty() -> None:
    for question in questions_with(Fate.FILTERED):
        assert parent_reply(question, with_reasoning=True) == Reply(content="", finish="content_filter")
