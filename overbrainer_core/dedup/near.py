"""Which questions of the whole dataset nearly repeat each other where no stage compares them?

Stages compare within a topic. Here topics are compared with one another, and the evaluation questions with those
trained on. Texts come one by one; of the leaks only the evaluation questions are held.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from overbrainer_core.dedup.lexical import LexicalIndex, shingles, similarity


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """An evaluation question and the training question that is most alike; `similarity` is 0..1."""

    eval_id: str
    train_id: str
    similarity: float


def repeats_across(questions: Iterable[tuple[str, str]], *, threshold: float) -> int:
    """How many questions, given as (topic, text), nearly repeat an earlier one of another topic."""
    index = LexicalIndex(threshold)
    numbers: dict[str, int] = {}
    topic_of: list[int] = []
    repeats = 0
    for topic, text in questions:
        own = shingles(text)
        number = numbers.setdefault(topic, len(numbers))
        repeats += any(topic_of[found] != number for found in index.alike(text, own))
        index.add(text, own)
        topic_of.append(number)
    return repeats


def find_leaks(
    train: Iterable[tuple[str, str]], evaluation: Iterable[tuple[str, str]], *, threshold: float
) -> tuple[Leak, ...]:
    """The evaluation questions, given as (ID, text), that nearly repeat a training question, in their order."""
    index = LexicalIndex(threshold)
    ids: list[str] = []
    for eval_id, text in evaluation:
        index.add(text)
        ids.append(eval_id)
    nearest: dict[int, Leak] = {}
    for train_id, text in train if ids else ():
        own = shingles(text)
        for number in index.alike(text, own):
            found = similarity(own, shingles(index.text(number)))
            if number not in nearest or found > nearest[number].similarity:
                nearest[number] = Leak(eval_id=ids[number], train_id=train_id, similarity=found)
    return tuple(nearest[number] for number in sorted(nearest))
