"""Where on a chart does a step or a value stand, and which round numbers mark its axes?

Dots count from the left and from the top. A scale of equal ends is widened, values outside are held at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

LOG_RATIO = 2
"""Largest over smallest value from which a positive range is drawn logarithmically."""

LIMIT = 1e100
"""Size at which values are held, so that no sum or range of them overflows."""

PADDING = 0.05
"""Part of the range left free at both ends of the y axis."""

MIN_TICK_CELLS = 12
"""Cells between two ticks of the x axis, so that their labels stay apart."""

_STEPS = (1.0, 2.0, 2.5, 5.0)
_MANTISSAS = ((1.0,), (2.0, 5.0), (1.5, 3.0, 7.0), (1.2, 1.75, 2.5, 4.0, 6.0, 8.0))
"""Round numbers of a logarithmic axis, the most welcome first."""


class XScale(Struct, frozen=True):
    """Steps from `start` to `end` over `dots` dot columns."""

    start: int
    end: int
    dots: int

    def dot(self, step: float) -> int:
        """The dot column of a step."""
        per_step = (self.dots - 1) / (self.end - self.start)
        return max(0, min(self.dots - 1, int((step - self.start) * per_step + 1e-9)))

    def cell(self, step: float) -> int:
        """The cell column of a step."""
        return self.dot(step) // 2


def x_scale(steps: Sequence[int], *, max_steps: int | None, cells: int, is_fitted: bool) -> XScale:
    """From 0 to `max_steps`, or to the last step when it lies further; fitted: only over the steps there are."""
    last = steps[-1] if steps else 0
    if is_fitted and steps:
        start, end = steps[0], last
    else:
        start, end = 0, max(max_steps or 0, last)
    return XScale(start, max(end, start + 1), max(2, 2 * cells))


def x_ticks(scale: XScale, cells: int) -> list[int]:
    """Round steps after the start and clearly before the end; the ends themselves are not among them."""
    span = scale.end - scale.start
    size = _nice_step(span * MIN_TICK_CELLS / max(1, cells))
    step = max(1, round(size))
    first = (scale.start // step + 1) * step
    end_room = 5 * span / max(1, cells)
    return [tick for tick in range(first, scale.end, step) if scale.end - tick > end_room]


def _nice_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `least`."""
    if least <= 0 or not math.isfinite(least):
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(least))
    for factor in (*_STEPS, 10.0):
        if factor * power >= least * (1 - 1e-9):
            return factor * power
    return 10 * power


class YScale(Struct, frozen=True):
    """Values from `low` (bottom) to `high` (top) over `dots` dot rows."""

    low: float
    high: float
    dots: int
    is_log: bool = False

    def dot(self, value: float) -> int:
        """The dot row of a value, 0 at the top."""
        share = self._share(value)
        return max(0, min(self.dots - 1, math.floor((1 - share) * self.dots)))

    def row(self, value: float) -> int:
        """The cell row of a value."""
        return self.dot(value) // 4

    def _share(self, value: float) -> float:
        value = max(self.low, min(self.high, value))
        if self.is_log:
            low, high = math.log(self.low), math.log(self.high)
            return (math.log(value) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)


def held(value: float) -> float:
    """The value, held at the largest size that is drawn."""
    return max(-LIMIT, min(LIMIT, value))


def y_scale(values: Sequence[float], rows: int) -> YScale:
    """The scale of values: logarithmic when they allow it, padded; 0 to 1 without any."""
    dots = max(4, 4 * rows)
    finite = [held(value) for value in values if math.isfinite(value)]
    if not finite:
        return YScale(0.0, 1.0, dots)
    low, high = min(finite), max(finite)
    if low > 1 / LIMIT and high >= LOG_RATIO * low:
        factor = (high / low) ** PADDING
        return YScale(low / factor, high * factor, dots, is_log=True)
    pad = max((high - low) * PADDING, 0.01, abs(high) * 1e-6)
    return YScale(low - pad, high + pad, dots)


def y_ticks(scale: YScale, rows: int) -> list[tuple[int, float]]:
    """(row, value) of round values, at least two rows apart, top first."""
    apart = 3 if rows >= 12 else 2
    groups = _log_candidates(scale) if scale.is_log else _linear_candidates(scale, rows)
    chosen: dict[int, float] = {}
    for group in groups:
        for value in group:
            row = scale.row(value)
            if 0 < row < rows - 1 and all(abs(row - other) >= apart for other in chosen):
                chosen[row] = value
    return sorted(chosen.items())


def _log_candidates(scale: YScale) -> list[list[float]]:
    """Round numbers within the scale, groups by how round they are."""
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    groups: list[list[float]] = []
    for mantissas in _MANTISSAS:
        values = [_scaled(mantissa, power) for power in range(first, last + 1) for mantissa in mantissas]
        groups.append([value for value in values if scale.low < value < scale.high and _is_short(value)])
    return groups


def _scaled(mantissa: float, power: int) -> float:
    return float(f"{mantissa}e{power}")


def _is_short(value: float) -> bool:
    """Whether two decimals say the value exactly; small ones are written another way."""
    return value < 0.01 or math.isclose(round(value, 2), value)


def _linear_candidates(scale: YScale, rows: int) -> list[list[float]]:
    """Multiples of a round step that leaves at least two rows between ticks."""
    span = scale.high - scale.low
    step = _nice_step(span * 2 / max(1, rows))
    first = math.ceil(scale.low / step)
    last = math.floor(scale.high / step)
    return [[index * step for index in range(first, min(last, first + 2 * rows) + 1)]]
