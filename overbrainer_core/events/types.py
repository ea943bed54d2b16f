"""What can happen while work runs?

Past facts, published on an `EventBus` in the order they happened. Order in a stage: `StageStarted`,
`StageModel` (never for split), skipped items (`ItemDone` without usage), then for each item any number of
retryable `ItemFailed` and exactly one `ItemDone` with usage or final `ItemFailed`; `LimitChanged` at any time
between; `StageFinished` only when the stage reached its end. An item's line is on disk before its `ItemDone`.
Of a run: `RunCreated`, `RunWatched` before any `Metric`, `Mark`, `JobStatus` or `System` of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from overbrainer_core.values.job import JobState
from overbrainer_core.values.metric import PhaseMark, TrainMetric
from overbrainer_core.values.sample import MachineSample
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStarted:
    """A stage begins; `total` counts every selected item, those already done included."""

    stage: Stage
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageModel:
    """The model that a stage asks."""

    stage: Stage
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDone:
    """An item is on disk; without usage it was there before (skipped). `cost` in USD at the role's price."""

    stage: Stage
    id: str
    usage: Usage | None = None
    cost: float | None = None
    excluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFailed:
    """An attempt failed and will be made again (`retryable`), or the item failed for good."""

    stage: Stage
    id: str
    error: str
    retryable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChanged:
    """What the stage's model is asked at most was lowered or raised, as its provider refused or took requests.

    None where no limit is in force but `pipeline.concurrency`.
    """

    stage: Stage
    at_once: int | None = None
    per_minute: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished:
    """A stage reached its end."""

    stage: Stage
    stats: StageStats


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCreated:
    """A run has its ID and its record; its job has not started."""

    run_id: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWatched:
    """A run is followed from here on; `job` names an export or a compare, None is the training."""

    run_id: str
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A training or evaluation log of a followed run."""

    run_id: str
    metric: TrainMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A phase line of a followed run."""

    run_id: str
    mark: PhaseMark


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """The state of a followed run's job changed, or is told for the first time."""

    run_id: str
    state: JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A sample of the machine that a followed run's job runs on."""

    run_id: str
    sample: MachineSample


StageEvent = StageStarted | StageModel | ItemDone | ItemFailed | LimitChanged | StageFinished
RunEvent = RunCreated | RunWatched | Metric | Mark | JobStatus | System
Event = StageEvent | RunEvent

EVENT_TYPES: tuple[type, ...] = (
    StageStarted,
    StageModel,
    ItemDone,
    ItemFailed,
    LimitChanged,
    StageFinished,
    RunCreated,
    RunWatched,
    Metric,
    Mark,
    JobStatus,
    System,
)
"""Every event, in the order of this module; listings by event are checked against it."""
