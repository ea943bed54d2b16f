"""Of which parts is a view made, what changed in one of them, and what can be pointed at there?

A piece is a rectangle of rows with a name and a place; each becomes a widget of its own, so that what changes often
sits at the left edge of one. Nothing here knows a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import Line, Row, row_text


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a view: its place in the view, and its rows, each `width` cells wide."""

    name: str
    x: int
    y: int
    width: int
    rows: tuple[Row, ...]


class OnKey(Struct, frozen=True):
    """Something that does what a key does: a tab, an answer of a dialog."""

    key: str


class OnRuns(Struct, frozen=True):
    """The table of runs; `run_id` of the row, None beside the rows."""

    run_id: str | None = None


class OnChart(Struct, frozen=True):
    """A chart; `step` is the nearest one that has a point, None where the curve has not come yet."""

    step: int | None = None


class OnLines(Struct, frozen=True):
    """The lines of the log."""


class OnEntries(Struct, frozen=True):
    """A list of the palette or the menu; `index` of the entry, None beside the entries."""

    index: int | None = None


Place = OnKey | OnRuns | OnChart | OnLines | OnEntries
"""What widgets and dialogs answer for a cell."""


def text_of(pieces: Sequence[Piece], width: int, height: int) -> list[str]:
    """Pieces as lines of text, for tests and copies; what is between them is blank."""
    lines = [Line(width) for _ in range(height)]
    for piece in pieces:
        for y, row in enumerate(piece.rows, piece.y):
            if 0 <= y < height:
                lines[y].spans(piece.x, row, end=piece.x + piece.width)
    return [row_text(line.row()) for line in lines]


def changed_cells(before: Row, after: Row) -> tuple[int, int]:
    """Columns from the first changed cell up to the end of the last changed one, of two rows of one width."""
    start = 0
    for first, second in zip(before, after, strict=False):
        if first != second:
            if first.tone == second.tone:
                start += _common_cells(first.text, second.text)
            break
        start += cell_width(first.text)
    end = max(sum(cell_width(span.text) for span in row) for row in (before, after))
    for first, second in zip(reversed(before), reversed(after), strict=False):
        if first != second:
            if first.tone == second.tone:
                end -= _common_cells(first.text[::-1], second.text[::-1])
            break
        end -= cell_width(first.text)
    return start, max(end, start + 1)


def _common_cells(first: str, second: str) -> int:
    """Cells of the longest common start, one-cell characters only."""
    cells = 0
    for a, b in zip(first, second, strict=False):
        if a != b or not (a.isascii() or cell_width(a) == 1):
            break
        cells += 1
    return cells
