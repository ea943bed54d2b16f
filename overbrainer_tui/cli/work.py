"""What does a command that works on a project have while it runs?

A session, a bus, listeners that tell its progress, the interrupt that Ctrl-C and SIGTERM are turned into, and where its
lines go. All of it is closed in order when the command's coroutine ends.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.events.bus import EventBus, Observer
from overbrainer_core.events.event_log import EventLog
from overbrainer_core.flows.session import Session, open_session
from overbrainer_tui.cli.context import Options
from overbrainer_tui.cli.output import write_line
from overbrainer_tui.cli.progress import Progress, ticking

_log = logging.getLogger("overbrainer.cli")

T = TypeVar("T")


class LineReport:
    """A flow's lines of a command: results to standard output, the rest to the log.

    With `--json` the results are kept back: the command prints one document instead.
    """

    def __init__(self, *, is_silent: bool) -> None:
        self._is_silent = is_silent

    def result(self, line: str) -> None:
        """A line on standard output."""
        if not self._is_silent:
            write_line(line)

    def note(self, line: str) -> None:
        """An info line of the log."""
        _log.info("%s", line)

    def warn(self, line: str) -> None:
        """A warning line of the log."""
        _log.warning("%s", line)


@dataclass(slots=True, kw_only=True)
class Work:
    """What a command's coroutine is given beside its session."""

    bus: EventBus
    report: LineReport
    interrupt: Interrupt
    options: Options


@contextlib.contextmanager
def event_log(options: Options) -> Iterator[tuple[Observer, ...]]:
    """The observer of `--events`, closed at the end; none without the option."""
    if options.events is None:
        yield ()
        return
    log = EventLog(options.events)
    try:
        yield (log,)
    finally:
        log.close()


async def work_in_session(options: Options, body: Callable[[Session, Work], Awaitable[T]], *, lock: bool = True) -> T:
    """Open the project and run `body(session, work)`; progress goes to standard error meanwhile."""
    progress = Progress() if options.events != "-" else None
    interrupt = Interrupt()
    with contextlib.ExitStack() as stack:
        observers = stack.enter_context(event_log(options))
        stack.enter_context(interrupt.catching())
        if progress is not None:
            observers = (*observers, progress)
        async with open_session(
            options.directory, process_env=options.environment, lock=lock, observers=observers
        ) as session:
            bus = stack.enter_context(session.new_bus())
            report = LineReport(is_silent=options.json)
            work = Work(bus=bus, report=report, interrupt=interrupt, options=options)
            async with ticking(progress):
                return await body(session, work)
