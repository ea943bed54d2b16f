"""Which bytes from a terminal are typed, and which are its answers and reports?

Answers (device attributes, cursor positions, modes, colours, DCS strings), mouse and focus reports are taken out whole,
also when they arrive in pieces: a lone ESC is held back for a moment, since it may be the start of one. What is left
are keys, bracketed pastes and, where the mouse was asked for, its reports in the one form asked for, in their order.

Text is decoded with `surrogateescape`: an old mouse report has bytes that are no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

ESC = "\x1b"
BEL = "\x07"

HOLD_S = 0.08
"""Seconds that a lone ESC is held back: a report split after it arrives within 50 ms."""

GIVE_UP_S = 0.5
"""Seconds after which an answer whose end never came is dropped."""

LONGEST = 256
"""Characters of an answer that are kept while its end is waited for: no key has as many."""

PASTE_START = "\x1b[200~"
PASTE_END = "\x1b[201~"

_INTRODUCERS = frozenset("[O]PX^_")
"""What makes a lone ESC the start of a sequence that was split after it."""

_KEY_FINALS = frozenset("ABCDEFHPQSZ~u")

_MOUSE = re.compile(r"\x1b\[<\d+;\d+;\d+[Mm]")
"""A mouse report in the form of mode 1006."""

_TORN_STARTS = ("[<", "[M", "[?", "[>")
"""How the rest of a report begins whose ESC came so long before that it was taken for a key: nobody types both at
once."""

TORN_S = 1.0
"""Seconds after such an ESC in which a rest is looked for."""


class _In(Enum):
    GROUND = "ground"
    ESC = "esc"
    CSI = "csi"
    SS3 = "ss3"
    STRING = "string"
    STRING_ESC = "string_esc"
    MOUSE = "mouse"
    PASTE = "paste"


class InputFilter:
    """Takes what a terminal sends, gives what was typed.

    `feed` and `idle` yield pieces of text for a key parser; a held ESC that was a key is given as ESC alone. With
    `has_mouse` the mouse's reports are among them, each whole.
    """

    def __init__(self, *, has_mouse: bool = False) -> None:
        self._has_mouse = has_mouse
        self._lone_at = float("-inf")
        self._in = _In.GROUND
        self._held = ""
        self._skip = 0
        self._since = 0.0

    @property
    def wait_s(self) -> float | None:
        """Seconds after which `idle` has something to say if nothing more arrives, None when it has not."""
        match self._in:
            case _In.GROUND | _In.PASTE:
                return None
            case _In.ESC:
                return HOLD_S
            case _:
                return GIVE_UP_S

    def feed(self, text: str, now: float) -> Iterator[str]:
        """Take what arrived at `now` (monotonic seconds)."""
        yield from self.idle(now)
        if self._in is _In.ESC and text and text[0] not in _INTRODUCERS:
            # a key pressed soon after Escape; with Alt both would have come together
            self._reset()
            yield ESC
        if self._in is _In.GROUND and now - self._lone_at < TORN_S and text.startswith(_TORN_STARTS):
            self._in, self._held = _In.ESC, ESC
        out: list[str] = []
        for char in text:
            typed = self._take(char)
            if typed:
                out.append(typed)
        self._since = now
        if out:
            yield "".join(out).encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def idle(self, now: float) -> Iterator[str]:
        """Nothing arrived until `now`: a held ESC becomes a key, an answer without an end is dropped."""
        wait_s = self.wait_s
        if wait_s is None or now - self._since < wait_s:
            return
        is_key = self._in is _In.ESC
        self._reset()
        if is_key:
            self._lone_at = now
            yield ESC

    def _reset(self) -> None:
        self._in = _In.GROUND
        self._held = ""

    def _take(self, char: str) -> str:
        """Take a character; the text that is known to be typed now."""
        match self._in:
            case _In.GROUND:
                if char != ESC:
                    return char
                self._in = _In.ESC
                self._held = ESC
                return ""
            case _In.ESC:
                return self._after_esc(char)
            case _In.CSI:
                return self._in_csi(char)
            case _In.SS3:
                typed = self._held + char
                self._reset()
                return "" if char in "IO" else typed
            case _In.STRING | _In.STRING_ESC:
                return self._in_string(char)
            case _In.MOUSE:
                # three bytes, two of which may look like one character
                self._skip -= len(char.encode("utf-8", "surrogateescape"))
                if self._skip <= 0:
                    self._reset()
                return ""
            case _In.PASTE:
                return self._in_paste(char)

    def _after_esc(self, char: str) -> str:
        match char:
            case "[":
                self._in = _In.CSI
            case "O":
                self._in = _In.SS3
            case "]" | "P" | "X" | "^" | "_":
                self._in = _In.STRING
            case "\x1b":
                return ESC  # the first was a key, the second is held in its place
            case _:
                typed = self._held + char
                self._reset()
                return typed
        self._held += char
        return ""

    def _in_csi(self, char: str) -> str:
        if char == ESC:
            # the answer broke off: what follows begins anew
            self._in, self._held = _In.ESC, ESC
            return ""
        if len(self._held) <= LONGEST:
            self._held += char
        if self._held == "\x1b[M":
            self._in, self._skip = _In.MOUSE, 3
            return ""
        if "\x40" <= char <= "\x7e":
            sequence = self._held
            self._reset()
            if sequence == PASTE_START:
                self._in = _In.PASTE
                return sequence
            is_wanted = _is_key(sequence) or (self._has_mouse and _MOUSE.fullmatch(sequence) is not None)
            return sequence if is_wanted else ""
        if not "\x20" <= char <= "\x3f":
            self._reset()
        return ""

    def _in_string(self, char: str) -> str:
        if char == BEL or (self._in is _In.STRING_ESC and char == "\\"):
            self._reset()
        elif char == ESC:
            self._in = _In.STRING_ESC
        elif self._in is _In.STRING_ESC:
            # ESC that ends no string: the string broke off, and a sequence begins
            self._in, self._held = _In.ESC, ESC
            return self._after_esc(char)
        return ""

    def _in_paste(self, char: str) -> str:
        self._held = (self._held + char)[-len(PASTE_END) :]
        if self._held == PASTE_END:
            self._reset()
        return char


def _is_key(sequence: str) -> bool:
    """Whether a whole CSI sequence is a key."""
    body, final = sequence[2:-1], sequence[-1]
    if len(sequence) > LONGEST or final not in _KEY_FINALS or body[:1] in ("?", ">", "<", "="):
        return False
    return all(char.isdigit() or char in ";:" for char in body)
