"""What does every command share: global options, one session, signals, and one way to fail?

Global options are taken before or after the subcommand. Listings import this module, so it loads little: what a
command that works needs beside it lies in `work`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from overbrainer_core.project.format import predates_versions
from overbrainer_core.project.paths import ProjectPaths

if TYPE_CHECKING:
    from overbrainer_tui.cli.work import Work

T = TypeVar("T")


class Options:
    """The global options of one call, and the environment it was made in."""

    def __init__(self) -> None:
        self.directory = Path()
        self.events: str | None = None
        self.json = False
        self.no_color = False
        self.readonly = False
        self.is_old_project = False
        self.environment: dict[str, str] = dict(os.environ)

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


_WITHOUT_HINT = frozenset({"init", "migrate", "demo", "tui", "schema"})
"""Commands that do not tell that a project is old: they make one, bring one up to date, tell it themselves or read
none."""


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
        if self.name not in _WITHOUT_HINT:
            options.is_old_project = predates_versions(ProjectPaths(options.directory))
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


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine on an event loop of its own."""
    import asyncio  # listings need no event loop

    return asyncio.run(work)


def start_logging(options: Options, *, reads_env: bool) -> None:
    """Log to standard error by `OVERBRAINER_LOG`, of the shell, or of the project's `.env` too.

    Raises:
        ConfigError: the `.env` file cannot be read.
    """
    from overbrainer_core import log_setup  # loads logging

    text = options.environment.get("OVERBRAINER_LOG")
    if reads_env:
        from overbrainer_core.config.env import read_environment  # listings read no `.env`
        from overbrainer_tui.cli.output import write_warning

        environment = read_environment(ProjectPaths(options.directory), options.environment)
        for line in environment.warnings:
            write_warning(line)
        text = environment.values.get("OVERBRAINER_LOG")
    log_setup.log_to_stderr(text, color=options.has_color)


def run_in_session(options: Options, body: Callable[[Any, Work], Awaitable[T]], *, lock: bool = True) -> T:
    """Open the project and run `body(session, work)`; progress goes to standard error meanwhile."""
    start_logging(options, reads_env=True)
    from overbrainer_tui.cli.work import work_in_session  # loads the event loop, settings and listeners

    return run_async(work_in_session(options, body, lock=lock))
