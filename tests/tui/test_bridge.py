"""From a bus to the models: order, frames, and what a slow screen loses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from overbrainer_core.events.bus import SUBSCRIPTION_SIZE, EventBus, Observer
from overbrainer_core.events.types import Event, ItemDone, StageFinished, StageStarted
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_tui.bridge import Bridge, Tally

ANSWERS = Stage.ANSWERS

R = TypeVar("R")


class FakeSession:
    """Only what the bridge uses: it opens buses."""

    def new_bus(self, *more: Observer) -> EventBus:
        return EventBus(more)


class Folds:
    """Keeps what was folded."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, list[Event], int, dict[Stage, int]]] = []

    def __call__(self, task: int, events: Sequence[Event], lost: int, finished: Sequence[tuple[Stage, int]]) -> None:
        self.calls.append((task, list(events), lost, dict(finished)))

    @property
    def events(self) -> list[Event]:
        return [event for _, events, _, _ in self.calls for event in events]


def done(number: int) -> ItemDone:
    return ItemDone(stage=ANSWERS, id=str(number))


async def run(work: Callable[[EventBus], Awaitable[R]], folds: Folds) -> R:
    async with asyncio.TaskGroup() as group:
        bridge = Bridge(FakeSession(), group, folds, sleep=lambda _seconds: asyncio.sleep(0))  # type: ignore[arg-type]
        return await bridge.run(7, work)
    raise AssertionError


async def test_events_are_folded_in_order_under_their_task_before_the_work_returns() -> None:
    folds = Folds()

    async def work(bus: EventBus) -> str:
        bus.publish(StageStarted(stage=ANSWERS, total=3))
        for number in range(3):
            bus.publish(done(number))
        return "result"

    assert await run(work, folds) == "result"
    assert folds.events == [StageStarted(stage=ANSWERS, total=3), done(0), done(1), done(2)]
    assert {task for task, *_ in folds.calls} == {7}


async def test_a_burst_is_folded_at_once_and_not_one_by_one() -> None:
    folds = Folds()

    async def work(bus: EventBus) -> None:
        for number in range(500):
            bus.publish(done(number))
        await asyncio.sleep(0)

    await run(work, folds)
    assert len(folds.calls) < 5


async def test_what_must_not_be_lost_is_put_back_in_its_place_and_items_are_counted() -> None:
    folds = Folds()

    async def work(bus: EventBus) -> None:
        bus.publish(StageStarted(stage=ANSWERS, total=3000))
        for number in range(3000):
            bus.publish(done(number))
        bus.publish(StageFinished(stage=ANSWERS, stats=StageStats(skipped=3000)))

    await run(work, folds)
    ((_, events, lost, finished),) = folds.calls
    assert events[0] == StageStarted(stage=ANSWERS, total=3000)
    assert events[-1] == StageFinished(stage=ANSWERS, stats=StageStats(skipped=3000))
    assert lost == 3002 - SUBSCRIPTION_SIZE
    assert finished == {ANSWERS: 3000}
    assert len(events) == SUBSCRIPTION_SIZE + 1


async def test_a_failure_of_the_work_is_raised_after_its_last_events_were_folded() -> None:
    folds = Folds()

    async def work(bus: EventBus) -> None:
        bus.publish(done(1))
        raise ValueError("broken")

    with pytest.raises(ExceptionGroup) as raised:
        await run(work, folds)
    assert isinstance(raised.value.exceptions[0], ValueError)
    assert folds.events == [done(1)]


def test_a_tally_gives_the_landmarks_before_an_event_once() -> None:
    tally = Tally()
    first = StageStarted(stage=ANSWERS, total=1)
    last = StageFinished(stage=ANSWERS, stats=StageStats(done=1))
    for event in (first, done(1), last):
        tally.on_event(event)
    assert tally.forget_before(2) == [first]
    assert tally.forget_before(2) == []
    assert tally.forget_before(3) == [last]
    assert tally.finished[ANSWERS] == 1
