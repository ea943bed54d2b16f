"""Blocking work beside the event loop does not outlive its caller."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from overbrainer_core.aio.threads import StopToken, run_in_thread, run_ticking, start_abandonable


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


async def test_abandonable_work_gives_its_result_or_its_failure() -> None:
    assert await start_abandonable(threading.get_ident, name="look") != threading.get_ident()

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await start_abandonable(fail, name="look")


async def test_abandoned_work_holds_nobody_and_its_late_result_is_dropped() -> None:
    goes_on = threading.Event()
    returned = threading.Event()

    def work() -> None:
        goes_on.wait(15)
        returned.set()

    result = start_abandonable(work, name="look")
    await asyncio.wait((result,), timeout=0.01)
    assert not result.done()
    result.cancel()
    goes_on.set()
    assert await asyncio.to_thread(returned.wait, 15)
    await asyncio.sleep(0)
    assert result.cancelled()


def test_abandoned_work_does_not_hold_the_exit_of_the_program() -> None:
    script = (
        "import asyncio, threading\n"
        "from overbrainer_core.aio.threads import start_abandonable\n"
        "async def main():\n"
        "    await asyncio.wait((start_abandonable(threading.Event().wait, name='look'),), timeout=0.01)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=15, check=False)
    assert (done.returncode, done.stderr) == (0, "")
