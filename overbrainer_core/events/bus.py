"""How do events reach those who listen?

Publishing never blocks and never fails. Observers see every event synchronously and in order, and are told
when the bus closes. A subscription holds at most 1024 events: a slow reader loses the oldest and is told how
many. A bus belongs to one piece of work (a stage, a run that is followed) and to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Protocol

from overbrainer_core.events.types import Event

SUBSCRIPTION_SIZE = 1024
"""Events kept for a subscriber that is behind."""

_log = logging.getLogger("overbrainer.events")


class Observer(Protocol):
    """Sees every event of a bus before its subscribers do; must not block."""

    def on_event(self, event: Event) -> None:
        """An event was published."""
        ...

    def on_close(self) -> None:
        """The bus closed: no event follows."""
        ...


class Subscription:
    """The events published after `subscribe`; iterate it, or take what there is with `take`."""

    def __init__(self, size: int) -> None:
        self._events: deque[Event] = deque(maxlen=size)
        self._size = size
        self._lost = 0
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Event) -> None:
        """Add an event; called by the bus."""
        events = self._events
        if len(events) == self._size:
            self._lost += 1
        events.append(event)
        if self._waiter is not None:
            self._wake()

    def close(self) -> None:
        """No event follows; what is queued can still be taken."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def take_nowait(self) -> tuple[int, list[Event]]:
        """How many events were lost since the last call, and those queued, oldest first."""
        lost, self._lost = self._lost, 0
        events = list(self._events)
        self._events.clear()
        return lost, events

    async def take(self) -> tuple[int, list[Event]] | None:
        """Like `take_nowait`, once there is at least one event; None when the bus closed and all was taken."""
        while not self._events:
            if self._closed:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.take_nowait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (taken := await self.take()) is not None:
            lost, events = taken
            if lost:
                _log.debug("%d events skipped by a slow reader", lost)
            for event in events:
                yield event


class EventBus:
    """Publishes the events of one piece of work."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._subscriptions: tuple[Subscription, ...] = ()
        self._closed = False

    def subscribe(self, size: int = SUBSCRIPTION_SIZE) -> Subscription:
        """A queue of the events published from now on; closed at once when the bus is."""
        subscription = Subscription(size)
        self._subscriptions = (*self._subscriptions, subscription)
        if self._closed:
            subscription.close()
        return subscription

    def publish(self, event: Event) -> None:
        """Hand the event to every listener; an observer that fails is logged and goes on."""
        for observer in self._observers:
            try:
                observer.on_event(event)
            except Exception:  # noqa: BLE001  # a listener's fault must not stop paid work
                _log.exception("an observer failed")
        for subscription in self._subscriptions:
            subscription.put(event)

    def close(self) -> None:
        """End every subscription and tell the observers; repeating it does nothing."""
        if self._closed:
            return
        self._closed = True
        for observer in self._observers:
            try:
                observer.on_close()
            except Exception:  # noqa: BLE001  # a listener's fault must not stop paid work
                _log.exception("an observer failed")
        for subscription in self._subscriptions:
            subscription.close()

    def __enter__(self) -> EventBus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
