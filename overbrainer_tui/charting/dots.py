"""How do dots become braille cells? Two dot columns and four dot rows per cell; dots outside are left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800


class Dots:
    """The dots of one series, by cell."""

    def __init__(self, width: int, height: int) -> None:
        self._width = 2 * width
        self._height = 4 * height
        self._cells: dict[tuple[int, int], int] = {}

    def set(self, x: int, y: int) -> None:
        """Set the dot at a dot column and a dot row."""
        if 0 <= x < self._width and 0 <= y < self._height:
            key = (y >> 2, x >> 1)
            self._cells[key] = self._cells.get(key, 0) | _BITS[y & 3][x & 1]

    def path(self, points: list[tuple[int, int]], *, thick: bool = False) -> None:
        """Join points with straight lines; a thick line is the same path one dot lower as well."""
        for x, y in joined(points):
            self.set(x, y)
            if thick:
                self.set(x, y + 1 if y + 1 < self._height else y - 1)

    def cells(self) -> Iterator[tuple[int, int, str]]:
        """(row, column, braille character) of every cell with a dot."""
        for (row, column), bits in self._cells.items():
            yield row, column, chr(_BRAILLE + bits)


def joined(points: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The dots of a path through points with ascending columns: no gap, each dot once in a row."""
    if len(points) == 1:
        yield points[0]
    for index, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        if index == 0:
            yield x0, y0
        yield from _segment(x0, y0, x1, y1)


def _segment(x0: int, y0: int, x1: int, y1: int) -> Iterator[tuple[int, int]]:
    """The dots after the first of a straight line, by Bresenham."""
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx, sy = (1 if x0 < x1 else -1), (1 if y0 < y1 else -1)
    error = dx + dy
    while (x0, y0) != (x1, y1):
        twice = 2 * error
        if twice >= dy:
            error += dy
            x0 += sx
        if twice <= dx:
            error += dx
            y0 += sy
        yield x0, y0
