"""How is text that is not ours shown and measured, and how are numbers from outside read?

Text of models, logs and remote machines is data: control characters and direction marks are shown, never
obeyed, width is computed in terminal cells, numbers pass one strict parser (no NaN, infinity, `1_0`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from functools import lru_cache

_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_controls(text: str) -> str:
    """The text on one line with control characters, line separators and direction marks shown.

    ESC becomes `\\u{1b}`, a carriage return `\\r`, a tab `\\t`, a line feed `\\n`; all else stays as it is.
    """
    return _CONTROL.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    char = match.group()
    return short.get(char, f"\\u{{{ord(char):x}}}")


def drop_controls(text: str, *, keep_newlines: bool = False) -> str:
    """The text without control characters and direction marks; tabs become spaces."""
    keep = "\n" if keep_newlines else ""
    text = text.replace("\t", " ")
    if keep_newlines:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(char for char in text if char in keep or not _CONTROL.match(char))


def replace_surrogates(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD, so that it can be written as UTF-8."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one blank, trimmed."""
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def char_width(char: str) -> int:
    """Terminal cells of one character: 0 for combining and format characters, 2 for wide ones, else 1."""
    if char in _BIDI or unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.category(char) == "Cc":
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cell_width(text: str) -> int:
    """Terminal cells that the text takes; an emoji variation selector widens the character before it."""
    if text.isascii() and text.isprintable():
        return len(text)
    width = 0
    for char in text:
        width += 1 if char == "\ufe0f" else char_width(char)
    return width


def cut(text: str, cells: int, *, mark: str = "…") -> str:
    """The text in at most `cells` cells; a text that is too long ends with `mark`, no wide character halved."""
    if cells <= 0:
        return ""
    if cell_width(text) <= cells:
        return text
    room = cells - cell_width(mark)
    kept: list[str] = []
    used = 0
    for char in text:
        width = char_width(char)
        if used + width > room:
            break
        kept.append(char)
        used += width
    return "".join(kept) + mark


def cut_middle(text: str, cells: int, *, mark: str = "…") -> str:
    """The text in at most `cells` cells; a text that is too long loses what stands after its first two thirds."""
    room = cells - cell_width(mark)
    if cell_width(text) <= cells or room < 3:
        return cut(text, cells, mark=mark)
    end = cut(text[::-1], room // 3, mark="")[::-1]
    return cut(text, room - room // 3, mark="") + mark + end


def parse_number(text: str) -> float | None:
    """A finite decimal number, else None: `nan`, `inf`, `1_0`, `0x10`, blanks and the empty text are none."""
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def finite(value: object) -> float | None:
    """A number of a decoded JSON value when it is a finite int or float (a bool is none), else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
