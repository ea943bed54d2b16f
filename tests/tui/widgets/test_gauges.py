"""Bars never pass their value, histories keep a gap, colours warn at 85 and 95 percent."""

from __future__ import annotations

import math

import pytest

from overbrainer_tui.cells import DIM, FAINT
from overbrainer_tui.glyphs import ASCII, UNICODE
from overbrainer_tui.widgets.gauges import bar, gauge, gauge_role, half_cells, history, spread


def _text(spans: object) -> str:
    return "".join(span.text for span in spans)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.89, "━━━━─"), (0.61, "━━━──"), (0.25, "━────"), (0.52, "━━╾──"), (0.33, "━╾───"), (0.0, "─────"),
     (1.0, "━━━━━"), (None, "─────"), (math.nan, "─────"), (7.0, "━━━━━")],
)  # fmt: skip
def test_a_gauge_has_half_cells(ratio: float | None, expected: str) -> None:
    assert _text(gauge(ratio, UNICODE)) == expected


def test_a_bar_shows_no_more_than_is_done() -> None:
    for width in range(1, 120):
        for done in range(0, 101, 7):
            assert half_cells(done / 100, width) <= done / 100 * 2 * width + 1e-6
    assert half_cells(0.9999, 50) == 99


def test_the_bar_of_a_run_at_120_columns() -> None:
    assert _text(bar(940 / 2600, 116, "accent", UNICODE)) == "━" * 41 + "╾" + "─" * 74


def test_a_bar_in_ascii() -> None:
    assert _text(bar(0.52, 5, "gauge", ASCII)) == "##=--"


@pytest.mark.parametrize(
    ("ratio", "role"), [(0.84, "gauge"), (0.85, "warn"), (0.949, "warn"), (0.95, "err"), (None, "gauge")]
)
def test_gauges_warn_from_85_and_alarm_from_95_percent(ratio: float | None, role: str) -> None:
    assert gauge_role(ratio) == role
    assert gauge_role(ratio, can_warn=False) == "gauge"


def test_history_levels_are_those_of_the_design() -> None:
    values = [0.97, 0.98, 0.4, 0.62, 0.25, 0.33, 0.52, 0.0, 1.0]
    assert _text(history(values, UNICODE, (FAINT, DIM))[0]) == "▇▇▃▄▂▂▄▁▇"


def test_a_missing_sample_is_a_blank_cell_not_a_zero() -> None:
    assert _text(history([None, 0.0, None], UNICODE, (FAINT, DIM))[0]) == " ▁ "


def test_the_last_cell_is_one_step_up() -> None:
    spans = history([0.5, 0.5], UNICODE, (FAINT, DIM))[0]
    assert [span.tone for span in spans] == [FAINT, DIM]


def test_a_bar_of_two_rows_has_no_gap() -> None:
    top, bottom = history([1.0, 0.3, 0.6, None], UNICODE, (FAINT, DIM), rows=2)
    assert _text(top) == "▇ ▁ "
    assert _text(bottom) == "█▄█ "


@pytest.mark.parametrize("count", [0, 1, 5, 12, 13, 59, 60, 61])
def test_samples_are_spread_over_the_cells_the_highest_of_each_kept(count: int) -> None:
    values = [float(n) for n in range(count)]
    cells = spread(values, 12)
    assert len(cells) == 12
    if values:
        assert cells[-1] == values[-1]
    assert [cell for cell in cells if cell is not None] == sorted(cell for cell in cells if cell is not None)
    if count >= 12:
        assert None not in cells
