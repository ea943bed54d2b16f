"""A real terminal to look at: a program on a pseudo-terminal whose screen is kept by an emulator, or in tmux."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

WAIT_S = 15.0
"""The longest that a text on the screen is waited for."""


class PtyTerminal:
    """A program in a session of its own on a pseudo-terminal; its standard error goes to a file.

    `output` holds every byte that it wrote to the terminal.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stderr: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        cwd: Path | None = None,
    ) -> None:
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.output = bytearray()
        self._lock = threading.Lock()
        self._is_closing = False
        self.master, self._slave = pty.openpty()
        self.resize(columns, rows)
        self.modes_before = termios.tcgetattr(self._slave)
        self._stderr = stderr.open("wb")
        self.process = subprocess.Popen(
            arguments,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._stderr,
            env=dict(env),
            cwd=cwd,
            preexec_fn=_take_terminal,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._is_closing:
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                # nobody has the other end open at the moment
                time.sleep(0.01)
                continue
            with self._lock:
                self.output += data
                self._stream.feed(data)

    def hang_up(self) -> None:
        """The terminal is gone, as when its window is closed."""
        self._is_closing = True
        self._reader.join()
        os.close(self.master)
        os.close(self._slave)
        self.master = self._slave = -1

    @property
    def lines(self) -> list[str]:
        """The characters on the screen, row by row."""
        with self._lock:
            return [line.rstrip() for line in self.screen.display]

    def text(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines)

    def send(self, text: str) -> None:
        """Type something."""
        os.write(self.master, text.encode())

    def wait_for(self, pattern: str, *, timeout_s: float = WAIT_S) -> str:
        """Wait until the screen shows the pattern; the screen then."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if re.search(pattern, self.text()):
                return self.text()
            time.sleep(0.02)
        raise AssertionError(f"{pattern!r} is not on the screen:\n{self.text()}")

    def wait_gone(self, pattern: str, *, timeout_s: float = WAIT_S) -> str:
        """Wait until the screen no longer shows the pattern; the screen then."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if not re.search(pattern, self.text()):
                return self.text()
            time.sleep(0.02)
        raise AssertionError(f"{pattern!r} is still on the screen:\n{self.text()}")

    def wait_written(self, end: bytes, *, timeout_s: float = 2.0) -> None:
        """Wait until the output ends with these bytes: what a program wrote last is read a moment later."""
        limit = time.monotonic() + timeout_s
        while not self.output.endswith(end) and time.monotonic() < limit:
            time.sleep(0.01)

    def bytes_within(self, seconds: float) -> bytes:
        """What is written within so many seconds."""
        before = len(self.output)
        time.sleep(seconds)
        return bytes(self.output[before:])

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size; the program is told as by a real one."""
        with self._lock:
            self.screen.resize(rows, columns)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def modes(self) -> list[Any]:
        """The modes of the terminal now."""
        return termios.tcgetattr(self._slave)

    def kill(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self.process.send_signal(number)

    def wait_stopped(self) -> None:
        """Wait until the program is stopped."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state == "T":
                return
            time.sleep(0.02)
        raise AssertionError("the program was not stopped")

    def wait(self) -> int:
        """Wait for the program's end; its exit status."""
        return self.process.wait(timeout=WAIT_S)

    def stderr(self) -> str:
        """What it wrote to standard error."""
        return Path(self._stderr.name).read_text()

    def close(self) -> None:
        """End the program and give everything back."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._is_closing = True
        self._reader.join()
        for descriptor in (self.master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)
        self._stderr.close()


def _take_terminal() -> None:
    """In the child: a session of its own whose controlling terminal is the pseudo-terminal."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def has_tmux() -> bool:
    """Whether tmux is at hand."""
    return shutil.which("tmux") is not None


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self, socket: Path, *, size: tuple[int, int] = (80, 24), env: Mapping[str, str]) -> None:
        self._socket = socket
        self._env = dict(env)
        self._run("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "sh")

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        return subprocess.run(command, env=self._env, check=True, capture_output=True, text=True).stdout

    def type(self, text: str) -> None:
        """Type a text."""
        self._run("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        self._run("send-keys", *keys)

    def text(self) -> str:
        """What the window shows."""
        return self._run("capture-pane", "-p")

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, pattern: str, *, timeout_s: float = WAIT_S) -> str:
        """Wait until the window shows the pattern."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            text = self.text()
            if re.search(pattern, text):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} is not in the window:\n{self.text()}")

    def close(self) -> None:
        """End the server."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("kill-server")
