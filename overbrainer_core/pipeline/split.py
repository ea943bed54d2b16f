"""Stage 4: which answers train, and which evaluate?

No chance is involved: the seed and the IDs decide, so that the same answers give the same files in whatever order they
were stored. Evaluation takes its share of each topic, then of each subtopic; training is never empty.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

import xxhash

from overbrainer_core.dataset.store import each_answer, encode_line, read_questions, rewrite_lines
from overbrainer_core.pipeline.context import StageContext
from overbrainer_core.values.stage import Exclusion, SplitReport, StageStats


class Splittable(Protocol):
    """What the split looks at."""

    @property
    def id(self) -> str:
        """ID of the question."""
        ...

    @property
    def topic(self) -> str:
        """Name of the topic."""
        ...

    @property
    def subtopic(self) -> str:
        """Name of the subtopic."""
        ...


S = TypeVar("S", bound=Splittable)


class AnswerClass(StrEnum):
    """What the split makes of an answer before it is divided."""

    USABLE = "usable"
    EXCLUDED = "excluded"
    ORPHANED = "orphaned"


def classify(
    answer: Splittable, excluded: Exclusion | None, *, topics: frozenset[str], questions: frozenset[str]
) -> AnswerClass:
    """Whether an answer takes part: one without its topic or its question is orphaned, excluded or not."""
    if answer.topic not in topics or answer.id not in questions:
        return AnswerClass.ORPHANED
    return AnswerClass.USABLE if excluded is None else AnswerClass.EXCLUDED


def eval_size(usable: int, eval_ratio: float) -> int:
    """How many of the usable answers evaluate: the ratio, halves rounded up, at least one on each side."""
    if usable < 2:
        return 0
    exact = usable * eval_ratio
    rounded = int(exact) + (1 if exact - int(exact) >= 0.5 else 0)
    return min(max(rounded, 1), usable - 1)


def split_answers(answers: Sequence[S], *, eval_ratio: float, seed: int) -> tuple[list[S], list[S]]:
    """The usable answers divided into train and eval, each in the order of its file.

    Copies of one answer in a subtopic stay together: in eval, unless nothing were left to train on.
    """
    groups: dict[str, dict[str, list[S]]] = {}
    for answer in answers:
        groups.setdefault(answer.topic, {}).setdefault(answer.subtopic, []).append(answer)
    topic_sizes = {topic: sum(map(len, subtopics.values())) for topic, subtopics in groups.items()}
    topic_quotas = allocate(eval_size(len(answers), eval_ratio), topic_sizes, seed=seed)
    drawn: list[tuple[list[S], int]] = []
    for topic in sorted(groups):
        sizes = {name: len(found) for name, found in groups[topic].items()}
        quotas = allocate(topic_quotas[topic], sizes, seed=seed)
        for name in sorted(sizes):
            ordered = sorted(groups[topic][name], key=lambda answer: (_hash(answer.id, seed), answer.id))
            drawn.append((ordered, quotas[name]))
    train, evaluation = _divided(drawn, step=1)
    return (train, evaluation) if train else _divided(drawn, step=-1)


def _divided(drawn: Sequence[tuple[list[S], int]], *, step: int) -> tuple[list[S], list[S]]:
    """Train and eval of all subtopics, a cut between copies moved by `step` until it is beside them."""
    train: list[S] = []
    evaluation: list[S] = []
    for ordered, quota in drawn:
        cut = quota
        while 0 < cut < len(ordered) and ordered[cut].id == ordered[cut - 1].id:
            cut += step
        evaluation += ordered[:cut]
        train += ordered[cut:]
    return train, evaluation


def allocate(total: int, sizes: Mapping[str, int], *, seed: int) -> dict[str, int]:
    """`total` places shared among named groups by their sizes; what is left goes by remainder, then by hash."""
    whole = sum(sizes.values())
    if whole == 0:
        return dict.fromkeys(sizes, 0)
    quotas = {name: size * total // whole for name, size in sizes.items()}
    left = total - sum(quotas.values())
    order = sorted(sizes, key=lambda name: (-(sizes[name] * total % whole), _hash(name, seed), name))
    for name in order[:left]:
        quotas[name] += 1
    return quotas


def _hash(text: str, seed: int) -> int:
    found: int = xxhash.xxh3_64_intdigest(text.encode(), seed=seed)
    return found


@dataclass(frozen=True, slots=True)
class _Usable:
    """A usable answer with its line: a whole example for each would take several times the memory."""

    id: str
    topic: str
    subtopic: str
    line: bytes


async def run_split(context: StageContext) -> tuple[StageStats, SplitReport]:
    """Write `train.jsonl` and `eval.jsonl` for every topic; the report covers the selected ones.

    Raises:
        ProjectFileError: a data file cannot be read or written.
    """
    splitter = _Splitter(context)
    await asyncio.to_thread(splitter.read)
    context.progress.start(splitter.shown)
    if splitter.orphaned_usable and not splitter.usable:
        context.warn(
            f"split: all {splitter.orphaned_usable} usable answers have lost their topic or question: "
            "train and eval will be empty"
        )
    report = await asyncio.to_thread(splitter.write)
    context.progress.count(done=report.train + report.eval, skipped=report.orphaned, excluded=report.excluded_total)
    return context.progress.end(), report


class _Splitter:
    """Reads and writes the files; knows no event loop."""

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self.usable: list[_Usable] = []
        self.orphaned_usable = 0
        self.shown = 0
        self._orphaned = 0
        self._excluded: Counter[Exclusion] = Counter()

    def write(self) -> SplitReport:
        """Divide the usable answers and write both files."""
        context = self._context
        pipeline = context.settings.pipeline
        train, evaluation = split_answers(self.usable, eval_ratio=pipeline.eval_ratio, seed=pipeline.seed)
        rewrite_lines(context.paths.train, (answer.line for answer in train))
        rewrite_lines(context.paths.eval, (answer.line for answer in evaluation))
        return SplitReport(
            train=sum(map(self._is_shown, train)),
            eval=sum(map(self._is_shown, evaluation)),
            orphaned=self._orphaned,
            excluded=tuple((reason, self._excluded[reason]) for reason in Exclusion if self._excluded[reason]),
        )

    def read(self) -> None:
        """Sort every answer into its class."""
        context = self._context
        topics = frozenset(topic.name for topic in context.settings.topics)
        questions = frozenset(question.id for question in read_questions(context.paths.questions))
        for example in each_answer(context.paths.answers):
            excluded = example.meta.excluded
            found = classify(example, excluded, topics=topics, questions=questions)
            is_shown = self._is_shown(example)
            self.shown += is_shown
            if found is AnswerClass.USABLE:
                line = encode_line(example)
                self.usable.append(_Usable(example.id, example.topic, example.subtopic, line))
            elif found is AnswerClass.ORPHANED:
                self._orphaned += is_shown
                self.orphaned_usable += excluded is None
            elif excluded is not None:
                self._excluded[excluded] += is_shown

    def _is_shown(self, answer: Splittable) -> bool:
        return self._context.topic in (None, answer.topic)
