"""A person's wish to stop cuts what may be cut, and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.errors import InterruptedByUser


async def test_raced_work_gives_its_result() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 3

    assert await Interrupt().race(work()) == 3


async def test_an_interrupt_cuts_raced_work_and_waits_for_its_clean_up() -> None:
    interrupt = Interrupt()
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned")

    asyncio.get_running_loop().call_soon(interrupt.trigger)
    with pytest.raises(InterruptedByUser):
        await interrupt.race(work())
    assert steps == ["cleaned"]


async def test_once_interrupted_the_next_raced_work_does_not_start() -> None:
    interrupt = Interrupt()
    interrupt.trigger("detach")
    interrupt.trigger("SIGINT")
    started: list[str] = []

    async def work() -> None:
        started.append("work")

    with pytest.raises(InterruptedByUser):
        await interrupt.race(work())
    assert started == []
    assert interrupt.cause == "detach"


async def test_shielded_work_runs_to_its_end() -> None:
    interrupt = Interrupt()
    interrupt.trigger()

    async def work() -> str:
        await asyncio.sleep(0)
        return "recorded"

    assert await interrupt.shield(work()) == "recorded"
    assert interrupt.is_set


async def test_a_cancel_of_the_caller_ends_raced_work_too() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            steps.append("cleaned")

    task = asyncio.create_task(Interrupt().race(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["cleaned"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_caught_signal_is_the_interrupt(number: signal.Signals) -> None:
    with Interrupt().catching() as interrupt:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await interrupt.wait()
    assert interrupt.cause == number.name


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_ctrl_c_a_request_to_end_and_a_hang_up_are_caught(number: signal.Signals) -> None:
    with Interrupt().catching() as interrupt:
        os.kill(os.getpid(), number)
        await interrupt.wait()
        assert interrupt.cause == number.name


async def test_a_signal_that_the_process_was_started_to_ignore_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupt().catching() as interrupt:
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)
            assert not interrupt.is_set
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
