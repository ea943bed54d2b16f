"""How are progress and use drawn: bars in half cells, gauges, histories?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from overbrainer_tui.cells import Role, Span, Tone
from overbrainer_tui.glyphs import Glyphs

WARN_RATIO = 0.85
ERR_RATIO = 0.95
GAUGE_CELLS = 5


def half_cells(ratio: float, width: int) -> int:
    """Half cells that a bar of `width` cells fills at `ratio` (0..1): never more than the true value."""
    if not math.isfinite(ratio):
        return 0
    return max(0, min(2 * width, math.floor(ratio * 2 * width + 1e-9)))


def bar(ratio: float | None, width: int, role: Role, glyphs: Glyphs) -> list[Span]:
    """`━━━━╾─────`: filled, half-step tip, track."""
    steps = half_cells(ratio or 0.0, width)
    full, has_tip = divmod(steps, 2)
    spans = [Span(glyphs.fill * full + (glyphs.tip if has_tip else ""), Tone(role))]
    spans.append(Span(glyphs.track * (width - full - has_tip), Tone("line")))
    return [span for span in spans if span.text]


def gauge_role(ratio: float | None, *, can_warn: bool = True) -> Role:
    """The colour of a gauge: neutral, `warn` from 85%, `err` from 95%."""
    if ratio is None or not can_warn or ratio < WARN_RATIO:
        return "gauge"
    return "err" if ratio >= ERR_RATIO else "warn"


def gauge(ratio: float | None, glyphs: Glyphs, *, can_warn: bool = True) -> list[Span]:
    """A bar of five cells that turns colour when it fills."""
    return bar(ratio, GAUGE_CELLS, gauge_role(ratio, can_warn=can_warn), glyphs)


def spread(values: Sequence[float | None], cells: int) -> list[float | None]:
    """The samples over `cells` cells, newest at the right: each cell the highest value it covers, None without one.

    Fewer samples than cells stand at the right; more are all spread over the cells.
    """
    if len(values) <= cells:
        return [None] * (cells - len(values)) + list(values)
    spread_out: list[float | None] = []
    for cell in range(cells):
        start, end = cell * len(values) // cells, (cell + 1) * len(values) // cells
        covered = [value for value in values[start:end] if value is not None]
        spread_out.append(max(covered) if covered else None)
    return spread_out


def levels(value: float, rows: int = 1) -> int:
    """Eighth-like steps of a history cell, 1 to 7 for each row; 0 to 100% over all of them."""
    top = 7 * rows
    return max(1, min(top, round(value * top))) if math.isfinite(value) else 1


def history(
    values: Sequence[float | None], glyphs: Glyphs, tones: tuple[Tone, Tone], *, rows: int = 1
) -> list[list[Span]]:
    """History bars, top row first: `tones` for the past and for the last cell; a missing sample is a blank cell."""
    drawn: list[list[Span]] = []
    for row in range(rows - 1, -1, -1):
        cells = "".join(_history_cell(value, row, rows, glyphs) for value in values)
        drawn.append([Span(cells[:-1], tones[0]), Span(cells[-1:], tones[1])])
    return drawn


def _history_cell(value: float | None, row: int, rows: int, glyphs: Glyphs) -> str:
    if value is None:
        return " "
    left = levels(value, rows) - 7 * row
    if left <= 0:
        return " "
    # A cell under another of the same bar is full, so that the bar has no gap.
    return glyphs.history[left - 1] if left <= 7 and (row == rows - 1 or left < 7) else glyphs.full
