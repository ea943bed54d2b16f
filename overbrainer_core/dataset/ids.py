"""Which ID has a subtopic or a question? Stable for ever: changing hash, join or normalisation breaks resuming.

An ID is the XXH3-128 of its parts joined with U+001F, as 32 lower-case hexadecimal characters. U+001F is a control
character, which normalised text never holds, so that parts cannot run into each other.
"""

from __future__ import annotations

import re

import xxhash

_SEPARATORS = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
"""Runs of Unicode white space and control characters: where a text is split into words."""


def normalize(text: str) -> str:
    """The text in lower case with one space between its words; two texts that differ in that alone share an ID.

    >>> normalize("  Hello\\n\\tWORLD ")
    'hello world'
    """
    return " ".join([word.lower() for word in _SEPARATORS.split(text) if word])


def stable_id(*parts: str) -> str:
    """The ID of some parts, in their order."""
    digest: str = xxhash.xxh3_128_hexdigest("\x1f".join(parts).encode())
    return digest


def subtopic_id(topic: str, name: str) -> str:
    """The ID of a subtopic; the topic name counts as it is written, the subtopic's name normalised."""
    return stable_id("subtopic", topic, normalize(name))


def question_id(subtopic: str, text: str) -> str:
    """The ID of a question under the subtopic of that ID; its answer has the same one."""
    return stable_id("question", subtopic, normalize(text))
