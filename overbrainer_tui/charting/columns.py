"""How does a series of any length become one column of values per dot column of a plot?

Linear in the points: each falls into the bucket of its dot column, which keeps first, lowest, highest and last. What
follows costs as much as the screen is wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from overbrainer_tui.charting.scales import LIMIT, XScale, held


@dataclass(slots=True)
class Column:
    """The values of one dot column."""

    first: float
    low: float
    high: float
    last: float
    total: float
    count: int

    @property
    def mean(self) -> float:
        """The average of the values."""
        return self.total / self.count


def columns_of(steps: Sequence[int], values: Sequence[float], scale: XScale) -> dict[int, Column]:
    """The occupied dot columns, ascending; values that are not finite give none."""
    columns: dict[int, Column] = {}
    _fold(columns, zip(steps, values, strict=True), scale)
    return dict(sorted(columns.items()))


def _fold(columns: dict[int, Column], points: Iterable[tuple[int, float]], scale: XScale) -> None:
    """Add points to columns. Written out: it runs once for every point of a run at every repaint."""
    start, end = scale.start, scale.end
    per_step, last_dot = (scale.dots - 1) / (end - start), scale.dots - 1
    for step, point in points:
        if not start <= step <= end:
            continue
        value = point
        if not -LIMIT <= point <= LIMIT:
            if not math.isfinite(point):
                continue
            value = held(point)
        dot = min(int((step - start) * per_step + 1e-9), last_dot)
        column = columns.get(dot)
        if column is None:
            columns[dot] = Column(value, value, value, value, value, 1)
            continue
        if value < column.low:
            column.low = value
        elif value > column.high:
            column.high = value
        column.last = value
        column.total += value
        column.count += 1


class KeptColumns:
    """The columns of one growing series, kept between two repaints: only points that are new are looked at.

    A series grows at its end and may change its last few points; anything else, another scale too, starts again.
    """

    _LOOSE_END = 8
    """Points at the end that may still change."""

    def __init__(self) -> None:
        self._steps: tuple[int, ...] = ()
        self._values: tuple[float, ...] = ()
        self._scale: XScale | None = None
        self._columns: dict[int, Column] = {}

    def of(self, steps: tuple[int, ...], values: tuple[float, ...], scale: XScale) -> dict[int, Column]:
        """The columns of the series, as `columns_of` gives them."""
        kept = max(0, len(self._steps) - self._LOOSE_END)
        grows = scale == self._scale and steps[:kept] == self._steps[:kept] and values[:kept] == self._values[:kept]
        if not kept or not grows:
            self._columns = columns_of(steps, values, scale)
        elif steps is not self._steps or values is not self._values:
            self._grow(steps, values, scale, kept)
        self._steps, self._values, self._scale = steps, values, scale
        return self._columns

    def _grow(self, steps: tuple[int, ...], values: tuple[float, ...], scale: XScale, kept: int) -> None:
        """Fold again from the first point of the last column that may have changed."""
        if kept < len(steps):
            dot = scale.dot(steps[kept])
            while kept and scale.dot(steps[kept - 1]) == dot:
                kept -= 1
        else:
            dot = scale.dots
        columns = {at: column for at, column in self._columns.items() if at < dot}
        _fold(columns, zip(steps[kept:], values[kept:], strict=True), scale)
        self._columns = columns


def smoothed(columns: dict[int, Column]) -> dict[int, float]:
    """An exponential mean of the columns' averages, run forwards and back, so that it does not lag.

    Weights fall with the distance in columns; the reach grows with the number of columns, few points stay as they are.
    What the mean left over is smoothed once more and added, so that the ends are not pulled inwards.
    """
    dots = list(columns)
    values = [column.mean for column in columns.values()]
    if len(values) < 8:
        return dict(zip(dots, values, strict=True))
    reach = max(2.0, len(values) / REACH_PART) * (dots[-1] - dots[0]) / (len(dots) - 1)
    means = _two_sided(dots, values, reach)
    rest = _two_sided(dots, [value - mean for value, mean in zip(values, means, strict=True)], reach)
    return {dot: mean + left for dot, mean, left in zip(dots, means, rest, strict=True)}


REACH_PART = 20
"""The weights fall to a third over this part of the columns."""


def _two_sided(dots: Sequence[int], values: Sequence[float], reach: float) -> list[float]:
    """The mean of all values, weighted by distance in columns."""
    forward = _decayed(dots, values, reach)
    backward = _decayed([-dot for dot in reversed(dots)], values[::-1], reach)[::-1]
    # Both passes hold the value itself once.
    return [
        (ahead[0] + behind[0] - value) / (ahead[1] + behind[1] - 1)
        for value, ahead, behind in zip(values, forward, backward, strict=True)
    ]


def _decayed(dots: Sequence[int], values: Sequence[float], reach: float) -> list[tuple[float, float]]:
    """Weighted sums and weights of everything up to each column."""
    sums: list[tuple[float, float]] = []
    total = weight = 0.0
    before = dots[0]
    for dot, value in zip(dots, values, strict=True):
        decay = math.exp((before - dot) / reach)
        total, weight, before = total * decay + value, weight * decay + 1, dot
        sums.append((total, weight))
    return sums
