"""What is a drawn row, and how are texts put at columns of it?

A row is a tuple of spans, a span is a text and its tone; a tone names a role, a weight and the ground under it, never a
colour: the palette turns tones into styles. Nothing here knows a terminal. A row is exactly as wide as asked, no wide
character is halved, texts that are not ours go through `shown` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from overbrainer_core.text import cell_width, char_width, cut, escape_controls

Role = Literal[
    "text", "bright", "dim", "faint", "hist", "line", "grid", "gauge",
    "accent", "accent_hi", "accent_lo", "ok", "warn", "err", "err_word", "info",
    "train", "raw", "eval", "lr", "gn",
]  # fmt: skip
"""What a text is. `err_word` is the word beside an error mark, which loses its colour where it could not be read."""

Ground = Literal["bg", "surface", "raised", "sel", "sel_idle", "tab"]
"""What is painted under a text. `tab` is the name of the selected tab: raised where grounds are painted."""

Weight = Literal["", "bold", "italic", "strike", "reverse"]


class Tone(NamedTuple):
    """How a text looks: role, weight, ground."""

    role: Role = "text"
    weight: Weight = ""
    on: Ground = "bg"

    def over(self, ground: Ground) -> Tone:
        """The same tone on another ground."""
        return Tone(self.role, self.weight, ground)


TEXT = Tone("text")
BRIGHT = Tone("bright", "bold")
DIM = Tone("dim")
FAINT = Tone("faint")
LINE = Tone("line")
ACCENT = Tone("accent")
OK = Tone("ok")
WARN = Tone("warn")
ERR = Tone("err", "bold")
ERR_WORD = Tone("err_word", "bold")


class Span(NamedTuple):
    """A piece of a row."""

    text: str
    tone: Tone


Row = tuple[Span, ...]

_FORMAT_CHARS = re.compile("[\ufe00-\ufe0f\u200b-\u200d\u2060-\u2064\ufeff\u00ad\U000e0000-\U000e0fff]")


def shown(text: str) -> str:
    """A text that is not ours as it may be drawn: one line, controls visible, widths that terminals agree on."""
    if text.isascii() and text.isprintable():
        return text
    return _FORMAT_CHARS.sub("", escape_controls(text))


def width_of(spans: tuple[Span, ...] | list[Span]) -> int:
    """Cells that the spans take."""
    return sum(cell_width(span.text) for span in spans)


def row_text(row: Row) -> str:
    """The characters of a row, for tests and copies."""
    return "".join(span.text for span in row)


def blank(width: int, on: Ground = "bg") -> Row:
    """An empty row."""
    return (Span(" " * width, Tone("text", "", on)),) if width > 0 else ()


def slice_cells(text: str, start: int, end: int) -> str:
    """The cells from `start` up to `end` of a text; half of a wide character becomes a blank."""
    if text.isascii():
        return text[start:end]
    kept: list[str] = []
    at = 0
    for char in text:
        width = char_width(char)
        if at >= start and at + width <= end and (width or at > start):
            kept.append(char)
        elif width == 2 and at < end and at + 2 > start:
            kept.append(" ")
        at += width
        if at >= end and width:
            break
    return "".join(kept)


def fitting_start(text: str, cells: int) -> str:
    """The start of a text that fits: a path is broken after a separator rather than in a name; one character at least.

    The whole text when it fits.
    """
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > cells:
            head = text[: max(1, index)]
            after = head.rfind("/") + 1
            return head[:after] if after > len(head) // 4 else head
    return text


@dataclass(slots=True)
class _Put:
    start: int
    text: str
    tone: Tone
    cells: int


class Line:
    """One row being drawn: texts at columns, blanks between; what is put later covers what was put before."""

    def __init__(self, width: int, on: Ground = "bg") -> None:
        self.width = width
        self._on = on
        self._puts: list[_Put] = []

    def put(self, column: int, text: str, tone: Tone = TEXT, *, room: int | None = None, mark: str = "…") -> int:
        """Put a text at a column, cut to `room` cells and to the row; the column after it."""
        end = self.width if room is None else min(self.width, column + room)
        text = cut(text, end - column, mark=mark)
        cells = cell_width(text)
        if cells:
            self._puts.append(_Put(column, text, tone, cells))
        return column + cells

    def put_right(self, end: int, text: str, tone: Tone = TEXT) -> int:
        """Put a text so that it ends before column `end`; the column it starts at."""
        start = max(0, end - cell_width(text))
        self.put(start, text, tone, room=end - start)
        return start

    def spans(self, column: int, spans: tuple[Span, ...] | list[Span], *, end: int | None = None) -> int:
        """Put spans one after another, cut at column `end`; the column after them."""
        limit = self.width if end is None else min(end, self.width)
        for span in spans:
            if column >= limit:
                break
            column = self.put(column, span.text, span.tone, room=limit - column)
        return column

    def spans_right(self, end: int, spans: tuple[Span, ...] | list[Span]) -> int:
        """Put spans so that they end before column `end`; the column they start at."""
        start = max(0, end - width_of(spans))
        self.spans(start, spans, end=end)
        return start

    def fill(self, start: int, end: int, glyph: str, tone: Tone) -> None:
        """Repeat a one-cell glyph from `start` up to `end`."""
        if end > start:
            self.put(start, glyph * (end - start), tone)

    def row(self) -> Row:
        """The row, exactly as wide as asked, neighbours of one tone joined."""
        pieces: list[_Put] = []
        for put in self._puts:
            pieces = [kept for piece in pieces for kept in _without(piece, put)]
            pieces.append(put)
        pieces.sort(key=lambda piece: piece.start)
        spans: list[Span] = []
        at = 0
        ground = Tone("text", "", self._on)
        for piece in pieces:
            if piece.start > at:
                spans.append(Span(" " * (piece.start - at), ground))
            tone = piece.tone if piece.tone.on != "bg" else piece.tone.over(self._on)
            spans.append(Span(piece.text, tone))
            at = piece.start + piece.cells
        if at < self.width:
            spans.append(Span(" " * (self.width - at), ground))
        return join(spans)


def _without(piece: _Put, cover: _Put) -> list[_Put]:
    """What is left of a piece under a cover."""
    end, cover_end = piece.start + piece.cells, cover.start + cover.cells
    if cover_end <= piece.start or cover.start >= end:
        return [piece]
    left: list[_Put] = []
    if piece.start < cover.start:
        text = slice_cells(piece.text, 0, cover.start - piece.start)
        left.append(_Put(piece.start, text, piece.tone, cover.start - piece.start))
    if end > cover_end:
        text = slice_cells(piece.text, cover_end - piece.start, piece.cells)
        left.append(_Put(cover_end, text, piece.tone, end - cover_end))
    return left


def join(spans: list[Span]) -> Row:
    """The spans as a row: neighbours of one tone become one, blanks take the tone before them on the same ground."""
    joined: list[Span] = []
    for span in spans:
        if joined and _merges(joined[-1], span):
            joined[-1] = Span(joined[-1].text + span.text, joined[-1].tone)
        else:
            joined.append(span)
    return tuple(joined)


def _merges(before: Span, span: Span) -> bool:
    if before.tone == span.tone:
        return True
    if before.tone.on != span.tone.on or not span.text.isspace():
        return False
    # A struck, reversed or underlined blank would be seen; every other blank shows its ground only.
    return not (_is_seen(before.tone) or _is_seen(span.tone))


def _is_seen(tone: Tone) -> bool:
    """Whether a blank of this tone shows more than its ground."""
    return tone.weight in ("strike", "reverse") or tone.role in ("err", "err_word")
