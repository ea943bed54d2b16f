"""Work beside a main thing: cancelled with it, never failing it."""

from __future__ import annotations

import asyncio

import pytest

from overbrainer_core.aio.beside import beside


async def test_works_run_beside_and_end_with_the_block() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            steps.append("started")
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    async with beside(work()):
        await asyncio.sleep(0)
    assert steps == ["started", "cleaned up"]


async def test_a_work_that_fails_changes_nothing() -> None:
    async def work() -> None:
        raise RuntimeError("broken")

    went_on = False
    async with beside(work()):
        await asyncio.sleep(0.01)
        went_on = True
    assert went_on


async def test_a_failing_block_ends_its_works_and_raises() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    with pytest.raises(ValueError, match="mine"):
        async with beside(work()):
            await asyncio.sleep(0)
            raise ValueError("mine")
    assert ended.is_set()


async def test_no_work_at_all_is_fine() -> None:
    before = asyncio.all_tasks()
    async with beside():
        assert asyncio.all_tasks() == before
