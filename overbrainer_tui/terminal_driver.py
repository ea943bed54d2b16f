"""How does the app talk to the terminal without ever waiting for it?

Output goes to standard output by a thread of its own: a terminal that stalls delays drawing and nothing else, one that
falls far behind is repainted in full later. Input passes the filter of `terminal_input`. A failed read, a failed write
and a closed input are told once. SIGTSTP gives the terminal back before the process stops, SIGCONT takes it again.
The mouse is asked for in one form, and switched off before the input is read for the last time: no report of it is left
to a shell.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import termios
import threading
import time
import tty
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import IO, Any, ClassVar

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from overbrainer_tui.messages import Pointed
from overbrainer_tui.terminal_input import InputFilter
from overbrainer_tui.terminal_keys import Found, KeyReader, Pasted, Pointer, PointerKind

BACKLOG_CHARS = 1 << 20
"""Characters that may wait for a slow terminal; beyond it what is drawn is dropped and repainted later."""

_TAKE = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?7l"
"""Alternate screen, no cursor, bracketed paste, no wrapping."""

_GIVE_BACK = "\x1b[0m\x1b[?7h\x1b[?2004l\x1b[?1049l\x1b[?25h"
"""The reverse, in a shell's own colours."""

_MOUSE_ON = "\x1b[?1000h\x1b[?1003h\x1b[?1006h"
"""Buttons and wheel, moves without a button too, as decimal numbers."""

_MOUSE_OFF = "\x1b[?1006l\x1b[?1003l\x1b[?1000l"

MOUSE_RECENT_S = 0.5
"""Seconds after a mouse report in which more may be on their way."""

MOUSE_QUIET_S = 0.05
"""Seconds that these are given to arrive, once the mouse is off, before the terminal is the shell's again."""


class OutputThread(threading.Thread):
    """Writes to the terminal; `write` never waits.

    `on_broken` is called once when a write failed, `on_drained` after output had to be dropped and all else is written.
    """

    def __init__(self, descriptor: int, *, on_broken: Callable[[BaseException], None], on_drained: Callable[[], None]):
        super().__init__(daemon=True, name="terminal-output")
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._on_drained = on_drained
        self._ready = threading.Condition()
        self._waiting: list[str] = []
        self._waiting_chars = 0
        self._has_dropped = False
        self._is_stopping = False
        self._is_broken = False

    def write(self, text: str) -> None:
        """Hand text over; dropped when the terminal is far behind or gone."""
        with self._ready:
            if self._is_broken:
                return
            if self._has_dropped or self._waiting_chars > BACKLOG_CHARS:
                self._has_dropped = True
                return
            self._waiting.append(text)
            self._waiting_chars += len(text)
            self._ready.notify()

    def run(self) -> None:
        """Write until stopped."""
        while True:
            with self._ready:
                while not self._waiting and not self._is_stopping:
                    self._ready.wait()
                if not self._waiting:
                    return
                text, self._waiting, self._waiting_chars = "".join(self._waiting), [], 0
            try:
                self._write(text.encode("utf-8", "replace"))
            except OSError as error:
                self._break(error)
                return
            with self._ready:
                is_drained = self._has_dropped and not self._waiting
                self._has_dropped = self._has_dropped and not is_drained
            if is_drained:
                self._on_drained()

    def _write(self, data: bytes) -> None:
        """Write to the descriptor itself: what a lost terminal did not take must not wait in a buffer for the exit."""
        while data:
            data = data[os.write(self._descriptor, data) :]

    def _break(self, error: BaseException) -> None:
        with self._ready:
            self._is_broken = True
            self._waiting.clear()
        self._on_broken(error)

    def stop(self) -> None:
        """Write what waits, then end; a terminal that takes nothing is not waited for beyond a second."""
        with self._ready:
            self._is_stopping = True
            self._has_dropped = False
            self._ready.notify()
        self.join(timeout=1.0)


class TerminalDriver(LinuxDriver):
    """The driver of the app; `on_broken` is told when the terminal failed, `has_mouse` asks for the mouse.

    Both are set before the app runs.
    """

    on_broken: ClassVar[Callable[[BaseException], None] | None] = None
    has_mouse: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._screen: IO[str] = sys.__stdout__ or sys.__stderr__ or sys.stdout
        self._output: OutputThread | None = None
        self._is_suspended = False
        self._is_stop_wanted = False
        self._pointed_at = float("-inf")
        self._wake_read, self._wake_write = os.pipe()

    def write(self, data: str) -> None:
        """Write to the terminal, unless it was given back."""
        if self._output is not None:
            self._output.write(data)

    def flush(self) -> None:
        """Nothing to do: the thread flushes."""

    def _get_terminal_size(self) -> tuple[int, int]:
        """Columns and rows, by the terminal itself: a variable may be of another one."""
        try:
            columns, rows = os.get_terminal_size(self._screen.fileno())
        except (OSError, ValueError):
            return 80, 24
        return columns or 80, rows or 24

    # Taking and giving back

    def start_application_mode(self) -> None:
        """Take the terminal: raw, its other screen, no cursor. It is asked nothing."""
        self._output = OutputThread(self._screen.fileno(), on_broken=self._tell_broken, on_drained=self._repaint)
        self._output.start()
        signal.signal(signal.SIGWINCH, self._on_resize)
        self._take()
        self.exit_event.clear()
        self._key_thread = threading.Thread(target=self._run_input_thread, name="terminal-input", daemon=True)
        self._key_thread.start()
        self._on_resize()

    def _take(self) -> None:
        self.write(_TAKE)
        self._make_raw()
        if self.has_mouse:
            self.write(_MOUSE_ON)

    def _make_raw(self) -> None:
        with contextlib.suppress(termios.error):
            before = termios.tcgetattr(self.fileno)
            if self.attrs_before is None:
                self.attrs_before = before
            raw = termios.tcgetattr(self.fileno)
            raw[tty.LFLAG] = self._patch_lflag(raw[tty.LFLAG])
            raw[tty.IFLAG] = self._patch_iflag(raw[tty.IFLAG])
            raw[tty.CC][termios.VMIN] = 1
            termios.tcsetattr(self.fileno, termios.TCSANOW, raw)

    def _on_resize(self, *_: object) -> None:
        size = Size(*self._get_terminal_size())
        if not self._loop.is_closed():
            self.send_message(events.Resize(size, size))

    def disable_input(self) -> None:
        """Stop reading."""
        if self.exit_event.is_set() or self._key_thread is None:
            return
        if self.has_mouse:
            self.write(_MOUSE_OFF)
        self.exit_event.set()
        os.write(self._wake_write, b".")
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        if self._key_thread is not threading.current_thread():
            self._key_thread.join(timeout=1.0)
        self._key_thread = None
        with contextlib.suppress(termios.error):
            termios.tcflush(self.fileno, termios.TCIFLUSH)

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was; repeating it does nothing."""
        self.disable_input()
        if self._output is None:
            return
        self.write(f"{_MOUSE_OFF if self.has_mouse else ''}{_GIVE_BACK}")
        self.close()
        if time.monotonic() - self._pointed_at < MOUSE_RECENT_S:
            time.sleep(MOUSE_QUIET_S)
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error):
                termios.tcflush(self.fileno, termios.TCIFLUSH)
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)

    def close(self) -> None:
        """Write what waits and stop writing."""
        output, self._output = self._output, None
        if output is not None:
            output.stop()

    # Stopping and going on

    def _sigtstp_application(self, *_: object) -> None:
        """Stop at the loop's next turn: what is interrupted here may hold the lock that the last output needs."""
        self._is_stop_wanted = True
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._stop_now)
        else:
            self._stop_now()

    def _stop_now(self) -> None:
        """Give the terminal back, then stop; not when the process was told to go on meanwhile."""
        if not self._is_stop_wanted:
            return
        self._is_stop_wanted = False
        if self._output is not None:
            self._is_suspended = True
            self.stop_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again, once this process is in the foreground."""
        self._is_stop_wanted = False
        if not self._is_foreground():
            return
        if self._is_suspended:
            self._is_suspended = False
            self.start_application_mode()
        elif self._output is not None:
            # stopped by SIGSTOP: the screen was never left, but the shell wrote over it and set its own modes
            self._take()
        self._repaint()

    def _is_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) == os.getpgrp()
        except OSError:
            return True

    def _tell_broken(self, error: BaseException) -> None:
        callback = type(self).on_broken
        if callback is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, error)

    def _repaint(self) -> None:
        """Draw everything again, from whichever thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(repaint, self._app)

    # Input

    def run_input_thread(self) -> None:
        """Read keys until told to end; what the terminal answers and reports is taken out.

        It sleeps until something arrives, or until a held ESC must be a key.
        """
        decode = getincrementaldecoder("utf-8")("surrogateescape").decode
        typed, keys = InputFilter(has_mouse=self.has_mouse), KeyReader()
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(typed.wait_s)}
                if self._wake_read in ready:
                    os.read(self._wake_read, 64)
                    continue
                now = time.monotonic()
                if self.fileno not in ready:
                    self._hand_over(keys, typed.idle(now))
                    continue
                try:
                    read = os.read(self.fileno, 4096)
                except OSError as error:
                    self._tell_broken(error)
                    return
                if not read:
                    self._tell_broken(EOFError("the terminal's input was closed"))
                    return
                self._hand_over(keys, typed.feed(decode(read), now))

    def _hand_over(self, keys: KeyReader, pieces: Iterable[str]) -> None:
        for found in without_passed_moves([found for piece in pieces for found in keys.read(piece)]):
            match found:
                case Pasted():
                    self.process_message(events.Paste(found.text))
                case Pointer():
                    self._pointed_at = time.monotonic()
                    self.process_message(Pointed(found))
                case _:
                    self.process_message(events.Key(found.name, found.character))


def without_passed_moves(found: list[Found]) -> list[Found]:
    """Of moves of the mouse one after another only the last."""
    kept = [one for one, after in pairwise(found) if not (_is_move(one) and _is_move(after))]
    return [*kept, *found[-1:]]


def _is_move(found: Found) -> bool:
    return isinstance(found, Pointer) and found.kind is PointerKind.MOVE


def repaint(app: Any) -> None:
    """Draw the whole screen again, as if nothing had been drawn before."""
    if app.is_running and app.screen_stack:
        app.screen.refresh(layout=True)
