"""Everybody waits after a refusal, and nobody comes in a herd; the servers here count what reaches them."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from overbrainer_core.aio.rate_gate import RateGate
from overbrainer_core.aio.rate_limits import Limits, Refusal, Turn
from overbrainer_core.aio.retry import RetryPolicy, call_with_retries


class Refused(Exception):
    """A server's refusal."""

    is_retryable = True

    def __init__(self, refusal: Refusal = Refusal.UNSAID, after_s: float | None = None) -> None:
        super().__init__("refused")
        self.refusal = refusal
        self.retry_after_s = after_s


class Server:
    """Takes 50 to 150 ms for an answer; `refuses` says by its state whether a request is refused."""

    def __init__(self, refuses: Callable[[Server, int], Refused | None], seed: int) -> None:
        self.random = random.Random(seed)
        self.refuses = refuses
        self.in_flight = 0
        self.most = 0
        self.refused = 0
        self.sent: list[float] = []
        self.seen: set[int] = set()
        self.tokens = 10.0
        self.filled_at: float | None = None

    async def ask(self, number: int) -> None:
        """Answer a request, or refuse it at once."""
        await asyncio.sleep(0.005)
        self.sent.append(asyncio.get_running_loop().time())
        refusal = self.refuses(self, number)
        self.seen.add(number)
        if refusal is not None:
            self.refused += 1
            await asyncio.sleep(0.003)
            raise refusal
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(self.random.uniform(0.05, 0.15))
        self.in_flight -= 1


class Outcome:
    """What a run of many calls came to."""

    def __init__(self, *, seconds: float, failed: int, limits: Limits, told: list[Limits]) -> None:
        self.seconds = seconds
        self.failed = failed
        self.limits = limits
        self.told = told


async def ask_all(server: Server, clock: Any, *, concurrency: int, count: int) -> Outcome:
    """Ask `count` things, `concurrency` beside each other, as the stages do."""
    gate = RateGate(clock, most=concurrency, jitter=server.random.random)
    told: list[Limits] = []
    gate.listener = told.append
    numbers = iter(range(count))
    failed = 0

    async def work() -> None:
        nonlocal failed
        for number in numbers:
            try:
                await call_with_retries(
                    lambda: server.ask(number),  # noqa: B023  # called before the next number
                    policy=RetryPolicy(),
                    waits=clock,
                    on_retry=lambda _error, _wait: None,
                    gate=gate,
                    jitter=server.random.random,
                )
            except Refused:
                failed += 1

    started = clock.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(work())
    return Outcome(seconds=clock.monotonic() - started, failed=failed, limits=gate.limits, told=told)


def over(limit: int, refusal: Refusal = Refusal.UNSAID) -> Callable[[Server, int], Refused | None]:
    """A server that takes `limit` requests at once."""
    return lambda server, _number: Refused(refusal) if server.in_flight >= limit else None


def bucket(rate: float, after_s: float | None = None) -> Callable[[Server, int], Refused | None]:
    """A server that takes `rate` requests a second, ten in a row at most."""

    def refuses(server: Server, _number: int) -> Refused | None:
        now = asyncio.get_running_loop().time()
        if server.filled_at is not None:
            server.tokens = min(10.0, server.tokens + (now - server.filled_at) * rate)
        server.filled_at = now
        if server.tokens < 1:
            return Refused(after_s=after_s)
        server.tokens -= 1
        return None

    return refuses


def by_chance(server: Server, number: int) -> Refused | None:
    """A server that refuses 3% of first attempts, whatever the load."""
    return Refused(after_s=1.0) if number not in server.seen and server.random.random() < 0.03 else None


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("refusal", [Refusal.UNSAID, Refusal.AT_ONCE])
def test_too_many_at_once_is_found_and_kept_to(
    in_virtual_time: Any, virtual_clock: Any, refusal: Refusal, seed: int
) -> None:
    server = Server(over(5, refusal), seed)
    outcome = in_virtual_time(ask_all(server, virtual_clock, concurrency=64, count=2000))
    assert outcome.failed == 0
    assert outcome.limits.at_once in (4, 5, 6)
    assert outcome.limits.per_minute is None
    assert 2000 / outcome.seconds > (0.65 if refusal is Refusal.UNSAID else 0.85) * 50
    assert server.refused - 59 < 60


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("after_s", [None, 1.0])
def test_too_fast_is_told_from_too_many_at_once(
    in_virtual_time: Any, virtual_clock: Any, after_s: float | None, seed: int
) -> None:
    server = Server(bucket(10, after_s), seed)
    outcome = in_virtual_time(ask_all(server, virtual_clock, concurrency=64, count=1000))
    assert outcome.failed == 0
    assert outcome.limits.at_once is None
    assert outcome.limits.per_minute == pytest.approx(600, rel=0.2)
    assert 1000 / outcome.seconds > 0.85 * 10
    assert server.refused - 54 < 40


@pytest.mark.parametrize("seed", range(5))
def test_refusals_by_chance_lower_nothing_for_long(in_virtual_time: Any, virtual_clock: Any, seed: int) -> None:
    outcome = in_virtual_time(ask_all(Server(by_chance, seed), virtual_clock, concurrency=16, count=320))
    assert outcome.failed == 0
    assert outcome.limits.at_once is None or outcome.limits.at_once >= 8
    assert outcome.limits.per_minute is None
    assert outcome.seconds < 12


def test_a_server_without_limits_is_asked_at_full_width(in_virtual_time: Any, virtual_clock: Any) -> None:
    server = Server(lambda _server, _number: None, 1)
    outcome = in_virtual_time(ask_all(server, virtual_clock, concurrency=64, count=640))
    assert server.most == 64
    assert outcome.told == []


def test_an_overload_halves_what_is_in_flight_and_success_raises_it_again(
    in_virtual_time: Any, virtual_clock: Any
) -> None:
    def refuses(server: Server, number: int) -> Refused | None:
        return Refused(Refusal.OVERLOAD) if 200 <= number < 240 and number not in server.seen else None

    server = Server(refuses, 1)
    outcome = in_virtual_time(ask_all(server, virtual_clock, concurrency=32, count=3000))
    assert outcome.failed == 0
    assert min(limits.at_once or 32 for limits in outcome.told) <= 16
    assert outcome.told[-1] == Limits()
    assert server.most == 32


def test_after_a_pause_nobody_comes_in_a_herd(in_virtual_time: Any, virtual_clock: Any) -> None:
    async def moments() -> list[float]:
        gate = RateGate(virtual_clock, most=40, jitter=lambda: 0.5)
        for refused in [await gate.enter() for _ in range(2)]:
            gate.refuse(refused, Refusal.RATE, wait_s=8.0)
        started = virtual_clock.monotonic()

        async def enter() -> float:
            await gate.enter()
            return float(virtual_clock.monotonic() - started)

        return list(await asyncio.gather(*(enter() for _ in range(40))))

    found = in_virtual_time(moments())
    assert found == sorted(found)
    assert found[0] >= 8.0
    assert 9.5 < found[-1] <= 10.1
    gaps = [after - before for before, after in itertools.pairwise(found)]
    assert min(gaps) > 0.04


def test_while_pauses_prove_too_short_only_one_request_tries(in_virtual_time: Any, virtual_clock: Any) -> None:
    async def tried() -> int:
        gate = RateGate(virtual_clock, most=8, jitter=lambda: 0.0)
        for _ in range(2):
            gate.refuse(await gate.enter(), Refusal.RATE, wait_s=1.0)
        waiting = [asyncio.ensure_future(gate.enter()) for _ in range(8)]
        await asyncio.sleep(30)
        through = sum(entered.done() for entered in waiting)
        gate.accept(waiting[0].result())
        await asyncio.gather(*waiting)
        return through

    assert in_virtual_time(tried()) == 1


async def test_a_refused_request_comes_before_new_ones(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, most=1)
    turn = await gate.enter()
    order: list[str] = []

    async def enter(name: str, *, again: bool) -> None:
        entered = await gate.enter(again=again)
        order.append(name)
        gate.accept(entered)

    async with asyncio.TaskGroup() as group:
        for name in ("first", "second", "third"):
            group.create_task(enter(name, again=False))
        await asyncio.sleep(0)
        group.create_task(enter("refused", again=True))
        await asyncio.sleep(0)
        gate.leave(turn)
    assert order == ["first", "refused", "second", "third"]


async def test_who_is_cancelled_in_the_line_holds_up_nobody(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, most=1)
    turn = await gate.enter()
    waiting = [asyncio.ensure_future(gate.enter(again=number == 1)) for number in range(4)]
    await asyncio.sleep(0)
    for number in (0, 1, 2):
        waiting[number].cancel()
    await asyncio.sleep(0)
    gate.leave(turn)
    assert isinstance(await asyncio.wait_for(waiting[3], 1), Turn)


async def test_a_longer_wait_extends_the_pause_and_a_shorter_one_does_not(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, jitter=lambda: 0.0)
    turns = [await gate.enter() for _ in range(3)]
    started = fake_clock.monotonic()
    for turn, wait_s in zip(turns, (4.0, 9.0, 1.0), strict=True):
        gate.refuse(turn, Refusal.RATE, wait_s=wait_s)
    assert gate.is_closed
    await gate.enter()
    assert fake_clock.monotonic() == started + 9.0


async def test_chance_is_waited_for_only_shortly_after_it_was_recognised(fake_clock: Any) -> None:
    gate = RateGate(fake_clock, jitter=lambda: 0.0)
    holds: list[float] = []
    for _ in range(4):
        turns = [await gate.enter() for _ in range(6)]
        gate.refuse(turns[0], Refusal.UNSAID, wait_s=8.0)
        for turn in turns[1:]:
            gate.accept(turn)
        before = fake_clock.monotonic()
        gate.leave(await gate.enter())
        holds.append(fake_clock.monotonic() - before)
        fake_clock.advance(60)
    assert holds == [8.0, 8.0, 0.5, 0.5]
