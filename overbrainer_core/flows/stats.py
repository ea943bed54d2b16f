"""The dataset in numbers: what is there, how long it is, what repeats, and what evaluation shares with training.

Whoever asks needs no lock: files are read line by line, nothing is written. What cannot be read stops it with its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from overbrainer_core.config.settings import Settings
from overbrainer_core.dataset.records import MessageRole
from overbrainer_core.dataset.stats import Spread, TopicStats, topic_stats
from overbrainer_core.dataset.store import each_answer, each_numbered
from overbrainer_core.dataset.wire import QUESTIONS
from overbrainer_core.dedup.near import Leak, find_leaks, repeats_across
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.text import cell_width, cut, escape_controls

MAX_TOPIC_CELLS = 18
"""Terminal cells of a topic's name at most: both tables then stay within 80."""
MAX_LEAKS_SHOWN = 20
"""Leaks in the plain output; the document holds all."""

_COUNTS = ("subtopics", "questions", "answers", "usable", "excluded")
_EXCLUDED = ("truncated", "refused")
_LENGTHS = ("question_chars", "answer_chars", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetStats:
    """Figures of each topic and of all, questions that repeat one of another topic, and leaks into the evaluation."""

    topics: tuple[TopicStats, ...]
    total: TopicStats
    near_duplicates: int
    leaks: tuple[Leak, ...]
    eval_questions: int


def dataset_stats(paths: ProjectPaths, settings: Settings) -> DatasetStats:
    """Read the whole dataset; questions are alike from `pipeline.dedup_threshold` on.

    Raises:
        ProjectFileError: a data file cannot be read.
    """
    threshold = settings.pipeline.dedup_threshold
    topics, total = topic_stats(paths, [topic.name for topic in settings.topics])
    questions = ((question.topic, question.text) for _, question in each_numbered(paths.questions, QUESTIONS))
    near_duplicates = repeats_across(questions, threshold=threshold)
    evaluation = _Asked(paths.eval)
    leaks = find_leaks(_Asked(paths.train), evaluation, threshold=threshold)
    return DatasetStats(
        topics=topics,
        total=total,
        near_duplicates=near_duplicates,
        leaks=leaks,
        eval_questions=evaluation.count,
    )


class _Asked:
    """ID and question of each example of a file, counted on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for example in each_answer(self._path):
            self.count += 1
            yield example.id, next((entry.content for entry in example.messages if entry.role is MessageRole.USER), "")


def stats_document(stats: DatasetStats) -> dict[str, Any]:
    """The document of `stats --json`."""
    keys = ("topic", *_COUNTS, "refused", "truncated", *_LENGTHS)
    topics = [asdict(topic) for topic in stats.topics]
    return {
        "topics": [{key: topic[key] for key in keys} for topic in topics],
        "near_duplicates": stats.near_duplicates,
        "leaks": [{**asdict(leak), "similarity": round(leak.similarity, 4)} for leak in stats.leaks],
    }


def stats_lines(stats: DatasetStats) -> list[str]:
    """The same for people, aligned, within 80 columns."""
    rows = [*stats.topics, stats.total] if len(stats.topics) > 1 else list(stats.topics)
    lines = [*_count_lines(rows), "", *_length_lines(rows), ""]
    unknown = [escape_controls(topic.topic) for topic in stats.topics if not topic.is_configured]
    if unknown:
        lines.append(cut(f"not configured: {', '.join(unknown)}", 80))
    if stats.total.orphaned:
        lines.append(f"orphaned answers: {stats.total.orphaned}")
    lines.append(f"questions that nearly repeat one of another topic: {stats.near_duplicates}")
    return [*lines, *_leak_lines(stats)]


def _count_lines(rows: Sequence[TopicStats]) -> Iterator[str]:
    names = _names(rows)
    yield names[0] + "".join(f"  {name:>9}" for name in _COUNTS)
    for name, row in zip(names[1:], rows, strict=True):
        yield name + "".join(f"  {getattr(row, count):>9}" for count in _COUNTS)


def _length_lines(rows: Sequence[TopicStats]) -> Iterator[str]:
    names = _names(rows)
    groups = "".join(f"{name.replace('_', ' '):>14}" for name in _LENGTHS)
    yield f"{'':{len(names[0])}}{'':20}{groups}"
    yield names[0] + "".join(f" {name:>9}" for name in _EXCLUDED) + f"{'p50':>7}{'p95':>7}" * len(_LENGTHS)
    for name, row in zip(names[1:], rows, strict=True):
        spreads: list[Spread] = [getattr(row, length) for length in _LENGTHS]
        lengths = "".join(f"{_figure(spread.p50):>7}{_figure(spread.p95):>7}" for spread in spreads)
        yield name + "".join(f" {getattr(row, count):>9}" for count in _EXCLUDED) + lengths


def _names(rows: Sequence[TopicStats]) -> list[str]:
    """The heading and the topics' names, all of one width."""
    names = [cut(escape_controls(name), MAX_TOPIC_CELLS) for name in ("topic", *[row.topic for row in rows])]
    width = max(map(cell_width, names))
    return [name + " " * (width - cell_width(name)) for name in names]


def _figure(number: int | None) -> str:
    return "-" if number is None else str(number)


def _leak_lines(stats: DatasetStats) -> Iterator[str]:
    if not stats.eval_questions:
        yield "evaluation questions: none yet"
        return
    count = len(stats.leaks)
    yield f"evaluation questions that nearly repeat a training question: {count} of {stats.eval_questions}"
    for leak in stats.leaks[:MAX_LEAKS_SHOWN]:
        yield f"  {escape_controls(leak.eval_id)}  {escape_controls(leak.train_id)}  {leak.similarity:.2f}"
    if count > MAX_LEAKS_SHOWN:
        yield f"  and {count - MAX_LEAKS_SHOWN} more: --json lists them all"
