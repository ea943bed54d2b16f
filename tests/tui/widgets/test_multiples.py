"""Small multiples: the curve between its lowest and highest value, on the same columns as the loss."""

from __future__ import annotations

import math

import pytest

from overbrainer_tui.cells import Tone, row_text
from overbrainer_tui.charting.columns import columns_of
from overbrainer_tui.charting.scales import x_scale
from overbrainer_tui.look import Look
from overbrainer_tui.widgets.multiples import Multiple, multiple_rows

SCALE = x_scale((0, 9), max_steps=9, cells=5, is_fitted=False)


def _drawn(values: tuple[float, ...], look: Look, *, rows: int = 1, is_peak: bool = False) -> list[str]:
    columns = columns_of(range(len(values)), values, SCALE)
    multiple = Multiple("lr", columns, rows, "", Tone("lr"), is_peak=is_peak)
    return [row_text(row) for row in multiple_rows(multiple, 5, look).rows(0, 5)]


def test_a_rising_curve_goes_from_the_bottom_to_the_top(look: Look) -> None:
    assert _drawn((0.0, 1.0, 2.0, 3.0), look) == ["⡠⠊   "]


def test_a_curve_that_never_changes_lies_half_way_up(look: Look) -> None:
    assert _drawn((0.4,) * 10, look) == ["⠤⠤⠤⠤⠤"]


def test_the_maximum_of_a_column_is_kept(look: Look) -> None:
    scale = x_scale((0, 99), max_steps=99, cells=2, is_fitted=False)
    columns = columns_of(range(100), tuple(9.0 if step == 50 else 1.0 for step in range(100)), scale)
    peak = multiple_rows(Multiple("grad", columns, 1, "", Tone("gn"), is_peak=True), 2, look)
    assert row_text(peak.rows(0, 2)[0]) != row_text(
        multiple_rows(Multiple("grad", columns, 1, "", Tone("gn")), 2, look).rows(0, 2)[0]
    )


def test_ascii_draws_bars(ascii_look: Look) -> None:
    values = (0.0, 0.0, 1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 1.0, 1.0)
    assert _drawn(values, ascii_look, rows=2) == [" *  *", "_#*_#"]


@pytest.mark.parametrize("values", [(), (math.nan,), (math.inf, math.nan), (1.0,), (-1.0, 1.0), (1e308, -1e308)])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_any_values_give_rows_of_the_plot_s_width(
    values: tuple[float, ...], rows: int, look: Look, ascii_look: Look
) -> None:
    for drawn_as in (look, ascii_look):
        drawn = _drawn(values, drawn_as, rows=rows)
        assert [len(row) for row in drawn] == [5] * rows
