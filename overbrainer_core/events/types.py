"""What can happen while work runs?

Past facts, published on an `EventBus` in the order they happened. Order in a stage: `StageStarted`,
`StageModel` (never for split), skipped items (`ItemDone` without usage), then for each item any number of
retryable `ItemFailed` and exactly one `ItemDone` with usage or final `ItemFailed`; `LimitChanged` at any time
between; `StageFinished` only when the stage reached its end. An item's line is on disk before its `ItemDone`.
Of a run: `RunCreated`, `RunWatched` before any `Metric`, `Mark`, `JobStatus` or `System` of it.
"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_core.values.job import JobState
from overbrainer_core.values.metric import PhaseMark, TrainMetric
from overbrainer_core.values.sample import MachineSample
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage


class StageStarted(Struct, frozen=True, kw_only=True):
    """A stage begins; `total` counts every selected item, those already done included."""

    stage: Stage
    total: int


class StageModel(Struct, frozen=True, kw_only=True):
    """The model that a stage asks."""

    stage: Stage
    model: str


class ItemDone(Struct, frozen=True, kw_only=True):
    """An item is on disk; without usage it was there before (skipped). `cost` in USD at the role's price."""

    stage: Stage
    id: str
    usage: Usage | None = None
    cost: float | None = None
    excluded: bool = False


class ItemFailed(Struct, frozen=True, kw_only=True):
    """An attempt failed and will be made again (`retryable`), or the item failed for good."""

    stage: Stage
    id: str
    error: str
    retryable: bool


class LimitChanged(Struct, frozen=True, kw_only=True):
    """What the stage's model is asked at most was lowered or raised, as its provider refused or took requests.

    None where no limit is in force but `pipeline.concurrency`.
    """

    stage: Stage
    at_once: int | None = None
    per_minute: float | None = None


class StageFinished(Struct, frozen=True, kw_only=True):
    """A stage reached its end."""

    stage: Stage
    stats: StageStats


class RunCreated(Struct, frozen=True, kw_only=True):
    """A run has its ID and its record; its job has not started."""

    run_id: str
    target: str


class RunWatched(Struct, frozen=True, kw_only=True):
    """A run is followed from here on; `job` names an export or a compare, None is the training."""

    run_id: str
    job: str | None = None


class Metric(Struct, frozen=True, kw_only=True):
    """A training or evaluation log of a followed run."""

    run_id: str
    metric: TrainMetric


class Mark(Struct, frozen=True, kw_only=True):
    """A phase line of a followed run."""

    run_id: str
    mark: PhaseMark


class JobStatus(Struct, frozen=True, kw_only=True):
    """The state of a followed run's job changed, or is told for the first time."""

    run_id: str
    state: JobState


class System(Struct, frozen=True, kw_only=True):
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
