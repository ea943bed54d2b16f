"""Time that passes only when nothing is left to do: minutes of waiting take milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1000.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def select_at_once(timeout: float | None = None) -> Any:
            if timeout is not None and timeout > 0:
                self.seconds += timeout
            return select(0)

        selector.select = select_at_once

    def time(self) -> float:
        """The virtual time."""
        return self.seconds


class VirtualClock:
    """The loop's time as a clock."""

    def monotonic(self) -> float:
        """The virtual time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait for virtual seconds."""
        await asyncio.sleep(seconds)


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """A clock for code that runs in `in_virtual_time`."""
    return VirtualClock()


@pytest.fixture
def in_virtual_time() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine on a loop of virtual time, to its result."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(work)

    return run
