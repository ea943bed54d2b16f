"""What does the demo's parent answer, and where does it err on purpose?

A real parent is wrong now and then, leaves things out, is cut by its limit and refuses; so does this one,
always at the same questions. What is in store for a question follows from its words and `SALT` alone.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import cache

from overbrainer_core.llm.demo_facts import Fact, normalize_question
from overbrainer_core.llm.demo_reply import UNKNOWN, Reply
from overbrainer_core.llm.demo_tables import default_questions, find_fact, share, stable_hash

SALT = "1782"
"""Chosen so that the evaluation questions of an unchanged demo hold five slips and four short answers."""
SLIP_SHARE = 0.04
"""Answers that state another value of the attribute."""
SHORT_SHARE = 0.06
"""Answers without their second sentence."""
CUT_SHARE = 0.015
"""Answers that end at the limit."""
FILTERED = 3
"""Questions of an unchanged demo that the content filter stops."""


class Fate(StrEnum):
    """What becomes of an answer."""

    RIGHT = "right"
    SLIP = "slip"
    SHORT = "short"
    CUT = "cut"
    FILTERED = "filtered"


def fate_of(question: str) -> Fate:
    """What becomes of the answer to `question`; the same for all its spellings."""
    normalized = normalize_question(question)
    if normalized in _filtered_questions():
        return Fate.FILTERED
    drawn = share(SALT, "fate", normalized)
    for fate, size in ((Fate.CUT, CUT_SHARE), (Fate.SLIP, SLIP_SHARE), (Fate.SHORT, SHORT_SHARE)):
        if drawn < size:
            return fate
        drawn -= size
    return Fate.RIGHT


def parent_reply(question: str, *, with_reasoning: bool) -> Reply:
    """The parent's answer to `question`, with its reasoning when that was asked for."""
    fact = find_fact(question)
    if fact is None:
        return Reply(content=UNKNOWN)
    reply = _fated(fact, question)
    return replace(reply, reasoning=fact.reasoning()) if with_reasoning and reply.content else reply


def slipped_value(fact: Fact, question: str) -> str:
    """The wrong value that a slip states."""
    others = [value for value in fact.topic.values_of(fact.attribute) if value != fact.value]
    return others[stable_hash(SALT, "slip", normalize_question(question)) % len(others)]


def _fated(fact: Fact, question: str) -> Reply:
    whole = f"{fact.first_sentence()} {fact.second_sentence()}"
    match fate_of(question):
        case Fate.FILTERED:
            return Reply(content="", finish="content_filter")
        case Fate.CUT:
            return Reply(content=whole[: len(whole) * 2 // 3], finish="length")
        case Fate.SLIP:
            wrong = fact.first_sentence(slipped_value(fact, question))
            return Reply(content=f"{wrong} {fact.second_sentence()}")
        case Fate.SHORT:
            return Reply(content=fact.first_sentence())
    return Reply(content=whole)


@cache
def _filtered_questions() -> frozenset[str]:
    asked = map(normalize_question, default_questions())
    return frozenset(sorted(asked, key=lambda text: stable_hash(SALT, "filtered", text))[:FILTERED])
