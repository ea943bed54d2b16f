"""The x axis: ticks at round steps, labels that never touch, now and the cursor first."""

from __future__ import annotations

import random
import re

from overbrainer_tui.cells import Tone, row_text, width_of
from overbrainer_tui.charting.scales import x_scale
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import CursorShown
from overbrainer_tui.widgets.axis import axis_row, tick_row

SCALE = x_scale((10, 940), max_steps=2600, cells=50, is_fitted=False)


def test_the_axis_at_50_cells(look: Look) -> None:
    assert row_text(axis_row(SCALE, 50, look)) == "┴──────────────────┴──────────────────┴──────────┴"
    assert row_text(tick_row(SCALE, 50, now=940, cursor=None)) == "step 0          940                  2k       2600"


def test_an_ended_run_has_every_tick(look: Look) -> None:
    scale = x_scale((10, 2600), max_steps=2600, cells=50, is_fitted=False)
    assert row_text(tick_row(scale, 50, now=None, cursor=None)) == "step 0            1k                 2k       2600"
    wide = x_scale((10, 2600), max_steps=2600, cells=62, is_fitted=False)
    assert row_text(tick_row(wide, 62, now=None, cursor=None)) == (
        "step 0                1k                      2k          2600"
    )


def test_a_wide_axis_leaves_out_the_tick_beside_now() -> None:
    scale = x_scale((10, 940), max_steps=2600, cells=120, is_fitted=False)
    text = row_text(tick_row(scale, 120, now=940, cursor=None))
    assert text.split() == ["step", "0", "500", "940", "1.5k", "2k", "2600"]


def test_the_cursor_s_step_stands_on_raised_ground() -> None:
    row = tick_row(SCALE, 50, now=940, cursor=CursorShown(step=610))
    assert row_text(row) == "step 0    610   940                  2k       2600"
    assert any(span.text == " 610 " and span.tone == Tone("bright", "bold", "raised") for span in row)


def test_labels_never_touch() -> None:
    chance = random.Random(8)
    for _ in range(400):
        last = int(10 ** chance.uniform(0, 7))
        cells = chance.randrange(10, 130)
        scale = x_scale((1, last), max_steps=chance.choice((None, 2 * last)), cells=cells, is_fitted=False)
        cursor = CursorShown(step=chance.randrange(last + 1)) if chance.random() < 0.5 else None
        row = tick_row(scale, cells, now=chance.choice((None, last)), cursor=cursor)
        assert width_of(row) == cells
        assert all(re.fullmatch(r"step|\d+(\.\d+)?[kMG]?|\d\.\d+e\d+", word) for word in row_text(row).split())
