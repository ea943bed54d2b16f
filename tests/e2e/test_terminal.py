"""The app on a real terminal: keys, sizes, answers of the terminal, signals, crashes, and silence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.peers.terminal import PtyTerminal, Tmux
from tests.tui.states import write_project

REPOSITORY = Path(__file__).resolve().parents[2]
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": os.environ.get("HOME", "/"),
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": str(REPOSITORY),
}
OPENED = r"\? help"

Open = Callable[..., PtyTerminal]


@pytest.fixture
def open_app(tmp_path: Path) -> Iterator[Open]:
    """Open the app on a small project; everything is ended afterwards."""
    opened: list[PtyTerminal] = []

    def make(
        *, epochs: int = 2, size: tuple[int, int] = (80, 24), script: str | None = None, **env: str
    ) -> PtyTerminal:
        root = tmp_path / "project"
        if not root.exists():
            write_project(root, epochs=epochs)
        program = ["-c", script] if script is not None else ["-m", "overbrainer_tui"]
        terminal = PtyTerminal(
            [sys.executable, *program, "-C", str(root), "tui"],
            stderr=tmp_path / f"stderr{len(opened)}",
            env={**ENV, "HOME": str(tmp_path), **env},
            size=size,
            cwd=tmp_path,
        )
        opened.append(terminal)
        return terminal

    yield make
    for terminal in opened:
        terminal.close()


def ready(terminal: PtyTerminal) -> PtyTerminal:
    terminal.wait_for(OPENED)
    terminal.wait_for("Nothing ran yet")
    return terminal


def check_restored(terminal: PtyTerminal) -> None:
    """The screen was left, the cursor shown, pastes unbracketed, the modes as before."""
    terminal.wait_written(b"\x1b[?25h")
    assert terminal.output.count(b"\x1b[?1049h") == terminal.output.count(b"\x1b[?1049l")
    last = terminal.output[terminal.output.rfind(b"\x1b[?1049h") :]
    for sequence in (b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l"):
        assert sequence in last
    assert terminal.modes == terminal.modes_before


def start_run(terminal: PtyTerminal) -> str:
    """Start a run by its keys and wait until it is followed; its ID."""
    terminal.send("4")
    terminal.wait_for("No runs yet")
    terminal.send("t")
    terminal.wait_for("Start a training run")
    terminal.send("y")
    screen = terminal.wait_for(r"running +local +followed")
    found = re.search(r"small_\d{8}-\d{6}", screen)
    assert found is not None
    return found.group()


def job_of(tmp_path: Path, run_id: str) -> int:
    """The process group of a run's job."""
    return int((tmp_path / "project" / "runs" / run_id / "job.pid").read_text())


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_opens_answers_keys_and_gives_the_terminal_back(open_app: Open) -> None:
    terminal = ready(open_app())
    assert "3 Pipeline  4 Training  5 Logs" in terminal.lines[0]
    terminal.send("4")
    terminal.wait_for("No runs yet")
    terminal.send("?")
    terminal.wait_for("Everywhere")
    terminal.send("q")
    terminal.wait_gone("Everywhere")
    terminal.send("q")
    assert terminal.wait() == 0
    assert terminal.stderr() == ""
    check_restored(terminal)


@pytest.mark.parametrize("key", ["3", "4", "5"])
def test_not_one_byte_is_written_while_nothing_changes(open_app: Open, key: str) -> None:
    terminal = ready(open_app(size=(120, 40)))
    terminal.send(key)
    terminal.bytes_within(1.0)
    assert terminal.bytes_within(2.5) == b""


def test_a_smaller_terminal_shows_two_lines_and_a_larger_one_the_view_again(open_app: Open) -> None:
    terminal = ready(open_app())
    terminal.send("5")
    terminal.wait_for("Logs INFO and above")
    terminal.resize(79, 24)
    terminal.wait_for("terminal too small: 80x24 needed, this one is 79x24")
    terminal.resize(120, 40)
    terminal.wait_for("Logs INFO and above")
    terminal.wait_for("⠿ overbrainer")
    terminal.resize(80, 23)
    terminal.wait_for("this one is 80x23")
    terminal.send("q")
    assert terminal.wait() == 0


ANSWERS = (
    "\x1b[>0;10;1c",
    "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    "\x1bP>|term 1\x1b\\",
    "\x1b[<0;9;1M",
    "\x1b[I",
    "\x1b[5;5R",
)


def test_what_the_terminal_answers_is_never_a_key(open_app: Open) -> None:
    terminal = ready(open_app())
    terminal.send("A")
    terminal.wait_for("Run auto mode")
    for answer in ANSWERS:
        terminal.send(answer)
        terminal.send(answer[0])
        time.sleep(0.05)
        terminal.send(answer[1:])
    time.sleep(0.3)
    assert "Run auto mode" in terminal.text()
    terminal.send("\x1b")
    terminal.wait_gone("Run auto mode")
    terminal.send(":")
    terminal.wait_for("Commands")
    for answer in ANSWERS:
        terminal.send(answer)
    terminal.send("x")
    assert re.search(r": x ", terminal.wait_for(r"│ : x"))
    terminal.send("\x1b[200~y\nz\x1b[201~")
    terminal.wait_for(r"│ : xy z")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_restores_the_terminal_and_ends_with_130(open_app: Open, number: signal.Signals) -> None:
    terminal = ready(open_app())
    terminal.kill(number)
    assert terminal.wait() == 130
    assert terminal.stderr() == "error: interrupted by signal\n"
    check_restored(terminal)


def test_a_signal_detaches_a_followed_run_and_names_the_command(open_app: Open, tmp_path: Path) -> None:
    terminal = ready(open_app(epochs=5000))
    run_id = start_run(terminal)
    group = job_of(tmp_path, run_id)
    try:
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == 130
        assert f"overbrainer train attach {run_id}" in terminal.stderr()
        check_restored(terminal)
        assert is_alive(group)
    finally:
        os.killpg(group, signal.SIGKILL)


def test_a_confirmed_quit_detaches_and_ends_with_success(open_app: Open, tmp_path: Path) -> None:
    terminal = ready(open_app(epochs=5000))
    run_id = start_run(terminal)
    group = job_of(tmp_path, run_id)
    try:
        terminal.send("q")
        terminal.wait_for("keeps training on local")
        terminal.send("y")
        assert terminal.wait() == 0
        assert f"overbrainer train attach {run_id}" in terminal.stderr()
        assert is_alive(group)
    finally:
        os.killpg(group, signal.SIGKILL)


def test_a_killed_app_leaves_a_job_that_can_be_collected(open_app: Open, tmp_path: Path) -> None:
    terminal = ready(open_app(epochs=60))
    run_id = start_run(terminal)
    terminal.kill(signal.SIGKILL)
    terminal.wait()
    attach = subprocess.run(
        [sys.executable, "-m", "overbrainer_tui", "-C", str(tmp_path / "project"), "train", "attach", run_id],
        env=ENV, capture_output=True, text=True, timeout=18, check=False,
    )  # fmt: skip
    assert attach.returncode == 0, attach.stderr
    assert f"run {run_id} succeeded" in attach.stdout


def test_a_stop_gives_the_terminal_back_and_going_on_takes_it_again(open_app: Open) -> None:
    terminal = ready(open_app())
    terminal.send("5")
    terminal.wait_for("Logs INFO and above")
    terminal.kill(signal.SIGTSTP)
    terminal.wait_stopped()
    check_restored(terminal)
    terminal.screen.reset()
    terminal.kill(signal.SIGCONT)
    terminal.wait_for("Logs INFO and above")
    assert terminal.modes != terminal.modes_before
    terminal.send("3")
    terminal.wait_for("Nothing ran yet")
    terminal.send("q")
    assert terminal.wait() == 0
    check_restored(terminal)


def test_a_closed_terminal_ends_the_app(open_app: Open) -> None:
    terminal = ready(open_app())
    terminal.hang_up()
    assert terminal.wait() in (0, 130)
    assert "Traceback" not in terminal.stderr()


BROKEN = """
import sys
import overbrainer_tui.views.logs as view
def fail(*_):
    raise ZeroDivisionError("while drawing")
view.LogsView.pieces = fail
from overbrainer_tui.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_draw_that_fails_restores_the_terminal_and_tells_one_line(open_app: Open) -> None:
    terminal = ready(open_app(script=BROKEN))
    terminal.send("5")
    assert terminal.wait() == 1
    (line,) = terminal.stderr().splitlines()
    assert line.startswith("error: the screen failed: ZeroDivisionError: while drawing")
    check_restored(terminal)


def test_a_draw_that_fails_says_what_is_waited_for(open_app: Open, tmp_path: Path) -> None:
    terminal = ready(open_app(epochs=5000, script=BROKEN))
    run_id = start_run(terminal)
    group = job_of(tmp_path, run_id)
    try:
        terminal.send("5")
        assert terminal.wait() == 1
        told = terminal.stderr()
        assert f"waiting for run {run_id} to detach..." in told
        assert f"overbrainer train attach {run_id}" in told
        assert is_alive(group)
    finally:
        os.killpg(group, signal.SIGKILL)


def test_without_colour_no_colour_is_written(open_app: Open) -> None:
    terminal = ready(open_app(NO_COLOR="1", OVERBRAINER_TUI_MOTION="on"))
    terminal.send("4")
    terminal.wait_for("No runs yet")
    codes = {code for found in re.findall(rb"\x1b\[([0-9;]*)m", bytes(terminal.output)) for code in found.split(b";")}
    assert codes <= {b"", b"0", b"1", b"2", b"3", b"4", b"7", b"9", b"22", b"39", b"49"}


def test_at_16_colours_no_background_is_painted(open_app: Open) -> None:
    terminal = ready(open_app(OVERBRAINER_TUI_COLOR="16"))
    painted = re.findall(rb"\x1b\[[0-9;]*(?:48;|4[0-7]|10[0-7])[0-9;]*m", bytes(terminal.output))
    assert painted == []


def test_a_directory_without_a_project_is_an_ordinary_error(tmp_path: Path) -> None:
    terminal = PtyTerminal(
        [sys.executable, "-m", "overbrainer_tui", "-C", str(tmp_path), "tui"],
        stderr=tmp_path / "stderr",
        env=ENV,
        cwd=tmp_path,
    )
    try:
        assert terminal.wait() == 3
        told = terminal.stderr()
        assert "overbrainer init" in told
        assert "overbrainer demo" in told
        assert b"\x1b" not in terminal.output
    finally:
        terminal.close()


def test_a_second_app_is_refused_before_anything_is_drawn(open_app: Open) -> None:
    ready(open_app())
    second = open_app()
    assert second.wait() == 4
    assert "is using this project" in second.stderr()
    assert b"\x1b" not in second.output


@pytest.mark.peer("tmux")
def test_in_tmux_keys_sizes_and_the_way_back_to_the_shell_work(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    window = Tmux(tmp_path / "tmux", env=ENV)
    try:
        window.type(f"{sys.executable} -m overbrainer_tui -C {root} tui; echo rc=$?")
        window.press("Enter")
        window.wait_for("Nothing ran yet")
        window.press("Tab")
        window.wait_for("No runs yet")
        window.press(":")
        window.wait_for("Commands")
        window.press("Escape")
        window.resize(120, 40)
        window.wait_for("⠿ overbrainer")
        window.press("C-c")
        window.wait_for("rc=0")
    finally:
        window.close()


def test_a_value_that_means_nothing_is_told_once_in_the_log(open_app: Open) -> None:
    terminal = ready(open_app(OVERBRAINER_TUI_COLOR="purple"))
    terminal.send("5")
    screen = terminal.wait_for("OVERBRAINER_TUI_COLOR is ignored")
    assert screen.count("is ignored") == 1


def test_an_edit_of_the_settings_is_told_within_moments(open_app: Open, tmp_path: Path) -> None:
    terminal = ready(open_app())
    config = tmp_path / "project" / "overbrainer.toml"
    good = config.read_text()
    config.write_text(good.replace('name = "small"', 'name = "renamed"'))
    terminal.wait_for("✓ config reloaded", timeout_s=6)
    assert terminal.lines[0].endswith("renamed")
    config.write_text(good.replace("subtopics = 1", "subtopics = -1"))
    terminal.wait_for(r"✗ overbrainer\.toml: topics", timeout_s=6)
    terminal.send("5")
    terminal.wait_for("Logs INFO and above")
    time.sleep(2.5)
    assert terminal.text().count("overbrainer.toml: topics") <= 2  # its line, and the status that tells it


def test_an_old_project_is_told_what_to_do(open_app: Open, tmp_path: Path) -> None:
    terminal = open_app(size=(120, 40))
    terminal.wait_for("! this project predates overbrainer 0.4.0: run overbrainer migrate")


def test_a_followed_run_moves_in_frames_and_a_hidden_one_only_in_the_footer(open_app: Open) -> None:
    terminal = ready(open_app(epochs=5000))
    start_run(terminal)
    terminal.bytes_within(0.5)
    spins = re.findall("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", terminal.bytes_within(2.0).decode("utf-8", "replace"))
    assert 2 <= len(spins) <= 2.0 / 0.08 + 5
    terminal.send("c")
    terminal.wait_for("Cancel a run")
    terminal.send("y")
    terminal.wait_for("cancelled")
    terminal.send("q")
    assert terminal.wait() == 0
