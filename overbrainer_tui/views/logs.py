"""The Logs view: our own lines with time, level and area, or the lines of a run's job.

Only the lines on screen are drawn. A line stays on one row; what does not fit is cut with a mark and read to its end by
shifting. Every text is data: controls are shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.text import cell_width
from overbrainer_tui import text
from overbrainer_tui.cells import BRIGHT, DIM, FAINT, TEXT, Line, Row, Span, Tone, blank, shown, slice_cells
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import OnLines, Piece, Place
from overbrainer_tui.view_models.snapshots import LARGE_ROWS, LogRow, LogSource, LogsShown
from overbrainer_tui.widgets.board import Board
from overbrainer_tui.widgets.panel import title_row

MARGIN = 2
WIDE_COLUMNS = 120
_LEVEL = 10
_AREA = 17
_NARROW_AREA, _WIDE_AREA = 8, 20
_LEVEL_TONES = {"WARN": Tone("warn", "bold"), "ERROR": Tone("err_word", "bold")}
_LOUD = Tone("bright")


def logs_pieces(shown_logs: LogsShown, width: int, height: int, look: Look) -> list[Piece]:
    """The view as pieces: title, lines."""
    is_large = height + 2 >= LARGE_ROWS
    y, bottom = (1, height - 1) if is_large else (0, height)
    room = width - 2 * MARGIN
    title = _title(shown_logs, room, look)
    count = bottom - y - 1
    lines = shown_logs.rows[-count:] if count > 0 else ()
    area = _WIDE_AREA if width >= WIDE_COLUMNS else _NARROW_AREA
    rows = [_line(row, room, area, shown_logs.shift, look) for row in lines]
    head = [_note_row(shown_logs.note, room, look)] if len(rows) < count else []
    rows = [*head, *rows][:count]
    rows += [blank(room)] * (count - len(rows))
    pieces = [Piece(name="title", x=MARGIN, y=y, width=room, rows=(title,))]
    if rows:
        pieces.append(Piece(name="lines", x=MARGIN, y=y + 1, width=room, rows=tuple(rows)))
    return pieces


def _title(logs: LogsShown, width: int, look: Look) -> Row:
    """`Logs INFO and above ───── 4 newer lines below: G follows`."""
    note = f"{logs.level} and above" if logs.source is LogSource.OWN else f"job of run {shown(logs.run_id or '')}"
    meta: list[Span] = []
    if logs.newer:
        noun = "line" if logs.newer == 1 else "lines"
        meta = [Span(f"{logs.newer} newer {noun} below: ", TEXT), Span("G", BRIGHT), Span(" follows", DIM)]
    return title_row(width, "Logs", look, note=note, meta=meta, focused=True)


def _note_row(note: str, width: int, look: Look) -> Row:
    line = Line(width)
    line.put(0, shown(note), DIM, mark=look.glyphs.cut)
    return line.row()


def _line(row: LogRow, width: int, area_cells: int, shift: int, look: Look) -> Row:
    line = Line(width)
    cut = look.glyphs.cut
    column = 0
    tone = TEXT
    if row.time is not None:
        line.put(0, text.clock(row.time), FAINT)
        line.put(_LEVEL, row.level, _LEVEL_TONES.get(row.level, DIM), room=5)
        line.put(_AREA, shown(row.area), DIM, room=area_cells, mark=cut)
        column = _AREA + area_cells + 2
        tone = _LOUD if row.level in _LEVEL_TONES else TEXT
    words = shown(row.text)
    if shift:
        rest = slice_cells(words, shift, cell_width(words))
        words = cut + rest[1:] if rest else cut
    line.put(column, words, tone, mark=cut)
    return line.row()


class LogsView(Board[LogsShown]):
    """View 5."""

    def pieces(self, content: LogsShown, width: int, height: int) -> Sequence[Piece]:
        """The view's pieces at a size."""
        return logs_pieces(content, width, height, self.look)

    def place_at(self, x: int, y: int) -> Place | None:
        """The wheel scrolls wherever it is turned."""
        return OnLines()
