from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from overbrainer_core.aio.rate_gate import RateGate
from overbrainer_core.aio.rate_limits import Refusal
from overbrainer_core.aio.retry import RetryPolicy, call_with_retries, parse_retry_after


class Failure(Exception):
    """A failure that says what the test wants."""

    def __init__(self, *, retryable: bool = True, refusal: Refusal | None = None, after: float | None = None) -> None:
        super().__init__("refused")
        self.is_retryable = retryable
        self.refusal = refusal
        self.retry_after_s = after


def failing(*failures: Failure) -> tuple[Callable[[], Awaitable[str]], list[None]]:
    """A call that fails with each of these, then succeeds; and one entry for each call."""
    calls: list[None] = []
    left = list(failures)

    async def attempt() -> str:
        calls.append(None)
        if left:
            raise left.pop(0)
        return "done"

    return attempt, calls


@pytest.mark.parametrize(("jitter", "expected"), [(1.0, [1, 2, 4, 8, 16]), (0.0, [0.5, 1, 2, 4, 8])])
async def test_waits_double_and_are_jittered_down_to_half(
    fake_clock: Any, jitter: float, expected: list[float]
) -> None:
    waited: list[float] = []
    attempt, _ = failing(*[Failure() for _ in range(5)])
    result = await call_with_retries(
        attempt,
        policy=RetryPolicy(max_retries=5),
        waits=fake_clock,
        on_retry=lambda _error, wait_s: waited.append(wait_s),
        jitter=lambda: jitter,
    )
    assert result == "done"
    assert waited == expected


def test_waits_are_capped() -> None:
    policy = RetryPolicy()
    assert policy.wait_s(6, None, 1.0) == 60
    assert policy.wait_s(5000, None, 1.0) == 60
    assert policy.wait_s(0, 9999, 0.5) == 600
    assert policy.wait_s(0, 0.61, 0.5) == 0.61
    assert policy.wait_s(0, 0, 0.5) == 0


async def test_attempts_are_one_more_than_the_retries(fake_clock: Any) -> None:
    attempt, calls = failing(*[Failure() for _ in range(9)])
    with pytest.raises(Failure):
        await call_with_retries(
            attempt, policy=RetryPolicy(max_retries=2), waits=fake_clock, on_retry=lambda _error, _wait: None
        )
    assert len(calls) == 3


async def test_a_failure_that_is_not_retryable_is_raised_at_once(fake_clock: Any) -> None:
    attempt, calls = failing(Failure(retryable=False))
    with pytest.raises(Failure):
        await call_with_retries(attempt, policy=RetryPolicy(), waits=fake_clock, on_retry=lambda _error, _wait: None)
    assert len(calls) == 1


async def test_an_unknown_failure_is_raised_at_once(fake_clock: Any) -> None:
    async def attempt() -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        await call_with_retries(attempt, policy=RetryPolicy(), waits=fake_clock, on_retry=lambda _error, _wait: None)


# C015, C016
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.61", 0.61),
        ("0", 0.0),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("9999", 9999.0),
        ("-5", None),
        ("", None),
        (None, None),
        ("0x10", None),
        ("1e3", None),
        ("nan", None),
        ("inf", None),
        ("1_0", None),
        ("5, 60", None),
        ("9" * 400, None),
        ("soon", None),
        ("٧", None),
    ],
)
def test_only_plain_seconds_are_a_wait(value: str | None, expected: float | None) -> None:
    found = parse_retry_after(value)
    assert found == expected
    assert found is None or math.isfinite(found)


def test_an_http_date_counts_from_the_replys_own_date() -> None:
    date = "Tue, 06 Jan 2026 09:14:30 GMT"
    assert parse_retry_after("Tue, 06 Jan 2026 09:15:00 GMT", date=date) == 30
    assert parse_retry_after("Tue, 06 Jan 2026 09:14:30 GMT", date=date) is None
    now = datetime(2026, 1, 6, 9, 14, 55, tzinfo=UTC)
    assert parse_retry_after("Tue, 06 Jan 2026 09:15:00 GMT", now=now) == 5
    assert parse_retry_after("Tue, 06 Jan 2020 09:15:00 GMT", now=now) is None
    assert parse_retry_after("Tue, 99 Foo 2026 09:15:00 GMT", now=now) is None


def test_milliseconds_are_used_when_retry_after_tells_nothing() -> None:
    assert parse_retry_after(None, milliseconds="1500") == 1.5
    assert parse_retry_after("7", milliseconds="1500") == 7
    assert parse_retry_after("5, 60", milliseconds="nan") is None


async def test_calls_held_back_are_not_counted_as_attempts(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, jitter=lambda: 0.0)
    refused, _ = failing(Failure(refusal=Refusal.UNSAID, after=3.0))
    other, calls = failing()
    policy = RetryPolicy(max_retries=1)
    told: list[float] = []
    await call_with_retries(
        refused, policy=policy, waits=fake_clock, on_retry=lambda _error, wait_s: told.append(wait_s), gate=gate
    )
    gate.refuse(await gate.enter(), Refusal.RATE, wait_s=5.0)
    await asyncio.gather(
        call_with_retries(
            other, policy=policy, waits=fake_clock, on_retry=lambda _error, wait_s: told.append(wait_s), gate=gate
        )
    )
    assert told == [3.0]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("failure", "held_s"),
    [
        (Failure(refusal=Refusal.UNSAID), 8.0),
        (Failure(refusal=Refusal.RATE), 8.0),
        (Failure(refusal=Refusal.AT_ONCE), 0.0),
        (Failure(refusal=Refusal.OVERLOAD), 0.0),
        (Failure(refusal=Refusal.OVERLOAD, after=3.0), 3.0),
        (Failure(), 0.0),
        (Failure(retryable=False), 0.0),
    ],
)
async def test_others_wait_for_a_rate_and_for_what_the_server_asks(
    fake_clock: Any, failure: Failure, held_s: float
) -> None:
    gate = RateGate(fake_clock, jitter=lambda: 0.0)
    attempt, _ = failing(failure)
    with pytest.raises(Failure):
        await call_with_retries(
            attempt,
            policy=RetryPolicy(max_retries=0, base_s=8.0),
            waits=fake_clock,
            on_retry=lambda _error, _wait: None,
            gate=gate,
            jitter=lambda: 1.0,
        )
    before = fake_clock.monotonic()
    await gate.enter()
    assert fake_clock.monotonic() - before == held_s


async def test_a_cancelled_call_gives_its_place_back(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, most=1)
    call = asyncio.ensure_future(
        call_with_retries(
            asyncio.Event().wait,
            policy=RetryPolicy(),
            waits=fake_clock,
            on_retry=lambda _error, _wait: None,
            gate=gate,
        )
    )
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await asyncio.wait_for(gate.enter(), 1)).in_flight == 1
