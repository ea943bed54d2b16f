"""Which keys and pastes are in what was typed?

Takes what `terminal_input` lets through: characters, whole key sequences, bracketed pastes that may come in pieces. A
sequence that names no key of ours is left out, so is a character combined with Alt.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from overbrainer_tui.terminal_input import ESC, PASTE_END, PASTE_START

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:]*)([A-Za-z~])|O([A-Za-z]))")

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


@dataclass(frozen=True, slots=True)
class TypedKey:
    """A key by its name; `character` when it types one."""

    name: str
    character: str | None = None


@dataclass(frozen=True, slots=True)
class Pasted:
    """A whole paste."""

    text: str


class KeyReader:
    """Turns typed text into keys and pastes."""

    def __init__(self) -> None:
        self._paste: str | None = None

    def read(self, text: str) -> Iterator[TypedKey | Pasted]:
        """The keys and pastes that are complete with this text."""
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

    def _in_paste(self, text: str) -> Generator[TypedKey | Pasted, None, str]:
        """Take the paste up to its end; the text after it."""
        self._paste = (self._paste or "") + text
        found = self._paste.find(PASTE_END)
        if found < 0:
            return ""
        pasted, rest = self._paste[:found], self._paste[found + len(PASTE_END) :]
        self._paste = None
        yield Pasted(pasted)
        return rest

    def _sequence(self, text: str) -> Generator[TypedKey | Pasted, None, str]:
        """Take a key sequence, or a character with Alt; the text after it."""
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


def _typed(char: str) -> TypedKey | None:
    """The key of a character: itself, a word for some controls, `ctrl+x` for the others."""
    if char in _CONTROLS:
        return TypedKey(_CONTROLS[char])
    if "\x01" <= char <= "\x1a":
        return TypedKey(f"ctrl+{chr(ord(char) + 96)}")
    return TypedKey(char, char) if char.isprintable() else None
