"""How large is the dataset, topic by topic, and how long are its texts?

Files are read line by line, of each text only its length is kept. Counts follow the split: an answer whose question is
gone is neither usable nor excluded.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from overbrainer_core.dataset.records import Example, MessageRole
from overbrainer_core.dataset.store import each_answer, each_numbered
from overbrainer_core.dataset.wire import QUESTIONS, SUBTOPICS
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Exclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The middle of some numbers, and what 95 in 100 of them do not pass; None without any."""

    p50: int | None = None
    p95: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStats:
    """What is stored of one topic; `refused` and `truncated` are among the excluded answers.

    Lengths are characters of every question and every stored answer, `output_tokens` what the provider counted.
    """

    topic: str
    is_configured: bool = True
    subtopics: int = 0
    questions: int = 0
    answers: int = 0
    usable: int = 0
    excluded: int = 0
    refused: int = 0
    truncated: int = 0
    question_chars: Spread = Spread()
    answer_chars: Spread = Spread()
    output_tokens: Spread = Spread()

    @property
    def orphaned(self) -> int:
        """Answers that lost their question or their topic."""
        return self.answers - self.usable - self.excluded


@dataclass(slots=True)
class _Tally:
    """Counts and lengths of one topic while the files are read."""

    subtopics: int = 0
    usable: int = 0
    excluded: int = 0
    refused: int = 0
    truncated: int = 0
    question_chars: array[int] = field(default_factory=lambda: array("Q"))
    answer_chars: array[int] = field(default_factory=lambda: array("Q"))
    output_tokens: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, other: _Tally) -> None:
        """Count another topic in."""
        self.subtopics += other.subtopics
        self.usable += other.usable
        self.excluded += other.excluded
        self.refused += other.refused
        self.truncated += other.truncated
        self.question_chars.extend(other.question_chars)
        self.answer_chars.extend(other.answer_chars)
        self.output_tokens.extend(other.output_tokens)

    def answer(self, example: Example, *, is_orphaned: bool) -> None:
        """Count an answer in."""
        content = next((entry.content for entry in example.messages if entry.role is MessageRole.ASSISTANT), "")
        self.answer_chars.append(len(content))
        self.output_tokens.append(min(example.meta.output_tokens, 2**64 - 1))
        if is_orphaned:
            return
        excluded = example.meta.excluded
        self.usable += excluded is None
        self.excluded += excluded is not None
        self.refused += excluded is Exclusion.REFUSED
        self.truncated += excluded is Exclusion.TRUNCATED

    def stats(self, topic: str, *, is_configured: bool) -> TopicStats:
        """The topic's figures."""
        return TopicStats(
            topic=topic,
            is_configured=is_configured,
            subtopics=self.subtopics,
            questions=len(self.question_chars),
            answers=len(self.answer_chars),
            usable=self.usable,
            excluded=self.excluded,
            refused=self.refused,
            truncated=self.truncated,
            question_chars=spread(self.question_chars),
            answer_chars=spread(self.answer_chars),
            output_tokens=spread(self.output_tokens),
        )


def spread(numbers: Sequence[int]) -> Spread:
    """The smallest of the numbers that half of them, and that 95 in 100 of them, do not pass.

    >>> spread([4, 1, 3, 2])
    Spread(p50=2, p95=4)
    """
    if not numbers:
        return Spread()
    ordered = sorted(numbers)
    return Spread(p50=ordered[_rank(len(ordered), 50)], p95=ordered[_rank(len(ordered), 95)])


def _rank(count: int, percent: int) -> int:
    return -(-count * percent // 100) - 1


def topic_stats(paths: ProjectPaths, topics: Sequence[str]) -> tuple[tuple[TopicStats, ...], TopicStats]:
    """The configured topics in their order, then those found in the data alone by name; and all of them together.

    Raises:
        ProjectFileError: a data file cannot be read.
    """
    configured = frozenset(topics)
    tallies: dict[str, _Tally] = {topic: _Tally() for topic in topics}
    for _, subtopic in each_numbered(paths.subtopics, SUBTOPICS):
        tallies.setdefault(subtopic.topic, _Tally()).subtopics += 1
    asked: set[str] = set()
    for _, question in each_numbered(paths.questions, QUESTIONS):
        tallies.setdefault(question.topic, _Tally()).question_chars.append(len(question.text))
        asked.add(question.id)
    for example in each_answer(paths.answers):
        is_orphaned = example.topic not in configured or example.id not in asked
        tallies.setdefault(example.topic, _Tally()).answer(example, is_orphaned=is_orphaned)
    whole = _Tally()
    for tally in tallies.values():
        whole.add(tally)
    names = [*topics, *sorted(tallies.keys() - configured)]
    found = tuple(tallies[name].stats(name, is_configured=name in configured) for name in names)
    return found, whole.stats("all topics", is_configured=True)
