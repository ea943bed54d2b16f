"""When may the next request to a model be sent?

All requests to one model pass its `RateGate`. After a refusal for the rate everybody waits, not only the call that was
refused, and nobody comes in a herd when the pause is over: requests go one after the other, those that were refused
first, and while a pause proves too short only one of them tries. How many may be in flight, and how far apart they are
sent, is learnt by the gate's `Allowance`.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from overbrainer_core.aio.rate_limits import UNBOUNDED, Allowance, Limits, Refusal, Turn

Listener = Callable[[Limits], None]
"""Told what the server was found to take, each time it changes."""


class Waits(Protocol):
    """The part of a clock that waiting needs."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


class RateGate:
    """Lets requests to one model through, at most `most` at once.

    A caller enters, sends, and leaves by exactly one of `accept`, `refuse` and `leave`.
    """

    SPREAD = 0.25
    """Time over which those held back are spread after a pause, as a share of the pause."""
    SPREAD_CAP_S = 2.0
    """The same in seconds, at most."""
    SHORT = 1 / 16
    """Length of a pause as a share of the wait, when pauses have proved to be no use."""

    def __init__(self, waits: Waits, *, most: int = UNBOUNDED, jitter: Callable[[], float] = random.random) -> None:
        self._waits = waits
        self._jitter = jitter
        self._allowance = Allowance(most)
        self._in_flight = 0
        self._sent = 0
        self._closed_until = 0.0
        self._hold_s = 0.0
        self._next_at = 0.0
        self._spacing_s = 0.0
        self._spaced_left = 0
        self._leader: asyncio.Future[None] | None = None
        self._refused: deque[asyncio.Future[None]] = deque()
        self._line: deque[asyncio.Future[None]] = deque()
        self._room: asyncio.Future[None] | None = None
        self._told = Limits()
        self._is_told_free = True
        self.listener: Listener | None = None

    @property
    def is_closed(self) -> bool:
        """Whether requests are held back now, whatever their number."""
        return self._waits.monotonic() < self._closed_until

    @property
    def limits(self) -> Limits:
        """What the server was found to take."""
        return self._allowance.limits

    async def enter(self, *, again: bool = False) -> Turn:
        """Wait until a request may be sent; one that was refused before (`again`) comes before new ones."""
        if self._leader is None and self._has_room() and self._wait_s() <= 0:
            return self._go()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._leader is None:
            self._leader = place
        else:
            (self._refused if again else self._line).append(place)
        try:
            if self._leader is not place:
                await place
            await self._lead()
            return self._go()
        finally:
            if self._leader is place:
                self._pass_on()
            elif place in self._refused:
                self._refused.remove(place)
            else:
                self._line.remove(place)

    async def _lead(self) -> None:
        """Wait at the head of the line until there is room, and time."""
        while True:
            if not self._has_room():
                self._room = asyncio.get_running_loop().create_future()
                await self._room
            elif (wait_s := self._wait_s()) > 0:
                await self._waits.sleep(wait_s)
            else:
                return

    def _pass_on(self) -> None:
        self._leader = None
        for line in (self._refused, self._line):
            while line and self._leader is None:
                place = line.popleft()
                if not place.done():
                    self._leader = place
                    place.set_result(None)

    def _has_room(self) -> bool:
        allowance = self._allowance
        return self._in_flight < (1 if allowance.has_failed_reopening else allowance.at_once)

    def _wait_s(self) -> float:
        until = max(self._closed_until, self._next_at)
        return until - self._waits.monotonic() if until else 0.0

    def _go(self) -> Turn:
        now = self._waits.monotonic()
        interval_s = self._allowance.interval_s
        if self._hold_s:
            self._reopen()
        if self._spaced_left:
            self._spaced_left -= 1
            self._next_at = now + max(interval_s, self._spacing_s * (0.5 + self._jitter()))
        elif interval_s:
            self._next_at = max(self._next_at + interval_s, now)
        self._in_flight += 1
        self._sent += 1
        return Turn(self._sent, self._in_flight)

    def accept(self, turn: Turn) -> None:
        """The request was answered."""
        self._allowance.accept(turn, self._waits.monotonic())
        self._left()

    def leave(self, turn: Turn) -> None:
        """The request ended in a way that tells nothing about limits."""
        self._left()

    def refuse(self, turn: Turn, refusal: Refusal, *, wait_s: float, holds: bool = True) -> None:
        """The request was refused and waits so long; `holds` when the others wait too."""
        now = self._waits.monotonic()
        allowance = self._allowance
        until = now
        if holds and not allowance.is_sure_of_company:
            until += wait_s * self.SHORT if allowance.is_patience_over else wait_s
        allowance.refuse(turn, refusal, last=self._sent, now=now, until=until, in_flight=self._in_flight - 1)
        if until > max(now, self._closed_until):
            self._closed_until = until
            self._hold_s = until - now
        self._left()

    def _reopen(self) -> None:
        """The first request after a pause goes: those that wait behind it follow one after the other."""
        self._spaced_left = min(self._allowance.at_once, len(self._refused) + len(self._line))
        self._spacing_s = min(self._hold_s * self.SPREAD, self.SPREAD_CAP_S) / max(1, self._spaced_left)
        self._hold_s = 0.0

    def _left(self) -> None:
        self._in_flight -= 1
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)
        if self._is_told_free and self._allowance.is_free:
            return
        limits = self._allowance.limits
        if limits != self._told:
            self._told = limits
            self._is_told_free = limits == Limits()
            if self.listener is not None:
                self.listener(limits)
