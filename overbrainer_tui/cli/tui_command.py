"""The command `tui`, and the one place where the command line loads the full-screen app."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from overbrainer_core.errors import LockedError, OverbrainerError
from overbrainer_tui.cli.context import EventsCommand, Options, options_of


class TerminalError(OverbrainerError):
    """The app cannot draw on this terminal."""


class HeldError(LockedError):
    """Another process holds the project: it can be looked at."""

    def __init__(self, pid: int | None, directory: Path) -> None:
        super().__init__(pid)
        where = "" if directory == Path() else f" -C {shlex.quote(str(directory))}"
        self.args = (f"{self}; look at it with `overbrainer tui{where} --readonly`",)


@click.command(cls=EventsCommand)
@click.option("--readonly", is_flag=True, help="Look only: nothing can be started, stopped or cancelled.")
@click.pass_context
def tui(context: click.Context, readonly: bool) -> None:
    """Open the full-screen app on the project."""
    options = options_of(context)
    options.readonly = readonly
    refuse_without_terminal(options.environment)
    context.exit(open_app(options))


def refuse_without_terminal(environment: Mapping[str, str]) -> None:
    """Raise unless the app can draw here.

    Raises:
        TerminalError: standard output or input is no terminal, or `TERM` is `dumb`.
    """
    if not sys.stdout.isatty():
        raise TerminalError("overbrainer tui needs a terminal: stdout is not a TTY")
    if not sys.stdin.isatty():
        raise TerminalError("overbrainer tui needs a terminal: stdin is not a TTY")
    if environment.get("TERM", "") == "dumb":
        raise TerminalError("overbrainer tui needs a terminal: TERM is dumb")


def open_app(options: Options, *, is_demo: bool = False, auto_yes: bool = False) -> int:
    """Open the app on the project and return the exit code.

    Raises:
        HeldError: another process holds the project.
        OverbrainerError: the project cannot be opened, or the screen failed.
    """
    from overbrainer_tui.launch import run_app  # Textual is loaded here and nowhere else in the command line

    try:
        return run_app(options, is_demo=is_demo, auto_yes=auto_yes)
    except LockedError as error:
        raise HeldError(error.pid, options.directory) from None
