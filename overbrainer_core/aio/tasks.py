"""How does a clean-up run to its end whatever cancels its caller, and how is concurrency bounded?"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

_log = logging.getLogger("overbrainer.aio")

T = TypeVar("T")
R = TypeVar("R")


async def run_to_end(work: Coroutine[Any, Any, T], *, name: str = "run_to_end") -> T:
    """Await `work` to its end; cancels that arrive meanwhile are absorbed and raised once it is done.

    When the work fails and a cancel arrived too, the cancel is raised with the failure as its cause, and the
    failure is logged.
    """
    task = asyncio.get_running_loop().create_task(work, name=name)
    cancel: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancel = error
    if cancel is None:
        return task.result()
    failure = None if task.cancelled() else task.exception()
    if failure is not None:
        _log.error("%s failed while its caller was cancelled: %s", name, failure)
    raise cancel from failure


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has ended; its result or failure is dropped."""
    task.cancel()
    await run_to_end(_settled(task), name="cancel_and_wait")


async def _settled(task: asyncio.Task[Any]) -> None:
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()


async def map_unordered(
    function: Callable[[T], Awaitable[R]], items: Iterable[T], *, limit: int
) -> AsyncGenerator[tuple[T, R], None]:
    """Results as they complete, at most `limit` calls at a time, items taken in order.

    Leaving the iteration, or a failing call, cancels and awaits the calls in flight. A call's failure is raised
    to the iterating caller.
    """
    source = iter(items)
    running: dict[asyncio.Task[R], T] = {}
    loop = asyncio.get_running_loop()

    async def call(item: T) -> R:
        return await function(item)

    def fill() -> None:
        while len(running) < limit:
            try:
                item = next(source)
            except StopIteration:
                return
            running[loop.create_task(call(item), name="map_unordered")] = item

    try:
        fill()
        while running:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield running.pop(task), task.result()
            fill()
    finally:
        for task in running:
            task.cancel()
        if running:
            await run_to_end(_all_settled(set(running)), name="map_unordered")


async def _all_settled(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
