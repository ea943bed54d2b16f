"""How much is there of each topic, without holding the dataset in memory?

Counts come from the IDs and marks of each line alone. A line that cannot be read is left out and reported with its
number; it never hides another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from overbrainer_core.dataset import wire
from overbrainer_core.dataset.store import LineProblem, data_lines, scan_each
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Exclusion

S = TypeVar("S", bound=msgspec.Struct)


class _Subtopic(msgspec.Struct, gc=False):
    id: str
    topic: str


class _Question(msgspec.Struct, gc=False):
    id: str
    topic: str
    subtopic_id: str


class _Meta(msgspec.Struct, gc=False):
    excluded: Exclusion | None = None


class _Answer(msgspec.Struct, gc=False):
    id: str
    topic: str
    meta: _Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCounts:
    """What is stored of one topic; `usable` and `excluded` are answers that have their question, `orphaned` those not.

    `answered` counts questions that have any answer.
    """

    topic: str
    subtopics: int = 0
    questions: int = 0
    answered: int = 0
    usable: int = 0
    excluded: int = 0
    orphaned: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetCounts:
    """The configured topics in their order, questions of each subtopic by its ID, and lines that cannot be read."""

    topics: tuple[TopicCounts, ...]
    questions_by_subtopic: dict[str, int] = field(default_factory=dict)
    unconfigured: int = 0
    problems: tuple[LineProblem, ...] = ()

    def total(self) -> TopicCounts:
        """The sum over the topics, under the name `total`."""
        names = ("subtopics", "questions", "answered", "usable", "excluded", "orphaned")
        return TopicCounts(
            topic="total", **{name: sum(getattr(topic, name) for topic in self.topics) for name in names}
        )


def dataset_counts(paths: ProjectPaths, topics: Sequence[str]) -> DatasetCounts:
    """Counts per configured topic; `unconfigured` counts answers whose topic is not among them.

    Raises:
        FileAccessError: a file cannot be read.
    """
    problems: list[LineProblem] = []
    tallies: Counter[tuple[str, str]] = Counter()
    by_subtopic: Counter[str] = Counter()
    for subtopic in _each(paths.subtopics, _Subtopic, problems):
        tallies[subtopic.topic, "subtopics"] += 1
    topic_of: dict[str, str] = {}
    for question in _each(paths.questions, _Question, problems):
        tallies[question.topic, "questions"] += 1
        by_subtopic[question.subtopic_id] += 1
        topic_of[question.id] = question.topic
    known = set(topics)
    unconfigured = 0
    answered: set[str] = set()
    for answer in _each(paths.answers, _Answer, problems):
        unconfigured += answer.topic not in known
        tallies[answer.topic, _class_of(answer, topic_of)] += 1
        answered.add(answer.id)
    tallies.update((topic, "answered") for found, topic in topic_of.items() if found in answered)
    return DatasetCounts(
        topics=tuple(_topic_counts(topic, tallies) for topic in topics),
        questions_by_subtopic=dict(by_subtopic),
        unconfigured=unconfigured,
        problems=tuple(problems),
    )


def _class_of(answer: _Answer, asked: Container[str]) -> str:
    if answer.id not in asked:
        return "orphaned"
    return "usable" if answer.meta.excluded is None else "excluded"


def _each(path: Path, kind: type[S], problems: list[LineProblem]) -> Iterator[S]:
    """The file's lines that can be read; the others go to `problems`."""
    decode = msgspec.json.Decoder(kind).decode

    def checked(line: bytes) -> S:
        try:
            return decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise wire.InvalidLineError("invalid record") from error

    for entry in scan_each(path, checked):
        if isinstance(entry, LineProblem):
            problems.append(entry)
        else:
            yield entry


def _topic_counts(topic: str, tallies: Counter[tuple[str, str]]) -> TopicCounts:
    return TopicCounts(
        topic=topic,
        subtopics=tallies[topic, "subtopics"],
        questions=tallies[topic, "questions"],
        answered=tallies[topic, "answered"],
        usable=tallies[topic, "usable"],
        excluded=tallies[topic, "excluded"],
        orphaned=tallies[topic, "orphaned"],
    )


def count_examples(path: Path) -> int:
    """Examples of `train.jsonl` or `eval.jsonl`, lines that were torn left out; 0 when the file is missing.

    Raises:
        FileAccessError: the file cannot be read.
    """
    return sum(not is_torn for _, _, is_torn in data_lines(path))
