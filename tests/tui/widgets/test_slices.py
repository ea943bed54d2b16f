"""Parts of rows have exactly the columns asked for."""

from __future__ import annotations

from overbrainer_tui.cells import DIM, TEXT, Line, row_text, width_of
from overbrainer_tui.widgets.slices import part_of


def test_parts_join_to_the_whole_and_halve_no_wide_character() -> None:
    line = Line(12)
    line.put(0, "ab質c", DIM)
    line.put(7, "xyz", TEXT)
    row = line.row()
    assert row_text(part_of(row, 0, 4)) + row_text(part_of(row, 4, 12)) == row_text(row)
    for start in range(12):
        for end in range(start + 1, 13):
            assert width_of(part_of(row, start, end)) == end - start
