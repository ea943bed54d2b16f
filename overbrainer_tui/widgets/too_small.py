"""What is shown on a terminal smaller than 80x24? Two centred lines, nothing else."""

from __future__ import annotations

from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Span, Tone, blank, width_of

MIN_COLUMNS, MIN_ROWS = 80, 24


def is_too_small(width: int, height: int) -> bool:
    """Whether the views do not fit."""
    return width < MIN_COLUMNS or height < MIN_ROWS


def too_small_rows(width: int, height: int) -> tuple[Row, ...]:
    """The whole screen with the two lines; fewer words where the sizes would be cut."""
    first = [
        Span("terminal too small: ", TEXT),
        Span(f"{MIN_COLUMNS}x{MIN_ROWS}", BRIGHT),
        Span(" needed, this one is ", TEXT),
        Span(f"{width}x{height}", Tone("accent_hi", "bold")),
    ]
    if width_of(first) > width:
        first = [Span(f"needs {MIN_COLUMNS}x{MIN_ROWS}, is ", TEXT), first[-1]]
    rows = [blank(width)] * height
    top = max(0, height // 2 - 1)
    for y, spans in ((top, first), (top + 1, [Span("q", BRIGHT), Span(" quits", DIM)])):
        if y < height:
            line = Line(width)
            line.spans(max(0, (width - width_of(spans)) // 2), spans)
            rows[y] = line.row()
    return tuple(rows)
