"""How does work run beside a main thing without ever outliving, ending or failing it?"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from overbrainer_core.aio.tasks import run_to_end

_log = logging.getLogger("overbrainer.aio")


@contextlib.asynccontextmanager
async def beside(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run each work while the block runs; at its end they are cancelled and waited for.

    A work that fails is logged and changes nothing.
    """
    loop = asyncio.get_running_loop()
    tasks = {loop.create_task(work, name="beside") for work in works}
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await run_to_end(_settled(tasks), name="beside")


async def _settled(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
    for task in tasks:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            _log.debug("work beside another failed", exc_info=failure)
