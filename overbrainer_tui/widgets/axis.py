"""How is the x axis of a chart drawn: its line with ticks, and the steps under it?"""

from __future__ import annotations

from overbrainer_core.text import cell_width
from overbrainer_tui import text
from overbrainer_tui.cells import BRIGHT, DIM, LINE, TEXT, Line, Row, Tone
from overbrainer_tui.charting.scales import XScale, x_ticks
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import CursorShown

NOW_ROOM = 5
"""Cells to the mark of now within which a tick has no label."""


def axis_row(scale: XScale, width: int, look: Look) -> Row:
    """The line of the axis: a tick at both ends and at every round step."""
    line = Line(width)
    line.fill(0, width, look.glyphs.hairline, LINE)
    for column in (0, *(scale.cell(tick) for tick in x_ticks(scale, width)), width - 1):
        line.put(column, look.glyphs.tick, LINE)
    return line.row()


def tick_row(scale: XScale, width: int, *, now: int | None, cursor: CursorShown | None) -> Row:
    """`step 0`, round steps, the step of now and of the cursor, the last step in full; no two touch."""
    line = Line(width)
    taken: list[tuple[int, int]] = []

    def place(column: int, label: str, tone: Tone, apart: int = 1) -> None:
        column = max(0, min(width - cell_width(label), column))
        end = column + cell_width(label)
        if all(end + apart <= start or column >= stop + apart for start, stop in taken):
            line.put(column, label, tone)
            taken.append((column, end))

    def centred(step: float, label: str) -> int:
        return scale.cell(step) - cell_width(label) // 2

    if cursor is not None:
        label = f" {cursor.step} "
        place(centred(cursor.step, label), label, BRIGHT.over("raised"))
    first = f"step {text.axis_step(scale.start, is_last=True)}"
    last = text.axis_step(scale.end, is_last=True)
    if now is not None and now < scale.end:
        label = text.axis_step(now, is_last=True)
        place(centred(now, label), label, TEXT)
    place(0, first, DIM)
    place(width - len(last), last, DIM)
    for tick in x_ticks(scale, width):
        if now is None or abs(scale.cell(tick) - scale.cell(now)) >= NOW_ROOM:
            label = text.axis_step(tick)
            place(centred(tick, label), label, DIM, apart=2)
    return line.row()
