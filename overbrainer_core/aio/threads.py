"""How does blocking work run beside the event loop without outliving its caller?

A thread cannot be cancelled: work that may take long is given an event to look at, and a cancel sets it and then
waits until the thread has returned. Only work that may never return, and leaves nothing half done, is let go of.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from overbrainer_core.aio.tasks import cancel_and_wait, run_to_end

T = TypeVar("T")


class WorkStopped(Exception):  # no failure: the answer to a stop that was asked for
    """Raised inside a thread that was told to stop."""


class StopToken:
    """Tells blocking work that nobody waits for its result any more."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def stop(self) -> None:
        """Ask the work to stop."""
        self._event.set()

    def check(self) -> None:
        """Return while the work may go on.

        Raises:
            WorkStopped: it was asked to stop.
        """
        if self._event.is_set():
            raise WorkStopped


async def run_in_thread(work: Callable[[StopToken], T]) -> T:
    """The result of blocking work in a thread; a cancel tells its token and is raised once the thread has returned."""
    token = StopToken()
    task = asyncio.get_running_loop().create_task(asyncio.to_thread(work, token), name="run_in_thread")
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        token.stop()
        await run_to_end(_settled(task), name="run_in_thread")
        raise
    return task.result()


async def _settled(task: asyncio.Task[Any]) -> None:
    await asyncio.wait((task,))
    task.exception()


async def run_ticking(work: Coroutine[Any, Any, T], tick: Callable[[], None], *, interval_s: float) -> T:
    """The result of `work`, calling `tick` every `interval_s` seconds until it is there."""
    task = asyncio.get_running_loop().create_task(work, name="run_ticking")
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=interval_s)
            tick()
    finally:
        if not task.done():
            await cancel_and_wait(task)
    return task.result()


def start_abandonable(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """The result of blocking work that may hang for ever, as a look at a file of a dead network volume does.

    Its thread holds neither the event loop nor the exit of the program. Cancel the future to stop caring.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not result.done():
            settled()

    def run() -> None:
        settled: Callable[[], None]
        try:
            settled = partial(result.set_result, work())
        except BaseException as error:  # noqa: BLE001  # the thread's root: whoever awaits the result gets it
            settled = partial(result.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=run, name=name, daemon=True).start()
    return result
