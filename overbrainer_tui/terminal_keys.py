"""Which keys, pastes and mouse reports are in what a terminal sent?

Takes what `terminal_input` lets through: characters, whole key sequences and mouse reports, bracketed pastes that may
come in pieces. A sequence that names no key of ours is left out, so is a character combined with Alt; so are buttons
that do nothing here, and all with Shift, which are the terminal's own (it selects text).
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from enum import StrEnum

from msgspec import Struct

from overbrainer_tui.terminal_input import ESC, PASTE_END, PASTE_START

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:]*)([A-Za-z~])|O([A-Za-z]))")
_REPORT = re.compile(r"\x1b\[<(\d+);(\d+);(\d+)([Mm])")

_FINALS = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "H": "home",
    "F": "end",
    "Z": "shift+tab",
}
_NUMBERS = {"1": "home", "3": "delete", "4": "end", "5": "pageup", "6": "pagedown", "7": "home", "8": "end"}
_CONTROLS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", ESC: "escape"}


class TypedKey(Struct, frozen=True):
    """A key by its name; `character` when it types one."""

    name: str
    character: str | None = None


class Pasted(Struct, frozen=True):
    """A whole paste."""

    text: str


class PointerKind(StrEnum):
    """What the mouse did."""

    CLICK = "click"
    """The left button went down."""
    MOVE = "move"
    WHEEL_UP = "wheel_up"
    WHEEL_DOWN = "wheel_down"


class Pointer(Struct, frozen=True):
    """What the mouse did at a cell, counted from 0; a cell may lie outside of the screen while it is resized."""

    kind: PointerKind
    x: int
    y: int


_MOVED = 32
_MODIFIERS = 4 | 8 | 16
_BUTTONS = {0: PointerKind.CLICK, 64: PointerKind.WHEEL_UP, 65: PointerKind.WHEEL_DOWN}

Found = TypedKey | Pasted | Pointer


class KeyReader:
    """Turns what a terminal sent into keys, pastes and what the mouse did."""

    def __init__(self) -> None:
        self._paste: str | None = None

    def read(self, text: str) -> Iterator[Found]:
        """What is complete with this text."""
        while text:
            if self._paste is not None:
                text = yield from self._in_paste(text)
            elif text.startswith(PASTE_START):
                self._paste = ""
                text = text[len(PASTE_START) :]
            elif text == ESC:
                yield TypedKey("escape")
                return
            elif text.startswith(ESC):
                text = yield from self._sequence(text)
            else:
                key = _typed(text[0])
                if key is not None:
                    yield key
                text = text[1:]

    def _in_paste(self, text: str) -> Generator[Found, None, str]:
        """Take the paste up to its end; the text after it."""
        self._paste = (self._paste or "") + text
        found = self._paste.find(PASTE_END)
        if found < 0:
            return ""
        pasted, rest = self._paste[:found], self._paste[found + len(PASTE_END) :]
        self._paste = None
        yield Pasted(pasted)
        return rest

    def _sequence(self, text: str) -> Generator[Found, None, str]:
        """Take a key sequence, a mouse report, or a character with Alt; the text after it."""
        report = _REPORT.match(text)
        if report is not None:
            pointer = _pointer(report)
            if pointer is not None:
                yield pointer
            return text[report.end() :]
        match = _SEQUENCE.match(text)
        if match is None:
            if text.startswith(ESC * 2):
                yield TypedKey("escape")
                return text[1:]
            return text[2:]
        name = _named(match)
        if name is not None:
            yield TypedKey(name)
        return text[match.end() :]


def _named(match: re.Match[str]) -> str | None:
    """The key of a sequence; with a modifier other than Shift it is none of ours."""
    parameters, final, function = match.groups()
    if function is not None:
        return _FINALS.get(function)
    numbers = parameters.split(";")
    if len(numbers) > 1 and numbers[1] not in ("", "1", "2"):
        return None
    return _NUMBERS.get(numbers[0]) if final == "~" else _FINALS.get(final)


def _pointer(match: re.Match[str]) -> Pointer | None:
    """What a mouse report says; None for what does nothing here."""
    button, x, y = (min(int(number), 1 << 20) for number in match.group(1, 2, 3))
    if button & _MODIFIERS or not x or not y:
        return None
    kind = PointerKind.MOVE if button & _MOVED else _BUTTONS.get(button)
    is_release = match.group(4) == "m"
    return None if kind is None or is_release else Pointer(kind, x - 1, y - 1)


def _typed(char: str) -> TypedKey | None:
    """The key of a character: itself, a word for some controls, `ctrl+x` for the others."""
    if char in _CONTROLS:
        return TypedKey(_CONTROLS[char])
    if "\x01" <= char <= "\x1a":
        return TypedKey(f"ctrl+{chr(ord(char) + 96)}")
    return TypedKey(char, char) if char.isprintable() else None
