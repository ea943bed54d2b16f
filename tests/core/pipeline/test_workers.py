from __future__ import annotations

import asyncio

import pytest

from overbrainer_core.errors import CostCapError
from overbrainer_core.llm.errors import HttpStatusError
from overbrainer_core.pipeline.workers import run_workers


async def test_every_piece_is_done_in_order_with_so_many_at_a_time() -> None:
    running = most = 0
    begun: list[int] = []

    async def work(piece: int) -> None:
        nonlocal running, most
        begun.append(piece)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await run_workers(work, list(range(50)), limit=7)
    assert begun == list(range(50))
    assert most == 7


async def test_no_pieces_need_no_workers() -> None:
    begun: list[int] = []

    async def work(piece: int) -> None:
        begun.append(piece)

    before = asyncio.all_tasks()
    await run_workers(work, [], limit=3)
    assert begun == []
    assert asyncio.all_tasks() == before


async def test_a_failure_begins_nothing_more_cancels_the_rest_and_is_raised() -> None:
    begun: list[int] = []
    cancelled: list[int] = []

    async def work(piece: int) -> None:
        begun.append(piece)
        try:
            if piece == 1:
                await asyncio.sleep(0)
                raise HttpStatusError(401, "no")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(piece)
            raise

    with pytest.raises(HttpStatusError):
        await run_workers(work, list(range(50)), limit=4)
    assert begun == [0, 1, 2, 3]
    assert sorted(cancelled) == [0, 2, 3]


async def test_what_has_its_answer_may_save_it_after_a_failure() -> None:
    answered = asyncio.Event()
    saved: list[int] = []

    async def work(piece: int) -> None:
        if piece == 0:
            await asyncio.sleep(0)
            answered.set()
            raise HttpStatusError(402, "no")
        await answered.wait()
        saved.append(piece)

    with pytest.raises(HttpStatusError):
        await run_workers(work, list(range(9)), limit=4)
    assert saved == [1, 2, 3]


async def test_a_full_disk_outranks_the_provider() -> None:
    answered = asyncio.Event()

    async def work(piece: int) -> None:
        if piece == 0:
            answered.set()
            raise HttpStatusError(402, "no")
        await answered.wait()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        await run_workers(work, [0, 1], limit=2)


async def test_a_cancel_reaches_every_worker() -> None:
    started = asyncio.Event()
    ended: list[int] = []

    async def work(piece: int) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(piece)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_workers(work, [1, 2, 3], limit=2))
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert sorted(ended) == [1, 2]


async def test_a_cost_cap_begins_nothing_more_and_lets_the_rest_end() -> None:
    begun: list[int] = []
    ended: list[int] = []

    async def work(piece: int) -> None:
        begun.append(piece)
        await asyncio.sleep(0)
        if piece == 1:
            raise CostCapError("enough")
        for _ in range(20):
            await asyncio.sleep(0)
        ended.append(piece)

    with pytest.raises(CostCapError, match="enough"):
        await run_workers(work, list(range(50)), limit=4)
    assert begun == [0, 1, 2, 3]
    assert ended == [0, 2, 3]
