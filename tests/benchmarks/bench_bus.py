"""How many events a second pass the bus, with one observer and one subscriber?

Target: 200,000.
"""

from __future__ import annotations

import asyncio
import time

from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event, ItemDone
from overbrainer_core.values.stage import Stage

EVENTS = 400_000
BURST = 500


class Counter:
    """An observer that counts."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Event) -> None:
        """Count it."""
        self.seen += 1

    def on_close(self) -> None:
        """Nothing to do."""


async def measure() -> tuple[float, int, int]:
    """Seconds, events the observer saw, events the subscriber took."""
    counter = Counter()
    bus = EventBus([counter])
    subscription = bus.subscribe()
    taken = 0

    async def read() -> None:
        nonlocal taken
        while (batch := await subscription.take()) is not None:
            taken += len(batch[1])

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        started = time.perf_counter()
        for start in range(0, EVENTS, BURST):
            for number in range(start, start + BURST):
                bus.publish(ItemDone(stage=Stage.ANSWERS, id=str(number)))
            await asyncio.sleep(0)
        elapsed = time.perf_counter() - started
        bus.close()
    return elapsed, counter.seen, taken


def main() -> None:
    """Measure and print."""
    elapsed, seen, taken = asyncio.run(measure())
    rate = EVENTS / elapsed
    print(f"{rate:,.0f} events a second, {rate / 200_000:.2f} of the target; observer {seen}, subscriber {taken}")


if __name__ == "__main__":
    main()
