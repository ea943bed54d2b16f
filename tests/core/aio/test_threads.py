"""Blocking work beside the event loop does not outlive its caller."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from overbrainer_core.aio.threads import StopToken, run_in_thread, run_ticking


async def test_the_result_and_the_failure_come_back() -> None:
    assert await run_in_thread(lambda _: threading.get_ident()) != threading.get_ident()

    def fail(_: StopToken) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await run_in_thread(fail)


async def test_a_cancel_stops_the_work_and_waits_for_its_thread() -> None:
    ended = threading.Event()
    started = threading.Event()

    def work(token: StopToken) -> None:
        try:
            started.set()
            while True:
                token.check()
                time.sleep(0.005)
        finally:
            ended.set()

    task = asyncio.ensure_future(run_in_thread(work))
    await asyncio.to_thread(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_cancel_waits_for_work_that_does_not_look() -> None:
    ended = threading.Event()
    started = threading.Event()

    def work(_: StopToken) -> str:
        started.set()
        time.sleep(0.1)
        ended.set()
        return "done"

    task = asyncio.ensure_future(run_in_thread(work))
    await asyncio.to_thread(started.wait)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_tick_comes_again_and_again_until_the_work_is_done() -> None:
    ticks: list[int] = []

    async def work() -> str:
        while len(ticks) < 3:
            await asyncio.sleep(0.001)
        return "done"

    assert await run_ticking(work(), lambda: ticks.append(1), interval_s=0.005) == "done"
    assert len(ticks) >= 3


async def test_a_cancel_ends_ticking_work() -> None:
    ended: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    task = asyncio.ensure_future(run_ticking(work(), lambda: None, interval_s=0.005))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_failure_of_ticking_work_is_raised_as_it_is() -> None:
    async def work() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await run_ticking(work(), lambda: None, interval_s=0.005)
