"""Events reach observers in order and without loss, subscribers at their own pace."""

from __future__ import annotations

import asyncio

import pytest

from overbrainer_core.events.bus import SUBSCRIPTION_SIZE, EventBus
from overbrainer_core.events.types import Event, ItemDone
from overbrainer_core.values.stage import Stage


def item(number: int) -> ItemDone:
    """An event that tells its number."""
    return ItemDone(stage=Stage.ANSWERS, id=str(number))


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.closed = 0

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def on_close(self) -> None:
        self.closed += 1


class Broken:
    """Fails at everything."""

    def on_event(self, event: Event) -> None:
        raise RuntimeError("broken")

    def on_close(self) -> None:
        raise RuntimeError("broken")


async def test_an_observer_sees_every_event_in_order_and_the_close_once() -> None:
    listener = Listener()
    with EventBus([listener]) as bus:
        for number in range(3000):
            bus.publish(item(number))
        bus.close()
    assert [event.id for event in listener.events if isinstance(event, ItemDone)] == [str(n) for n in range(3000)]
    assert listener.closed == 1


async def test_a_slow_subscriber_loses_the_oldest_and_is_told_how_many() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    for number in range(SUBSCRIPTION_SIZE + 10):
        bus.publish(item(number))
    lost, events = subscription.take_nowait()
    assert lost == 10
    assert len(events) == SUBSCRIPTION_SIZE
    assert events[0] == item(10)
    assert subscription.take_nowait() == (0, [])


async def test_a_subscriber_sees_only_what_comes_after_it() -> None:
    bus = EventBus()
    bus.publish(item(0))
    subscription = bus.subscribe()
    bus.publish(item(1))
    bus.close()
    assert [event async for event in subscription] == [item(1)]


async def test_a_waiting_subscriber_wakes_and_ends_with_the_bus() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    seen: list[Event] = []

    async def read() -> None:
        seen.extend([event async for event in subscription])

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    bus.publish(item(1))
    await asyncio.sleep(0)
    bus.publish(item(2))
    bus.close()
    await asyncio.wait_for(task, 5)
    assert seen == [item(1), item(2)]


async def test_a_broken_observer_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    listener = Listener()
    bus = EventBus([Broken(), listener])
    bus.publish(item(1))
    bus.close()
    assert listener.events == [item(1)]
    assert listener.closed == 1
    assert "an observer failed" in caplog.text


async def test_subscribing_to_a_closed_bus_ends_at_once() -> None:
    bus = EventBus()
    bus.close()
    assert await bus.subscribe().take() is None
