"""When is a failed call made again, and who waits meanwhile?

A call waits `1 s * 2^k` up to 60 s, times a random factor from 0.5 to 1, or what the server asked for, up to 600 s.
A refusal for a limit concerns everybody who asks the same model, not only the call that was refused: `RateGate`.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeVar, runtime_checkable

from overbrainer_core.aio.rate_gate import RateGate, Waits
from overbrainer_core.aio.rate_limits import Refusal, Turn

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
    def refusal(self) -> Refusal | None:
        """What it says about limits when it was refused for one; None for any other failure."""
        ...

    @property
    def retry_after_s(self) -> float | None:
        """Seconds that the server asked to wait, if it did."""
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
        turn = await gate.enter(again=retry > 0) if gate is not None else None
        try:
            result = await attempt()
        except asyncio.CancelledError:
            _leave(gate, turn)
            raise
        except Exception as error:
            if not isinstance(error, Retryable) or not error.is_retryable:
                _leave(gate, turn)
                raise
            wait_s = policy.wait_s(retry, error.retry_after_s, 0.5 + 0.5 * jitter())
            _leave(gate, turn, refused=error, wait_s=wait_s)
            if retry >= policy.max_retries:
                raise
            on_retry(error, wait_s)
        else:
            if gate is not None and turn is not None:
                gate.accept(turn)
            return result
        await waits.sleep(wait_s)
    raise AssertionError("unreachable")


def _leave(gate: RateGate | None, turn: Turn | None, *, refused: Retryable | None = None, wait_s: float = 0.0) -> None:
    """Tell the gate how a request ended that was not answered.

    After an overload, or for a limit on requests at once, the others wait only when the server says for how long.
    """
    if gate is None or turn is None:
        return
    refusal = refused.refusal if refused is not None else None
    if refused is None or refusal is None:
        gate.leave(turn)
        return
    holds = refused.retry_after_s is not None or refusal in (Refusal.RATE, Refusal.UNSAID)
    gate.refuse(turn, refusal, wait_s=wait_s, holds=holds)


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
