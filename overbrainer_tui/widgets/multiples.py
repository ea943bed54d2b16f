"""How is a small multiple drawn: a thin curve of one to three rows on the loss chart's x axis?"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_tui.cells import Tone
from overbrainer_tui.charting.columns import Column
from overbrainer_tui.charting.dots import Dots
from overbrainer_tui.charting.plot import Plot
from overbrainer_tui.look import Look


class Multiple(Struct, frozen=True):
    """One small curve: its name, columns, rows, newest value as text; `is_peak` draws the maximum per column."""

    name: str
    columns: dict[int, Column]
    rows: int
    value: str
    tone: Tone
    is_peak: bool = False


def multiple_rows(multiple: Multiple, width: int, look: Look) -> Plot:
    """The curve between the lowest and the highest value shown; one that never changes lies half-way up."""
    plot = Plot(width, multiple.rows)
    columns = multiple.columns
    if not columns:
        return plot
    values = {dot: column.high if multiple.is_peak else column.last for dot, column in columns.items()}
    low, high = min(values.values()), max(values.values())

    def share(value: float) -> float:
        return (value - low) / (high - low) if high > low else 0.5

    shares = {dot: share(value) for dot, value in values.items()}
    if look.is_ascii:
        _paint_bars(plot, shares, multiple.tone, look)
        return plot
    dots = Dots(width, multiple.rows)
    top = 4 * multiple.rows - 1
    dots.path([(dot, round((1 - part) * top)) for dot, part in shares.items()])
    for row, column, char in dots.cells():
        plot.put(row, column, char, multiple.tone)
    return plot


def _paint_bars(plot: Plot, shares: dict[int, float], tone: Tone, look: Look) -> None:
    """Bars of one cell a column, between known columns the value before."""
    cells: dict[int, float] = {}
    for dot, part in shares.items():
        cells[dot // 2] = max(part, cells.get(dot // 2, 0.0))
    steps = len(look.glyphs.history)
    part = 0.0
    for column in range(min(cells), max(cells) + 1):
        part = cells.get(column, part)
        level = max(1, round(part * steps * plot.height))
        for row in range(plot.height):
            left = level - steps * (plot.height - 1 - row)
            if left > 0:
                plot.put(row, column, look.glyphs.full if left > steps else look.glyphs.history[left - 1], tone)
