"""How does a Ctrl-C, a signal or a request to detach reach work that must not be cut everywhere?

`race` gives up at once when the interrupt comes, and does not start once it came; `shield` runs to its end
and leaves the interrupt remembered for the next `race`. Nothing else stops work on the person's behalf.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from overbrainer_core.aio.tasks import cancel_and_wait, run_to_end
from overbrainer_core.errors import InterruptedByUser

_log = logging.getLogger("overbrainer.aio")

T = TypeVar("T")


class Interrupt:
    """One person's wish to stop, remembered from the first time it is told."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._cause: str | None = None

    @property
    def is_set(self) -> bool:
        """Whether the interrupt came."""
        return self._cause is not None

    @property
    def cause(self) -> str | None:
        """What told it first: `SIGINT`, `SIGTERM`, `detach`; None before."""
        return self._cause

    def trigger(self, cause: str = "SIGINT") -> None:
        """Tell the interrupt; later calls change nothing."""
        if self._cause is None:
            self._cause = cause
            self._event.set()

    async def wait(self) -> None:
        """Return once the interrupt came."""
        await self._event.wait()

    async def race(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the interrupt comes first: then `work` is cancelled and awaited.

        Work that finished in the same moment wins.

        Raises:
            InterruptedByUser: the interrupt came before or meanwhile.
        """
        if self.is_set:
            work.close()
            raise InterruptedByUser
        loop = asyncio.get_running_loop()
        task = loop.create_task(work, name="race")
        waiter = loop.create_task(self.wait(), name="interrupt")
        try:
            await asyncio.wait((task, waiter), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise InterruptedByUser
        finally:
            waiter.cancel()
            if not task.done():
                await cancel_and_wait(task)

    async def shield(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which nothing cuts; the interrupt stays for the next `race`."""
        return await run_to_end(work, name="shield")

    @contextlib.contextmanager
    def catching(self, *signals: signal.Signals) -> Iterator[Interrupt]:
        """Turn these signals (SIGINT, SIGTERM and SIGHUP by default) into the interrupt while the block runs.

        One that the process was started to ignore, as `nohup` does with SIGHUP, stays ignored.
        """
        loop = asyncio.get_running_loop()
        caught: list[signal.Signals] = []
        for number in signals or (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            try:
                if signal.getsignal(number) is signal.SIG_IGN:
                    continue
                loop.add_signal_handler(number, self.trigger, number.name)
                caught.append(number)
            except (NotImplementedError, RuntimeError, ValueError, OSError) as error:
                _log.warning("cannot catch Ctrl-C: %s", error)
        try:
            yield self
        finally:
            for number in caught:
                loop.remove_signal_handler(number)
