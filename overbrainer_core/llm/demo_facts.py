"""What does a fact of the demo look like, and how is it asked and told?

A topic has three attributes; every subject has one value for each. An attribute owns the six ways of
asking for it and the sentences that tell it, so a table module holds rows and wording only.

Invariants: a question names its subject exactly once, and what a fact says follows from the tables alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

_WORD = re.compile(r"[^\W_]+")


def normalize_question(text: str) -> str:
    """Words of `text` in lower case, one space between: case and punctuation make no difference."""
    return " ".join(_WORD.findall(text.lower()))


def with_article(noun: str) -> str:
    """`noun` behind `a` or `an`."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def counted(number: str, noun: str) -> str:
    """`number` before `noun`, which gets an `s` unless the number is 1."""
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One thing that can be asked about every subject of a topic.

    `templates` and the sentences are format strings. All know `subject`; `first`, `said` and `truth` also
    know `value`, `a_value` (with its article) and `protons` (counted); `second` knows the subject's other
    values by attribute name, `place`, and the same two forms as `a_family` and `protons`.
    """

    name: str
    label: str
    """The word the reasoning uses for it."""
    templates: tuple[str, ...]
    first: str
    """The sentence that tells the value."""
    second: str
    """The sentence that tells everything but the value."""
    truth: str
    """The fact as part of a longer sentence."""
    said: str = "{value}"
    """The value as somebody states it."""
    words: frozenset[str]
    """Lower-case words that show that a question in free wording asks for it."""
    is_case_sensitive: bool = False
    """Whether a value counts as stated only in its own case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A country, an element or a moon; `values` are in the order of the topic's attributes."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopic:
    """Subjects that are asked together; `place` is where all of them are (empty when it says nothing)."""

    name: str
    subjects: tuple[Subject, ...]
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Topic:
    """Attributes and the subjects that have them, in the order in which they are handed out."""

    name: str
    attributes: tuple[Attribute, ...]
    subtopics: tuple[Subtopic, ...]

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Every fact, by subtopic, subject and attribute."""
        return tuple(
            Fact(topic=self, subtopic=subtopic, subject=subject, attribute=attribute)
            for subtopic in self.subtopics
            for subject in subtopic.subjects
            for attribute in self.attributes
        )

    def values_of(self, attribute: Attribute) -> tuple[str, ...]:
        """The different values of `attribute`, sorted."""
        at = self.attributes.index(attribute)
        return tuple(sorted({subject.values[at] for part in self.subtopics for subject in part.subjects}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value of one subject."""

    topic: Topic = field(repr=False)
    subtopic: Subtopic = field(repr=False)
    subject: Subject
    attribute: Attribute = field(repr=False)

    @property
    def key(self) -> str:
        """`topic/subject/attribute`, unique among all facts."""
        return f"{self.topic.name}/{self.subject.name}/{self.attribute.name}"

    @property
    def value(self) -> str:
        """The right value."""
        return self.subject.values[self.topic.attributes.index(self.attribute)]

    @property
    def values(self) -> Mapping[str, str]:
        """All values of the subject by attribute name."""
        names = (attribute.name for attribute in self.topic.attributes)
        return MappingProxyType(dict(zip(names, self.subject.values, strict=True)))

    @property
    def questions(self) -> tuple[str, ...]:
        """The ways of asking for it, one for each template."""
        return tuple(text.format(subject=self.subject.name) for text in self.attribute.templates)

    def first_sentence(self, value: str | None = None) -> str:
        """The sentence that tells the fact, with another `value` when one is given."""
        return self._word(self.attribute.first, self.value if value is None else value)

    def second_sentence(self) -> str:
        """The sentence that tells the subject's other facts."""
        values = self.values
        forms = {"place": self.subtopic.place}
        if "family" in values:
            forms["a_family"] = with_article(values["family"])
            forms["protons"] = counted(values["number"], "proton")
        return self.attribute.second.format(subject=self.subject.name, **forms, **values)

    def reasoning(self) -> str:
        """The line of thought before an answer: the same for every question about the fact."""
        recalled = ", ".join(f"{a.label} {self.values[a.name]}" for a in self.topic.attributes)
        asked = f"This is about {self.subject.name} and asks for its {self.attribute.label}."
        return f"{asked} I recall: {recalled}."

    def truth(self) -> str:
        """The fact as part of a longer sentence."""
        return self._word(self.attribute.truth, self.value)

    def said(self, value: str) -> str:
        """`value` as somebody states it."""
        return self._word(self.attribute.said, value)

    def _word(self, text: str, value: str) -> str:
        forms = {"value": value, "a_value": with_article(value), "protons": counted(value, "proton")}
        return text.format(subject=self.subject.name, **forms)
