"""How do the events of a bus reach the models and the app?

One subscription per bus. A burst is folded once per frame; nothing is folded away that ends something. What a slow
screen lost is made good where it matters: landmarks (starts, ends, runs) are kept beside the subscription and put back
in their place, and each stage's finished items are counted where nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import (
    Event,
    ItemDone,
    ItemFailed,
    JobStatus,
    RunCreated,
    RunWatched,
    StageFinished,
    StageStarted,
)
from overbrainer_core.flows.session import Session
from overbrainer_core.values.stage import Stage

FRAME_S = 1 / 30
"""The shortest time between two folds, in seconds."""

_LANDMARKS = (StageStarted, StageFinished, RunCreated, RunWatched, JobStatus)

R = TypeVar("R")

Fold = Callable[[int, Sequence[Event], int, Sequence[tuple[Stage, int]]], None]
"""What takes folded events: task, events in order, how many were lost, finished items of each stage."""


class Tally:
    """An observer that keeps what must not be lost; `seen` events were published so far."""

    def __init__(self) -> None:
        self.seen = 0
        self.finished: Counter[Stage] = Counter()
        self._landmarks: deque[tuple[int, Event]] = deque()

    def on_event(self, event: Event) -> None:
        """Count an event."""
        if isinstance(event, ItemDone) or (isinstance(event, ItemFailed) and not event.retryable):
            self.finished[event.stage] += 1
        elif isinstance(event, _LANDMARKS):
            self._landmarks.append((self.seen, event))
            if isinstance(event, StageStarted):
                self.finished[event.stage] = 0
        self.seen += 1

    def on_close(self) -> None:
        """Nothing is held."""

    def forget_before(self, number: int) -> list[Event]:
        """The landmarks published before event `number`, in order; they are kept no longer."""
        found: list[Event] = []
        while self._landmarks and self._landmarks[0][0] < number:
            found.append(self._landmarks.popleft()[1])
        return found


class Bridge:
    """Opens the buses of tasks, and folds what they bring."""

    def __init__(
        self,
        session: Session,
        group: asyncio.TaskGroup,
        fold: Fold,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._session = session
        self._group = group
        self._fold = fold
        self._sleep = sleep

    async def run(self, task: int, work: Callable[[EventBus], Awaitable[R]]) -> R:
        """Run `work` with a bus of its own; every event is folded before this returns."""
        tally = Tally()
        bus = self._session.new_bus(tally)
        subscription = bus.subscribe()

        async def pump() -> None:
            taken_count = 0
            while (taken := await subscription.take()) is not None:
                lost, events = taken
                # the landmarks of what was lost come first, those of what was taken are in it
                missed = tally.forget_before(taken_count + lost)
                taken_count += lost + len(events)
                tally.forget_before(taken_count)
                self._fold(task, [*missed, *events], lost, tuple(tally.finished.items()) if lost else ())
                await self._sleep(FRAME_S)

        pumping = self._group.create_task(pump(), name=f"events of task {task}")
        try:
            return await work(bus)
        finally:
            bus.close()
            await run_to_end(_ended(pumping), name="last events")


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait((task,))
