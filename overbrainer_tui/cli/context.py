"""What does every command share: global options, one session, signals, and one way to fail?

Global options are taken before or after the subcommand. `run_in_session` opens the project, runs a command's
coroutine with its bus, report and interrupt, and closes everything in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from overbrainer_core import log_setup
from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.events.bus import EventBus, Observer
from overbrainer_core.events.event_log import EventLog
from overbrainer_tui.cli.output import write_line

_log = logging.getLogger("overbrainer.cli")

T = TypeVar("T")


@dataclass(slots=True)
class Options:
    """The global options of one call."""

    directory: Path = Path()
    events: str | None = None
    json: bool = False
    no_color: bool = False
    readonly: bool = False
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)

    @property
    def has_color(self) -> bool:
        """Whether log lines may carry colour: a terminal, and nobody said no."""
        return sys.stderr.isatty() and not self.no_color and "NO_COLOR" not in self.environment


def options_of(context: click.Context) -> Options:
    """The options of the running call."""
    root = context.find_root()
    if not isinstance(root.obj, Options):
        root.obj = Options()
    return root.obj


def _set_directory(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        options_of(context).directory = Path(value)


def _set_events(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        options_of(context).events = value


def _set_flag(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def callback(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            setattr(options_of(context), name, True)

    return callback


def _shared(*, has_json: bool, has_events: bool) -> list[click.Parameter]:
    parameters: list[click.Parameter] = [
        click.Option(
            ["-C", "--project-dir", "_directory"],
            metavar="DIR",
            expose_value=False,
            callback=_set_directory,
            help="Project directory.  [default: .]",
        ),
    ]
    if has_events:
        parameters.append(
            click.Option(
                ["--events", "_events"],
                metavar="FILE",
                expose_value=False,
                callback=_set_events,
                help="Append every event as a JSON line to FILE; `-` is standard error.",
            )
        )
    if has_json:
        parameters.append(
            click.Option(
                ["--json", "_json"],
                is_flag=True,
                expose_value=False,
                callback=_set_flag("json"),
                help="Print one JSON document instead of lines.",
            )
        )
    parameters.append(
        click.Option(
            ["--no-color", "_no_color"],
            is_flag=True,
            expose_value=False,
            callback=_set_flag("no_color"),
            help="No colour, as with NO_COLOR.",
        )
    )
    return parameters


HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Both spellings of help, on every command."""


class SharedCommand(click.Command):
    """A command that takes the global options after its name too."""

    has_json = False
    has_events = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", HELP_NAMES)
        super().__init__(*args, **kwargs)
        self.params.extend(_shared(has_json=self.has_json, has_events=self.has_events))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a global option that it cannot honour is a usage error."""
        options = options_of(ctx)
        if options.json and not self.has_json:
            raise click.UsageError(f"--json does not apply to {ctx.command_path}", ctx)
        if options.events is not None and not self.has_events:
            raise click.UsageError(f"--events does not apply to {ctx.command_path}", ctx)
        return super().invoke(ctx)


class ListingCommand(SharedCommand):
    """A command with a listing or a document."""

    has_json = True


class WorkCommand(SharedCommand):
    """A command that works on a project: it has a bus and a summary."""

    has_json = True
    has_events = True


class EventsCommand(SharedCommand):
    """A command with a bus and no summary of its own."""

    has_events = True


def root_parameters() -> list[click.Parameter]:
    """The global options before the subcommand."""
    return _shared(has_json=True, has_events=True)


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


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine on an event loop of its own."""
    return asyncio.run(work)


def start_logging(options: Options) -> None:
    """Log to standard error by `OVERBRAINER_LOG`, of the shell or of the project's `.env`."""
    from overbrainer_core.config.env import read_environment  # keeps listings from reading `.env` code
    from overbrainer_core.project.paths import ProjectPaths

    environment = read_environment(ProjectPaths(options.directory), options.environment)
    log_setup.log_to_stderr(environment.values.get("OVERBRAINER_LOG"), color=options.has_color)


def run_in_session(
    options: Options,
    body: Callable[[Any, Work], Awaitable[T]],
    *,
    lock: bool = True,
) -> T:
    """Open the project and run `body(session, work)`; progress goes to standard error meanwhile."""
    start_logging(options)

    async def main() -> T:
        from overbrainer_core.flows.session import open_session  # loads the settings' libraries
        from overbrainer_tui.cli.progress import Progress, ticking

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

    return run_async(main())
