"""The mouse on a real terminal: what is asked for, what it does, and that nothing of it is left to anybody."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peers.terminal import PtyTerminal
from tests.tui.states import write_project

REPOSITORY = Path(__file__).resolve().parents[2]
ENV = {
    "PATH": os.environ["PATH"],
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": str(REPOSITORY),
    "OVERBRAINER_TUI_MOTION": "off",
}
MODES = (b"\x1b[?1000", b"\x1b[?1003", b"\x1b[?1006")

Open = Callable[..., PtyTerminal]


@pytest.fixture
def open_app(tmp_path: Path) -> Iterator[Open]:
    """Open the app on a small project; everything is ended afterwards."""
    opened: list[PtyTerminal] = []
    root = write_project(tmp_path / "project")

    def make(*, size: tuple[int, int] = (80, 24), **env: str) -> PtyTerminal:
        terminal = PtyTerminal(
            [sys.executable, "-m", "overbrainer_tui", "-C", str(root), "tui"],
            stderr=tmp_path / f"stderr{len(opened)}",
            env={**ENV, "HOME": str(tmp_path), **env},
            size=size,
            cwd=tmp_path,
        )
        opened.append(terminal)
        terminal.wait_for("Nothing ran yet")
        while terminal.bytes_within(0.4):
            pass
        return terminal

    yield make
    for terminal in opened:
        terminal.close()


def report(button: int, x: int, y: int, *, is_release: bool = False) -> str:
    """What a terminal sends for the mouse at a cell, counted from 0."""
    return f"\x1b[<{button};{x + 1};{y + 1}{'m' if is_release else 'M'}"


def click(terminal: PtyTerminal, words: str) -> None:
    """Click on the first place where the screen shows these words."""
    y, line = next((y, line) for y, line in enumerate(terminal.lines) if words in line)
    x = line.index(words)
    terminal.send(report(0, x, y) + report(0, x, y, is_release=True))


def left_for_the_shell(terminal: PtyTerminal) -> bytes:
    """What a shell would read next."""
    return os.read(terminal._slave, 4096) if select.select([terminal._slave], [], [], 0.1)[0] else b""


def check_mouse_is_off(terminal: PtyTerminal) -> None:
    for mode in MODES:
        assert terminal.output.count(mode + b"h") >= 1
        assert terminal.output.rfind(mode + b"l") > terminal.output.rfind(mode + b"h")


def test_clicks_and_the_wheel_do_what_keys_do(open_app: Open) -> None:
    terminal = open_app()
    click(terminal, "4 Training")
    terminal.wait_for("No runs yet")
    click(terminal, "5 Logs")
    terminal.wait_for("Logs INFO and above")
    terminal.send("3A")
    terminal.wait_for("Run auto mode")
    click(terminal, "Run auto mode")
    terminal.send(report(65, 40, 12) + report(35, 41, 12))
    click(terminal, "n cancel")
    terminal.wait_gone("Run auto mode")
    terminal.send(":")
    terminal.wait_for("Commands")
    click(terminal, "Show Training")
    terminal.wait_for("No runs yet")
    terminal.send("q")
    assert terminal.wait() == 0
    check_mouse_is_off(terminal)


def test_a_mouse_that_moves_is_never_a_key_and_writes_nothing(open_app: Open) -> None:
    terminal = open_app(size=(120, 40))
    terminal.send(":q")
    terminal.wait_for("│ : q")
    terminal.bytes_within(0.5)
    for x in range(0, 120, 2):
        whole = report(35, x, x // 3)
        terminal.send(whole)
        terminal.send(whole[0])
        terminal.send(whole[1:])
    assert terminal.bytes_within(0.5) == b""
    assert "│ : q " in terminal.text()
    terminal.send("\x1b")
    terminal.wait_gone("Commands")
    before = terminal.text()
    terminal.bytes_within(0.3)
    for x in range(0, 120, 2):
        terminal.send(report(35, x, x // 3))
    assert terminal.bytes_within(0.5) == b""
    assert terminal.text() == before


def test_selecting_text_stays_the_terminal_s_own(open_app: Open) -> None:
    """With Shift terminals keep the mouse to themselves; should they tell it, nothing happens."""
    terminal = open_app()
    before = terminal.text()
    y, line = next((y, line) for y, line in enumerate(terminal.lines) if "4 Training" in line)
    terminal.send(report(4, line.index("4 Training"), y) + report(36, 60, 10) + report(4, 60, 10, is_release=True))
    assert terminal.bytes_within(0.3) == b""
    assert terminal.text() == before
    assert b"\x1b[>" not in terminal.output


def test_without_the_mouse_its_old_reports_leave_no_trace(open_app: Open) -> None:
    """A terminal in the oldest mode, beyond column 223: bytes that are no text."""
    terminal = open_app(OVERBRAINER_TUI_MOUSE="0")
    before = terminal.text()
    for where in (b"\x82\xff", b"\xc3\x82", b"\xff\xff", b"\xe9!"):
        os.write(terminal.master, b"\x1b[M#" + where + b"\x1b[M " + where)
    for x in range(20):
        terminal.send(report(35, x, 5) + report(0, x, 5))
    assert terminal.bytes_within(0.5) == b""
    assert terminal.text() == before
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.stderr() == ""
    assert all(mode not in terminal.output for mode in MODES)
    assert left_for_the_shell(terminal) == b""


def test_reports_on_their_way_at_the_end_are_not_left_to_the_shell(open_app: Open) -> None:
    terminal = open_app()
    for x in range(30):
        terminal.send(report(35, x, 5))
    terminal.send("q")
    while b"\x1b[?1003l" not in terminal.output and terminal.process.poll() is None:
        terminal.send(report(35, 9, 9))
        time.sleep(0.002)
    terminal.send(report(35, 9, 9))
    assert terminal.wait() == 0
    assert left_for_the_shell(terminal) == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_signal_switches_the_mouse_off(open_app: Open, number: signal.Signals) -> None:
    terminal = open_app()
    terminal.kill(number)
    assert terminal.wait() == 130
    terminal.wait_written(b"\x1b[?25h")
    check_mouse_is_off(terminal)


def test_a_stopped_app_has_no_mouse_and_takes_it_again(open_app: Open) -> None:
    terminal = open_app()
    terminal.kill(signal.SIGTSTP)
    terminal.wait_stopped()
    terminal.wait_written(b"\x1b[?25h")
    check_mouse_is_off(terminal)
    terminal.kill(signal.SIGCONT)
    terminal.wait_for("Nothing ran yet")
    click(terminal, "4 Training")
    terminal.wait_for("No runs yet")
    terminal.send("q")
    assert terminal.wait() == 0
    check_mouse_is_off(terminal)


def test_sizes_change_while_reports_with_older_places_arrive(open_app: Open) -> None:
    terminal = open_app(size=(120, 40))
    for at in range(200):
        terminal.resize(20 + at % 60, 5 + at % 20)
        terminal.send(report(35, 119, 39) + report(0, 119, 39) + report(65, 100, 2))
        terminal.send("\x1b[?61;6;7;22c\x1b[>0;10;1c")
        time.sleep(0.005)
    terminal.resize(120, 40)
    terminal.wait_for(r"r run a stage")
    terminal.send("4")
    terminal.wait_for("No runs yet")
    assert terminal.process.poll() is None
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.stderr() == ""
