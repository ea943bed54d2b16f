"""A clean-up runs to its end, and concurrency is bounded."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from overbrainer_core.aio.tasks import cancel_and_wait, map_unordered, run_to_end


async def test_work_gives_its_result() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert await run_to_end(work()) == 7


@pytest.mark.parametrize("cancels", [1, 2, 5])
async def test_cancels_are_absorbed_until_the_work_is_done(cancels: int) -> None:
    saved: list[str] = []
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()
        saved.append("record")

    outer = asyncio.create_task(run_to_end(work()))
    await asyncio.sleep(0)
    for _ in range(cancels):
        outer.cancel()
        await asyncio.sleep(0)
    assert not outer.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert saved == ["record"]


async def test_a_failure_under_a_cancel_is_kept_as_its_cause() -> None:
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()
        raise OSError("disk full")

    outer = asyncio.create_task(run_to_end(work()))
    await asyncio.sleep(0)
    outer.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await outer
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_cancelled_task_is_waited_for() -> None:
    steps: list[str] = []

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned")

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await cancel_and_wait(task)
    assert steps == ["cleaned"]


async def test_at_most_the_limit_is_in_flight_and_all_results_come() -> None:
    running = 0
    most = 0

    async def double(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return item * 2

    results = {item: value async for item, value in map_unordered(double, range(20), limit=3)}
    assert results == {item: item * 2 for item in range(20)}
    assert most == 3


async def test_leaving_the_loop_cancels_what_is_in_flight() -> None:
    cancelled = count()
    ended: list[int] = []

    async def call(item: int) -> int:
        if item == 0:
            return 0
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(next(cancelled))
            raise
        return item

    results = map_unordered(call, range(10), limit=4)
    async for _ in results:
        await asyncio.sleep(0)
        break
    await results.aclose()
    assert len(ended) == 3


async def test_a_failing_call_reaches_the_caller() -> None:
    async def call(item: int) -> int:
        raise ValueError(str(item))

    with pytest.raises(ValueError, match="0"):
        async for _ in map_unordered(call, range(3), limit=1):
            pass
