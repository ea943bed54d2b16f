"""A terminal that is too small shows two centred lines with its real size."""

from __future__ import annotations

import pytest

from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.widgets.too_small import is_too_small, too_small_rows


def test_two_lines_in_the_middle() -> None:
    rows = too_small_rows(60, 18)
    lines = [row_text(row) for row in rows]
    assert lines[8] == "    terminal too small: 80x24 needed, this one is 60x18     "
    assert lines[9].strip() == "q quits"
    assert lines[9].index("q") == 26
    assert all(not line.strip() for n, line in enumerate(lines) if n not in (8, 9))


@pytest.mark.parametrize("width", [24, 30, 48])
def test_both_sizes_are_told_where_the_sentence_does_not_fit(width: int) -> None:
    assert row_text(too_small_rows(width, 8)[3]).strip() == f"needs 80x24, is {width}x8"


@pytest.mark.parametrize(
    ("size", "is_small"), [((79, 24), True), ((80, 23), True), ((80, 24), False), ((200, 55), False)]
)
def test_80_by_24_is_enough(size: tuple[int, int], is_small: bool) -> None:
    assert is_too_small(*size) is is_small


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (20, 1), (79, 5)])
def test_the_tiniest_terminal_is_drawn(size: tuple[int, int]) -> None:
    rows = too_small_rows(*size)
    assert len(rows) == size[1]
    assert all(width_of(row) == size[0] for row in rows)
