"""What does the demo know, in which order does it ask, and which fact is a text about?

129 subjects with three facts each, six questions a fact: 2,322 questions, no two of one topic alike enough
to be duplicates. Orders and choices follow from a keyed hash, never from chance, time or the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from types import MappingProxyType

from overbrainer_core.llm.demo_countries import COUNTRIES
from overbrainer_core.llm.demo_elements import ELEMENTS
from overbrainer_core.llm.demo_facts import Attribute, Fact, Subtopic, Topic, normalize_question
from overbrainer_core.llm.demo_moons import MOONS

DEMO_TABLES_VERSION = 1
"""Raised when a fact, a question or an answer changes; written to a demo project as its sign."""

TOPICS: tuple[Topic, ...] = (COUNTRIES, ELEMENTS, MOONS)
QUESTIONS_PER_SUBTOPIC = 36
"""Questions of one subtopic in the demo's own settings."""


def stable_hash(*parts: str) -> int:
    """64 bits that follow from `parts` alone, the same on every machine and in every process."""
    return int.from_bytes(blake2b("\x1f".join(parts).encode(errors="replace"), digest_size=8).digest())


def share(*parts: str) -> float:
    """`stable_hash` as a number, 0 included, 1 excluded."""
    return (stable_hash(*parts) >> 11) / (1 << 53)


@cache
def subtopics_by_name() -> Mapping[str, tuple[Topic, Subtopic]]:
    """Each subtopic with its topic, by its name in normalized form."""
    return MappingProxyType(
        {normalize_question(part.name): (topic, part) for topic in TOPICS for part in topic.subtopics}
    )


@cache
def question_index() -> Mapping[str, Fact]:
    """The fact that each possible question asks for, by the question in normalized form."""
    index: dict[str, Fact] = {}
    for topic in TOPICS:
        for fact in topic.facts:
            index.update({normalize_question(text): fact for text in fact.questions})
    return MappingProxyType(index)


@cache
def questions_in_order(subtopic_name: str) -> tuple[str, ...]:
    """All questions of a subtopic: one for every fact first, then a second one for every fact, and so on.

    Drawn at random instead, a quarter of the facts kept for evaluation would never be asked in training.
    """
    topic, subtopic = subtopics_by_name()[normalize_question(subtopic_name)]
    facts = [fact for fact in topic.facts if fact.subtopic is subtopic]
    by_fact = {fact.key: _shuffled(fact.questions, "template", fact.key) for fact in facts}
    rounds = range(len(facts[0].attribute.templates))
    return tuple(by_fact[key][number] for number in rounds for key in _shuffled(by_fact, "round", str(number)))


@cache
def default_questions() -> tuple[str, ...]:
    """The 720 questions of a demo that nobody changed, by topic and subtopic."""
    return tuple(
        text
        for topic in TOPICS
        for subtopic in topic.subtopics
        for text in questions_in_order(subtopic.name)[:QUESTIONS_PER_SUBTOPIC]
    )


def find_fact(text: str) -> Fact | None:
    """The fact that `text` asks for; None when it is not about one subject and one attribute of the tables.

    A question of the tables is found whatever its case and punctuation, any other by the name of its
    subject and the first word that tells the attribute.
    """
    normalized = normalize_question(text)
    known = question_index().get(normalized)
    if known is not None:
        return known
    about = [facts for name, facts in _facts_by_subject().items() if f" {name} " in f" {normalized} "]
    if len(about) != 1:
        return None
    for word in normalized.split():
        for fact in about[0]:
            if word in fact.attribute.words:
                return fact
    return None


def stated_values(topic: Topic, attribute: Attribute, text: str) -> frozenset[str]:
    """The values of `attribute` that occur in `text`, as the tables spell them."""
    flags = 0 if attribute.is_case_sensitive else re.IGNORECASE
    return _occurring(topic.values_of(attribute), text, flags)


def named_subjects(topic: Topic, text: str) -> frozenset[str]:
    """The subjects of `topic` that `text` names."""
    names = tuple(subject.name for part in topic.subtopics for subject in part.subjects)
    return _occurring(names, text, re.IGNORECASE)


def named_places(topic: Topic, text: str) -> frozenset[str]:
    """The places of `topic` that `text` names; always empty for a topic without places."""
    places = tuple(sorted({part.place for part in topic.subtopics if part.place}))
    return _occurring(places, text, re.IGNORECASE)


@cache
def _facts_by_subject() -> Mapping[str, tuple[Fact, ...]]:
    facts: dict[str, list[Fact]] = {}
    for topic in TOPICS:
        for fact in topic.facts:
            facts.setdefault(normalize_question(fact.subject.name), []).append(fact)
    return MappingProxyType({name: tuple(found) for name, found in facts.items()})


@cache
def _pattern(phrases: tuple[str, ...], flags: int) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", flags)


def _occurring(phrases: tuple[str, ...], text: str, flags: int) -> frozenset[str]:
    if not phrases:
        return frozenset()
    spelling = {phrase.casefold(): phrase for phrase in phrases}
    return frozenset(spelling[found.casefold()] for found in _pattern(phrases, flags).findall(text))


def _shuffled(texts: Iterable[str], *key: str) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: (stable_hash(*key, text), text)))
