"""How is a panel begun: a title on a hairline, column headers on it, meta at its right end?"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import BRIGHT, DIM, LINE, Line, Row, Span, Tone, width_of
from overbrainer_tui.look import Look

MIN_HAIRLINE = 5
"""Free cells between two words of a title from which the hairline shows there."""

FOCUSED_TITLE = Tone("accent_hi", "bold")
FOCUSED_LINE = Tone("accent_lo")


def title_row(
    width: int,
    title: str,
    look: Look,
    *,
    note: str | Sequence[Span] = "",
    meta: Sequence[Span] = (),
    headers: Sequence[tuple[int, str]] = (),
    focused: bool = False,
) -> Row:
    """A panel's title row from its left edge: title, dim note beside it, words over columns, meta at the right end.

    `headers` are (column, word). The hairline fills every gap of five cells and more, a blank kept at each side.
    """
    notes = [Span(note, DIM)] if isinstance(note, str) else list(note)
    words: list[tuple[int, list[Span]]] = [(0, [Span(title, FOCUSED_TITLE if focused else BRIGHT)])]
    if width_of(notes):
        words.append((cell_width(title) + 1, notes))
    words += [(column, [Span(word, DIM)]) for column, word in headers]
    if meta:
        words.append((max(0, width - width_of(list(meta))), list(meta)))
    line = Line(width)
    end = 0
    for column, spans in words:
        _hairline(line, end, column, focused=focused, look=look)
        end = line.spans(column, spans)
    _hairline(line, end, width + 1, focused=focused, look=look)
    return line.row()


def _hairline(line: Line, start: int, end: int, *, focused: bool, look: Look) -> None:
    """The hairline in the gap from `start` up to `end`, where the gap is wide enough."""
    if start and end - start >= MIN_HAIRLINE:
        line.fill(start + 1, min(end - 1, line.width), look.glyphs.hairline, FOCUSED_LINE if focused else LINE)
