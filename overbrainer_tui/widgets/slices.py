"""How is a part of a drawn row taken?"""

from __future__ import annotations

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import Row, Span, join, slice_cells


def part_of(row: Row, start: int, end: int) -> Row:
    """The columns of a row from `start` up to `end`; half of a wide character becomes a blank."""
    spans: list[Span] = []
    at = 0
    for span in row:
        cells = cell_width(span.text)
        if at + cells > start and at < end:
            spans.append(Span(slice_cells(span.text, max(0, start - at), min(cells, end - at)), span.tone))
        at += cells
    return join(spans)
