"""The Logs view: our own lines with time, level and area, or the lines of a run's job.

Only the lines on screen are drawn. A line stays on one row; what does not fit is cut with a mark and read to its end by
shifting. Every text is data: controls are shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from overbrainer_core.text import cell_width, cut
from overbrainer_tui import text
from overbrainer_tui.cells import (
    BRIGHT,
    DIM,
    FAINT,
    TEXT,
    WARN,
    Line,
    Row,
    Span,
    Tone,
    blank,
    shown,
    slice_cells,
    width_of,
)
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import OnLines, Piece, Place
from overbrainer_tui.view_models.input import OneLineInput
from overbrainer_tui.view_models.snapshots import LARGE_ROWS, LogRow, LogSource, LogsShown, SearchShown
from overbrainer_tui.widgets.board import Board
from overbrainer_tui.widgets.panel import title_row

MARGIN = 2
WIDE_COLUMNS = 120
_LEVEL = 10
_AREA = 17
_NARROW_AREA, _WIDE_AREA = 8, 20
_LEVEL_TONES = {"WARN": Tone("warn", "bold"), "ERROR": Tone("err_word", "bold")}
_LOUD = Tone("bright")
_MATCH = Tone("accent_hi", "bold")
_MIN_SEARCH, _MAX_SEARCH = 8, 32


def logs_pieces(shown_logs: LogsShown, width: int, height: int, look: Look) -> list[Piece]:
    """The view as pieces: title, lines."""
    is_large = height + 2 >= LARGE_ROWS
    y, bottom = (1, height - 1) if is_large else (0, height)
    room = width - 2 * MARGIN
    title = _title(shown_logs, room, look)
    count = bottom - y - 1
    lines = shown_logs.rows[-count:] if count > 0 else ()
    dropped = len(shown_logs.rows) - len(lines)
    area = _WIDE_AREA if width >= WIDE_COLUMNS else _NARROW_AREA
    rows = [_line(row, _Shape(room, area, shown_logs, at + dropped), look) for at, row in enumerate(lines)]
    head = [_note_row(shown_logs.note, room, look)] if len(rows) < count else []
    rows = [*head, *rows][:count]
    rows += [blank(room)] * (count - len(rows))
    pieces = [Piece(name="title", x=MARGIN, y=y, width=room, rows=(title,))]
    if rows:
        pieces.append(Piece(name="lines", x=MARGIN, y=y + 1, width=room, rows=tuple(rows)))
    return pieces


def _title(logs: LogsShown, width: int, look: Look) -> Row:
    """`Logs INFO and above ───── 4 newer lines below: G follows`."""
    words = f"{logs.level} and above" if logs.source is LogSource.OWN else f"job of run {shown(logs.run_id or '')}"
    note = [Span(words, DIM)]
    meta: list[Span] = []
    if logs.newer:
        noun = "line" if logs.newer == 1 else "lines"
        meta = [Span(f"{logs.newer} newer {noun} below: ", TEXT), Span("G", BRIGHT), Span(" follows", DIM)]
    if logs.search is not None:
        taken = len("Logs ") + width_of(note) + (width_of(meta) + 2 if meta else 0)
        note += _search(logs.search, width - taken, look)
    return title_row(width, "Logs", look, note=note, meta=meta, focused=True)


def _search(search: SearchShown, room: int, look: Look) -> list[Span]:
    """`  / text  3 of 17`, in at most `room` cells as long as the text keeps eight."""
    count = f"{search.at} of {search.total}" if search.total else "none" if search.text else ""
    cells = max(_MIN_SEARCH, min(_MAX_SEARCH, room - cell_width(count) - 6))
    spans = [Span("  ", TEXT), Span("/ ", Tone("accent_hi", "bold"))]
    if search.typed is not None:
        before, under, after = OneLineInput(*search.typed).window(cells)
        spans += [Span(shown(before), BRIGHT), Span(under, Tone("bright", "reverse")), Span(shown(after), BRIGHT)]
    else:
        spans.append(Span(cut(shown(search.text), cells, mark=look.glyphs.cut), BRIGHT))
    return [*spans, Span(f"  {count}", DIM if search.total else WARN)] if count else spans


def _note_row(note: str, width: int, look: Look) -> Row:
    line = Line(width)
    line.put(0, shown(note), DIM, mark=look.glyphs.cut)
    return line.row()


class _Shape(Struct, frozen=True):
    """How a line is drawn: cells of the row and of the area, and which row of the lines it is."""

    width: int
    area: int
    logs: LogsShown
    row: int

    @property
    def is_looked_at(self) -> bool:
        """Whether it is the line found that is looked at."""
        return self.logs.search is not None and self.logs.search.row == self.row


def _line(row: LogRow, shape: _Shape, look: Look) -> Row:
    line = Line(shape.width, on="sel" if shape.is_looked_at else "bg")
    mark = look.glyphs.cut
    column = 0
    tone = TEXT
    if row.time is not None:
        line.put(0, text.clock(row.time), FAINT)
        line.put(_LEVEL, row.level, _LEVEL_TONES.get(row.level, DIM), room=5)
        line.put(_AREA, shown(row.area), DIM, room=shape.area, mark=mark)
        column = _AREA + shape.area + 2
        tone = _LOUD if row.level in _LEVEL_TONES else TEXT
    words = shown(row.text)
    if shape.logs.shift:
        rest = slice_cells(words, shape.logs.shift, cell_width(words))
        words = mark + rest[1:] if rest else mark
    words = cut(words, shape.width - column, mark=mark)
    line.put(column, words, tone)
    if shape.logs.search is not None:
        for at, found in _matches(words, shape.logs.search.text):
            line.put(column + at, found, _MATCH)
    return line.row()


def _matches(words: str, wanted: str) -> list[tuple[int, str]]:
    """Where the text stands in the words, in cells, and as it is written there."""
    if not wanted:
        return []
    pattern = re.compile(re.escape(shown(wanted)), re.IGNORECASE)
    return [(cell_width(words[: match.start()]), match.group()) for match in pattern.finditer(words)]


class LogsView(Board[LogsShown]):
    """View 5."""

    def pieces(self, content: LogsShown, width: int, height: int) -> Sequence[Piece]:
        """The view's pieces at a size."""
        return logs_pieces(content, width, height, self.look)

    def place_at(self, x: int, y: int) -> Place | None:
        """The wheel scrolls wherever it is turned."""
        return OnLines()
