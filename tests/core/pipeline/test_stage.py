from __future__ import annotations

from overbrainer_core.aio.rate_limits import Limits
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import (
    Event,
    ItemDone,
    ItemFailed,
    LimitChanged,
    StageFinished,
    StageModel,
    StageStarted,
)
from overbrainer_core.llm.errors import InvalidResponseError
from overbrainer_core.pipeline.stage import StageProgress
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Price, Usage


class Kept:
    """Keeps the events of a bus."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def on_close(self) -> None:
        """Nothing follows."""


USAGE = Usage(input_tokens=10, output_tokens=5)


def test_each_fact_is_published_and_counted() -> None:
    kept = Kept()
    price = Price(input_usd_per_million=100_000, output_usd_per_million=200_000)
    progress = StageProgress(Stage.ANSWERS, EventBus([kept]), price=price)
    progress.start(5, "m")
    progress.skip("a")
    progress.retry("b", "again")
    progress.use(USAGE)
    progress.finish_item("b", USAGE)
    progress.use(USAGE)
    progress.finish_item("c", USAGE, excluded=True)
    progress.fail("d", InvalidResponseError("no choices"))
    stats = progress.end()
    assert stats == StageStats(
        done=1, skipped=1, failed=1, excluded=1, usage=Usage(input_tokens=20, output_tokens=10), cost=4.0
    )
    assert kept.events == [
        StageStarted(stage=Stage.ANSWERS, total=5),
        StageModel(stage=Stage.ANSWERS, model="m"),
        ItemDone(stage=Stage.ANSWERS, id="a"),
        ItemFailed(stage=Stage.ANSWERS, id="b", error="again", retryable=True),
        ItemDone(stage=Stage.ANSWERS, id="b", usage=USAGE, cost=2.0),
        ItemDone(stage=Stage.ANSWERS, id="c", usage=USAGE, cost=2.0, excluded=True),
        ItemFailed(stage=Stage.ANSWERS, id="d", error="invalid response: no choices", retryable=False),
        StageFinished(stage=Stage.ANSWERS, stats=stats),
    ]


def cost_after(price: Price | None, *usages: Usage) -> float | None:
    progress = StageProgress(Stage.ANSWERS, EventBus(), price=price)
    for usage in usages:
        progress.use(usage)
    return progress.stats.cost


def test_a_cost_is_unknown_until_a_priced_request_was_made() -> None:
    price = Price(input_usd_per_million=1, output_usd_per_million=1)
    assert cost_after(price) is None
    assert cost_after(price, Usage()) == 0.0
    assert cost_after(None, USAGE) is None


def test_a_limit_that_is_known_before_the_start_is_told_after_it() -> None:
    kept = Kept()
    progress = StageProgress(Stage.ANSWERS, EventBus([kept]))
    progress.limit(Limits(at_once=3))
    progress.start(5, "m")
    progress.limit(Limits())
    assert kept.events == [
        StageStarted(stage=Stage.ANSWERS, total=5),
        StageModel(stage=Stage.ANSWERS, model="m"),
        LimitChanged(stage=Stage.ANSWERS, at_once=3),
        LimitChanged(stage=Stage.ANSWERS),
    ]
