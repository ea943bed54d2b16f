"""When is a failed call made again, and who waits meanwhile?

A call waits `1 s * 2^k` up to 60 s, times a random factor from 0.5 to 1, or what the server asked for, up to 600 s.
After a rate refusal everybody who asks the same model waits, not only the call that was refused: `RateGate`.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")

_SECONDS = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)


@runtime_checkable
class Retryable(Protocol):
    """What a failure says about trying again."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed later."""
        ...

    @property
    def is_rate_refusal(self) -> bool:
        """Whether it was refused for being one too many."""
        ...

    @property
    def retry_after_s(self) -> float | None:
        """Seconds that the server asked to wait, if it did."""
        ...


class Waits(Protocol):
    """The part of a clock that waiting needs."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and after which waits a call is made again."""

    max_retries: int = 5
    base_s: float = 1.0
    cap_s: float = 60.0
    retry_after_cap_s: float = 600.0

    def wait_s(self, retry: int, retry_after_s: float | None, factor: float) -> float:
        """Seconds before retry number `retry` (0 for the first); `factor` is the jitter, 0.5 to 1."""
        if retry_after_s is not None:
            return min(max(retry_after_s, 0.0), self.retry_after_cap_s)
        return min(self.base_s * 2.0 ** min(retry, 60), self.cap_s) * factor


class RateGate:
    """Holds back all calls to one model after one of them was refused for its rate.

    The hold lasts as long as the refused call waits, and ends at slightly different moments, so that nobody comes in a
    herd. A server that refuses single calls while it takes those sent after them has no limit to wait for: after two
    such holds the next ones are short.
    """

    SPREAD = 0.25
    """Largest extra wait of those held back, as a share of the hold."""
    SPREAD_CAP_S = 2.0
    """Largest extra wait in seconds."""
    PATIENCE = 2
    """Holds in a row that the server's own answers must contradict before the next ones are short."""
    SHORT = 1 / 16
    """Length of a short hold as a share of the wait."""

    def __init__(self, waits: Waits, *, jitter: Callable[[], float] = random.random) -> None:
        self._waits = waits
        self._jitter = jitter
        self._closed_until = 0.0
        self._hold_s = 0.0
        self._refused_sent_at = 0.0
        self._refusals = 0
        self._accepted = 0
        self._contradicted = 0

    @property
    def is_closed(self) -> bool:
        """Whether calls are held back now."""
        return self._waits.monotonic() < self._closed_until

    async def enter(self) -> float:
        """Wait until a call may be sent; the moment of sending, for `accepted` and `refused`."""
        while (now := self._waits.monotonic()) < self._closed_until:
            spread = min(self._hold_s * self.SPREAD, self.SPREAD_CAP_S)
            await self._waits.sleep(self._closed_until - now + spread * self._jitter())
        return now

    def accepted(self, sent_at: float) -> None:
        """A call sent at that moment was answered."""
        if self._refusals and sent_at > self._refused_sent_at:
            self._accepted += 1

    def refused(self, sent_at: float, wait_s: float) -> None:
        """A call sent at that moment was refused for its rate and waits so long."""
        now = self._waits.monotonic()
        if now >= self._closed_until:
            self._judge_last_hold()
            self._refused_sent_at = sent_at
            self._refusals = 0
            self._accepted = 0
        self._refusals += 1
        hold = wait_s if self._contradicted < self.PATIENCE else wait_s * self.SHORT
        if now + hold > self._closed_until:
            self._closed_until = now + hold
            self._hold_s = hold

    def _judge_last_hold(self) -> None:
        if self._refusals:
            self._contradicted = self._contradicted + 1 if self._accepted > 2 * self._refusals else 0


async def call_with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    policy: RetryPolicy,
    waits: Waits,
    on_retry: Callable[[Exception, float], None],
    gate: RateGate | None = None,
    jitter: Callable[[], float] = random.random,
) -> T:
    """The result of `attempt`, made again after retryable failures; the last failure is raised.

    `on_retry` is told the failure and the seconds to wait before each wait.
    """
    for retry in itertools.count():
        sent_at = await gate.enter() if gate is not None else 0.0
        try:
            result = await attempt()
        except Exception as error:
            if not isinstance(error, Retryable) or not error.is_retryable:
                raise
            wait_s = policy.wait_s(retry, error.retry_after_s, 0.5 + 0.5 * jitter())
            if gate is not None and error.is_rate_refusal:
                gate.refused(sent_at, wait_s)
            if retry >= policy.max_retries:
                raise
            on_retry(error, wait_s)
        else:
            if gate is not None:
                gate.accepted(sent_at)
            return result
        await waits.sleep(wait_s)
    raise AssertionError("unreachable")


def parse_retry_after(
    value: str | None, *, milliseconds: str | None = None, date: str | None = None, now: datetime | None = None
) -> float | None:
    """Seconds to wait by a reply's headers, or None when they ask for no wait that makes sense.

    Args:
        value: `Retry-After`, as seconds or as an HTTP date; anything else is ignored.
        milliseconds: `retry-after-ms`, used when `value` tells nothing.
        date: the reply's own `Date`, from which an HTTP date counts; else `now` or this machine's clock.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    until = _http_date(text)
    if until is not None:
        waited = (until - (_http_date((date or "").strip()) or now or datetime.now(UTC))).total_seconds()
        if waited > 0:
            return waited
    text = (milliseconds or "").strip()
    return float(text) / 1000 if _SECONDS.fullmatch(text) else None


def _http_date(text: str) -> datetime | None:
    if not text.endswith("GMT"):
        return None
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
