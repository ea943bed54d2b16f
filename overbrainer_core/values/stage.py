"""Which stages are there, and what does one report at its end?"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from overbrainer_core.values.usage import Usage


class Stage(StrEnum):
    """The dataset stages in the order they run; the value is their name everywhere."""

    SUBTOPICS = "subtopics"
    QUESTIONS = "questions"
    ANSWERS = "answers"
    SPLIT = "split"


class Exclusion(StrEnum):
    """Why a stored answer is not used for training, in the order reports list them."""

    TRUNCATED = "truncated"
    EMPTY = "empty"
    REFUSED = "refused"
    NO_RAW_REASONING = "no_raw_reasoning"


class StageStats(Struct, frozen=True, kw_only=True):
    """Counters of a stage: items by result, tokens of every completed request, cost in USD or unknown."""

    done: int = 0
    skipped: int = 0
    failed: int = 0
    excluded: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None


class SplitReport(Struct, frozen=True, kw_only=True):
    """What a split wrote; `excluded` counts by reason in the order of `Exclusion`, zero counts left out."""

    train: int
    eval: int
    orphaned: int
    excluded: tuple[tuple[Exclusion, int], ...] = ()

    @property
    def excluded_total(self) -> int:
        """Answers left out for any reason."""
        return sum(count for _, count in self.excluded)
