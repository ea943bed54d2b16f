"""Verdicts of the demo's judge."""

import itertools
import json

import pytest

from overbrainer_core.llm.demo_judge import has_two_answers, judge_reply, mark_answer, read_judged_texts
from overbrainer_core.llm.demo_reply import UNKNOWN
from overbrainer_core.llm.demo_tables import TOPICS, find_fact

QUESTION = "Which city hosts the parliament of Zambia?"
SECOND = "Zambia lies in Africa, its money is the kwacha and its people speak English."
RIGHT = f"The capital of Zambia is Lusaka. {SECOND}"
SHORT = "The capital of Zambia is Lusaka."
SLIP = f"The capital of Zambia is Budapest. {SECOND}"
WRONG_SECOND = (
    "The capital of Zambia is Lusaka. Zambia lies in Africa, its money is the kwanza and its people speak English."
)
ALL_WRONG = "The capital of Zambia is Budapest. Zambia lies in Asia, its money is the yen and its people speak Thai."
OTHER_SUBJECT = "The capital of Peru is Lima."
LOST_THREAD = "The capital of Zambia is Lusaka is English."
ANSWERS = (
    RIGHT,
    SHORT,
    SLIP,
    WRONG_SECOND,
    ALL_WRONG,
    OTHER_SUBJECT,
    LOST_THREAD,
    "",
    "No idea",
    "Lusaka",
    "Lusaka or Budapest.",
    "The capital of Peru is Lusaka.",
)
SCORES = (3, 2, 1, 1, -1, 0, 2, 0, 0, 2, 0, 0)

DEFAULT = """You compare two answers to one question.

Question:
{question}

Answer A:
{a}

Answer B:
{b}

Which answer serves the asker better? The order of A and B means nothing.
Reply with one JSON object only: {{"verdict": "A" or "B" or "tie", "reason": "one sentence"}}"""
EDITED = (
    DEFAULT,
    "# Question\n\n{question}\n\n## Answer A\n\n{a}\n\n## Answer B\n\n{b}\n\nBe strict with answer A and answer B.",
    "Question: {question}\nAnswer A: {a}\nAnswer B: {b}\n\nDecide.",
    "**Question:** {question}\n\n**Answer A:**\n{a}\n\n**Answer B:**\n{b}\n\nDecide now.",
    "<question>\n{question}\n</question>\n<answer_a>\n{a}\n</answer_a>\n<answer_b>\n{b}\n</answer_b>\nDecide.",
    "Somebody asked: {question}\n\nANSWER A\n```\n{a}\n```\n\nANSWER B\n```\n{b}\n```\n\nDecide.",
    "Somebody asked: {question}\n\n### Answer A\n\n```\n{a}\n```\n\n### Answer B\n\n```\n{b}\n```\n\nDecide.",
    "Answer B:\n{b}\n\nAnswer A:\n{a}\n\nDecide.",
)


def prompt_of(a: str, b: str, *, template: str = DEFAULT, question: str = QUESTION) -> str:
    return template.format(question=question, a=a, b=b)


def verdict(a: str, b: str, *, template: str = DEFAULT, question: str = QUESTION) -> tuple[str, str]:
    found = json.loads(judge_reply(prompt_of(a, b, template=template, question=question)).content)
    assert set(found) == {"verdict", "reason"}
    return found["verdict"], found["reason"]


@pytest.mark.parametrize(("answer", "score"), zip(ANSWERS, SCORES, strict=True))
def test_a_score_counts_the_asked_fact_double_and_the_second_sentence_once(answer: str, score: int) -> None:
    fact = find_fact(QUESTION)
    assert fact is not None
    assert mark_answer(fact, answer).score == score


def test_every_right_answer_of_the_tables_has_full_marks() -> None:
    for topic in TOPICS:
        for fact in topic.facts:
            assert mark_answer(fact, f"{fact.first_sentence()} {fact.second_sentence()}").score == 3
            assert mark_answer(fact, fact.first_sentence()).score == 2


def test_every_wrong_value_of_the_tables_is_seen() -> None:
    for topic in TOPICS:
        for fact in topic.facts[::7]:
            for value in topic.values_of(fact.attribute):
                if value != fact.value:
                    marks = mark_answer(fact, f"{fact.first_sentence(value)} {fact.second_sentence()}")
                    assert (marks.score, marks.stated) == (1, value)


@pytest.mark.parametrize(("a", "b"), itertools.product(ANSWERS, repeat=2))
def test_swapping_the_answers_swaps_the_verdict(a: str, b: str) -> None:
    swapped = {"A": "B", "B": "A", "tie": "tie"}
    assert verdict(b, a)[0] == swapped[verdict(a, b)[0]]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_ties_with_itself(answer: str) -> None:
    assert verdict(answer, answer)[0] == "tie"


@pytest.mark.parametrize("template", EDITED[:-1])
@pytest.mark.parametrize(("a", "b"), [(RIGHT, SLIP), (SLIP, RIGHT), (SHORT, RIGHT), ("", RIGHT), (RIGHT, "")])
def test_answers_are_found_in_edited_prompts(template: str, a: str, b: str) -> None:
    texts = read_judged_texts(prompt_of(a, b, template=template))
    assert texts is not None
    assert (texts.answer_a, texts.answer_b) == (a, b)
    assert texts.fact.key == "countries/Zambia/capital"


@pytest.mark.parametrize(
    ("a", "b", "winner", "reason"),
    [
        (RIGHT, SLIP, "A", "B says Budapest, the capital of Zambia is Lusaka"),
        (SHORT, RIGHT, "B", "both say Lusaka, B tells the rest right"),
        (SHORT, WRONG_SECOND, "A", "both say Lusaka, A adds nothing wrong"),
        (RIGHT, RIGHT, "tie", "both say Lusaka"),
        (OTHER_SUBJECT, "No idea", "tie", "neither knows that the capital of Zambia is Lusaka"),
        (SLIP, ALL_WRONG, "A", "neither knows that the capital of Zambia is Lusaka, A tells the rest right"),
        ("", SHORT, "B", "A gives no clear answer, the capital of Zambia is Lusaka"),
        ("The capital of Peru is Lusaka.", SHORT, "B", "A speaks of something else, the capital of Zambia is Lusaka"),
        (SLIP, WRONG_SECOND, "tie", "A says Budapest but tells the rest right, the capital of Zambia is Lusaka"),
    ],
)
def test_the_reason_names_the_fact(a: str, b: str, winner: str, reason: str) -> None:
    assert verdict(a, b) == (winner, reason)


def test_a_wrong_number_is_told_in_protons() -> None:
    wrong, right = "The atomic number of tellurium is 26.", "The atomic number of tellurium is 52."
    question = "What is the atomic number of tellurium?"
    assert verdict(wrong, right, question=question) == ("B", "A says 26 protons, tellurium has 52")


def test_only_the_first_paragraph_of_an_answer_counts() -> None:
    assert verdict(f"{SHORT}\n\n{ALL_WRONG}", SHORT)[0] == "tie"


def test_a_question_among_other_lines_is_found_by_its_own_words() -> None:
    asked = "Question:\nBelow, about language:\n{question}\nThink of Peru and its money."
    template = f"{asked}\n\nAnswer A:\n{{a}}\n\nAnswer B:\n{{b}}"
    assert verdict(RIGHT, SLIP, template=template)[0] == "A"


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        QUESTION,
        f"Question:\n{QUESTION}\n\nFirst:\n{RIGHT}\n\nSecond:\n{SLIP}",
        prompt_of(RIGHT, SLIP, question="Why is the sky blue?"),
        prompt_of(RIGHT, SLIP, template=EDITED[-1]),
    ],
)
def test_what_cannot_be_read_gets_no_verdict(prompt: str) -> None:
    assert judge_reply(prompt).content == UNKNOWN
    assert "{" not in UNKNOWN


def test_two_headed_answers_are_recognised() -> None:
    assert has_two_answers(prompt_of("", ""))
    assert not has_two_answers("Answer A is better than answer B, is it not?")
