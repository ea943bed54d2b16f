"""The app is refused where it cannot draw, before it is loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from overbrainer_core.errors import LockedError
from overbrainer_tui import launch
from overbrainer_tui.cli.context import Options
from overbrainer_tui.cli.tui_command import HeldError, TerminalError, open_app, refuse_without_terminal


class Stream:
    """A standard stream that is a terminal or not."""

    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        """What it is."""
        return self.is_terminal


@pytest.mark.parametrize(
    ("stdout", "stdin", "term", "words"),
    [
        (False, True, "xterm", "stdout is not a TTY"),
        (True, False, "xterm", "stdin is not a TTY"),
        (True, True, "dumb", "TERM is dumb"),
    ],
)
def test_what_is_no_terminal_is_named(
    monkeypatch: pytest.MonkeyPatch, stdout: bool, stdin: bool, term: str, words: str
) -> None:
    monkeypatch.setattr(sys, "stdout", Stream(stdout))
    monkeypatch.setattr(sys, "stdin", Stream(stdin))
    with pytest.raises(TerminalError, match=f"overbrainer tui needs a terminal: {words}"):
        refuse_without_terminal({"TERM": term})


def test_a_terminal_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Stream(True))
    monkeypatch.setattr(sys, "stdin", Stream(True))
    refuse_without_terminal({"TERM": "xterm-256color"})
    refuse_without_terminal({})


@pytest.mark.parametrize(
    ("directory", "command"),
    [(".", "overbrainer tui --readonly"), ("my demo", "overbrainer tui -C 'my demo' --readonly")],
)
def test_a_project_that_is_held_can_be_looked_at(monkeypatch: pytest.MonkeyPatch, directory: str, command: str) -> None:
    def held(*_: object, **__: object) -> int:
        raise LockedError(12)

    monkeypatch.setattr(launch, "run_app", held)
    options = Options()
    options.directory = Path(directory)
    with pytest.raises(HeldError) as caught:
        open_app(options)
    assert str(caught.value) == f"another overbrainer (pid 12) is using this project; look at it with `{command}`"
