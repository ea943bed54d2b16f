"""How is much the same work done beside each other without a task for each piece of it?

A fixed number of workers take pieces in order. The first failure stops all of them at once: no further piece is begun,
what already has its answer may save it, the rest is cancelled. A cost cap only ends the taking of pieces: what was
begun goes on as far as the cap lets it, for it is paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

from overbrainer_core.errors import CostCapError
from overbrainer_core.llm.errors import LlmError

T = TypeVar("T")

_LAST_TURNS = 3
"""Turns of the event loop that answers already received get before the others are cancelled."""


async def run_workers(work: Callable[[T], Awaitable[None]], pieces: Sequence[T], *, limit: int) -> None:
    """Do the work of every piece, at most `limit` at a time; raises the first failure.

    A failure that is not the provider's, such as a full disk, outranks the provider's.
    """
    crew = _Crew(work, iter(pieces))
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(min(limit, len(pieces))):
                group.create_task(crew.work_on(), name=f"worker {number}")
    except BaseExceptionGroup as failures:
        failure = crew.failure or failures.exceptions[0]
        raise failure from failure.__cause__
    if crew.failure is not None:
        raise crew.failure


class _Crew(Generic[T]):
    def __init__(self, work: Callable[[T], Awaitable[None]], pieces: Iterator[T]) -> None:
        self._work = work
        self._pieces = pieces
        self.failure: Exception | None = None

    async def work_on(self) -> None:
        """Take pieces until there are none, or until a worker failed."""
        for piece in self._pieces:
            try:
                await self._work(piece)
            except CostCapError as error:
                self.failure = self.failure or error
            except Exception as error:
                if self.failure is None or not isinstance(error, LlmError):
                    self.failure = error
                for _ in range(_LAST_TURNS):
                    await asyncio.sleep(0)
                raise
            if self.failure is not None:
                return
