"""A plot is read out as rows of exactly the columns asked for."""

from __future__ import annotations

from overbrainer_tui.cells import DIM, TEXT, Span, row_text, width_of
from overbrainer_tui.charting.plot import Plot


def test_what_is_painted_later_covers_what_was_there() -> None:
    plot = Plot(4, 2)
    plot.put(0, 1, "a", DIM)
    plot.put(0, 1, "b", TEXT)
    assert plot.rows(0, 4)[0] == (Span(" b  ", TEXT),)


def test_places_outside_are_left_out() -> None:
    plot = Plot(2, 1)
    for row, column in ((-1, 0), (1, 0), (0, -1), (0, 2)):
        plot.put(row, column, "x", TEXT)
    assert row_text(plot.rows(0, 2)[0]) == "  "


def test_slices_join_to_the_whole() -> None:
    plot = Plot(10, 1)
    assert plot.text(0, 3, "loss", DIM) == 7
    parts = [plot.rows(0, 4)[0], plot.rows(4, 8)[0], plot.rows(8, 10)[0]]
    assert "".join(row_text(part) for part in parts) == "   loss   "
    assert [width_of(part) for part in parts] == [4, 4, 2]
