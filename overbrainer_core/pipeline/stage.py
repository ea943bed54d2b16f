"""What do the stages have in common: counters, the order of events, and asking a model?

`StageProgress` publishes each fact after it is on disk and counts it in the same moment, so that its counters are the
tally of the events at any time: they are what an interrupted stage leaves in the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from overbrainer_core.aio.rate_limits import Limits
from overbrainer_core.config.settings import Role
from overbrainer_core.errors import describe
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import (
    ItemDone,
    ItemFailed,
    LimitChanged,
    StageFinished,
    StageModel,
    StageStarted,
)
from overbrainer_core.llm.client import LlmClient
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.pipeline.cost_cap import CostCap
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Price, Usage, add_costs


class StageProgress:
    """Counters and events of one execution of a stage."""

    def __init__(self, stage: Stage, bus: EventBus, *, price: Price | None = None) -> None:
        self.stage = stage
        self._bus = bus
        self.price = price
        self._done = 0
        self._skipped = 0
        self._failed = 0
        self._excluded = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._cost: float | None = None
        self._is_started = False
        self._limits = Limits()

    def start(self, total: int, model: str | None = None) -> None:
        """The stage begins with so many selected items."""
        self._bus.publish(StageStarted(stage=self.stage, total=total))
        if model is not None:
            self._bus.publish(StageModel(stage=self.stage, model=model))
        self._is_started = True
        if self._limits != Limits():
            self._tell_limits()

    def limit(self, limits: Limits) -> None:
        """The model's provider was found to take so much; what is known before the start is told after it."""
        self._limits = limits
        if self._is_started:
            self._tell_limits()

    def _tell_limits(self) -> None:
        limits = self._limits
        self._bus.publish(LimitChanged(stage=self.stage, at_once=limits.at_once, per_minute=limits.per_minute))

    def use(self, usage: Usage) -> None:
        """A request was completed, whatever becomes of its item."""
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens
        if self.price is not None:
            self._cost = add_costs(self._cost, self.price.cost_usd(usage))

    def skip(self, item: str) -> None:
        """The item was on disk before."""
        self._skipped += 1
        self._bus.publish(ItemDone(stage=self.stage, id=item))

    def finish_item(self, item: str, usage: Usage, *, excluded: bool = False) -> None:
        """The item is on disk; `usage` is that of all its requests."""
        if excluded:
            self._excluded += 1
        else:
            self._done += 1
        cost = self.price.cost_usd(usage) if self.price is not None else None
        self._bus.publish(ItemDone(stage=self.stage, id=item, usage=usage, cost=cost, excluded=excluded))

    def retry(self, item: str, error: str) -> None:
        """An attempt at the item failed and is made again."""
        self._bus.publish(ItemFailed(stage=self.stage, id=item, error=error, retryable=True))

    def fail(self, item: str, error: BaseException) -> None:
        """The item failed for good."""
        self._failed += 1
        self._bus.publish(ItemFailed(stage=self.stage, id=item, error=describe(error), retryable=False))

    def count(self, *, done: int = 0, skipped: int = 0, excluded: int = 0) -> None:
        """Add results that have no events of their own."""
        self._done += done
        self._skipped += skipped
        self._excluded += excluded

    def end(self) -> StageStats:
        """The stage reached its end."""
        stats = self.stats
        self._bus.publish(StageFinished(stage=self.stage, stats=stats))
        return stats

    @property
    def stats(self) -> StageStats:
        """The counters so far."""
        return StageStats(
            done=self._done,
            skipped=self._skipped,
            failed=self._failed,
            excluded=self._excluded,
            usage=Usage(input_tokens=self._input_tokens, output_tokens=self._output_tokens),
            cost=self._cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StageModelAccess:
    """The model of a stage's role: asks it, counts what each request used, keeps to the cost cap."""

    client: LlmClient
    progress: StageProgress
    cap: CostCap

    @property
    def role(self) -> Role:
        """The role whose model this is."""
        return self.client.role

    async def ask(self, request: CompletionRequest, *, item: str) -> Completion:
        """The model's reply for an item; each failure that is tried again is published.

        Raises:
            LlmError: the last failure.
            CostCapError: the request could pass the cost cap.
        """
        progress = self.progress
        on_retry = partial(progress.retry, item)
        if not self.cap.is_active:
            completion = await self.client.complete(request, on_retry=on_retry)
            progress.use(completion.usage)
            return completion
        reserved = await self.cap.reserve(request, request.max_tokens or self.role.max_tokens)
        usage = Usage()
        try:
            completion = await self.client.complete(request, on_retry=on_retry)
            usage = completion.usage
            progress.use(usage)
            return completion
        finally:
            self.cap.settle(reserved, usage)
