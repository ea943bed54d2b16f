"""Global options are taken before and after the subcommand, and refused where they mean nothing."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from overbrainer_tui.cli.context import HELP_NAMES, Options, WorkCommand, options_of, root_parameters


@click.group(params=root_parameters(), context_settings=HELP_NAMES)
def program() -> None:
    """A command with the global options."""


@program.command(cls=WorkCommand)
@click.pass_context
def work(context: click.Context) -> Options:
    """A subcommand that works."""
    return options_of(context)


def called(*arguments: str) -> Options:
    """The options that a call gives."""
    options = program.main(args=list(arguments), standalone_mode=False, obj=Options())
    assert isinstance(options, Options)
    return options


@pytest.mark.parametrize("option", ["-C", "--project-dir"])
def test_the_directory_is_taken_on_both_sides(option: str) -> None:
    assert called(option, "a", "work").directory == Path("a")
    assert called("work", option, "b").directory == Path("b")
    assert called(option, "a", "work", option, "b").directory == Path("b")
    assert called("work").directory == Path()


def test_flags_and_events_are_taken_on_both_sides() -> None:
    before = called("--json", "--events", "x", "--no-color", "work")
    after = called("work", "--json", "--events", "x", "--no-color")
    for options in (before, after):
        assert (options.json, options.events, options.no_color) == (True, "x", True)


def test_without_a_terminal_there_is_no_colour() -> None:
    assert not called("work").has_color


def test_the_options_never_show_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERBRAINER_HF_TOKEN", "hf_secret")
    assert "hf_secret" not in repr(Options())
