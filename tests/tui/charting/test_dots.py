"""Dots become braille cells; paths have no gap; a thick line is two dots high."""

from __future__ import annotations

import random
from itertools import pairwise

from overbrainer_tui.charting.dots import Dots, joined


def _drawn(dots: Dots) -> dict[tuple[int, int], str]:
    return {(row, column): char for row, column, char in dots.cells()}


def test_each_dot_has_its_place_in_the_cell() -> None:
    places = [(0, 0, "⠁"), (0, 1, "⠂"), (0, 2, "⠄"), (0, 3, "⡀"), (1, 0, "⠈"), (1, 1, "⠐"), (1, 2, "⠠"), (1, 3, "⢀")]
    for x, y, char in places:
        dots = Dots(1, 1)
        dots.set(x, y)
        assert _drawn(dots) == {(0, 0): char}


def test_dots_outside_are_left_out() -> None:
    dots = Dots(2, 1)
    for x, y in ((-1, 0), (4, 0), (0, -1), (0, 4)):
        dots.set(x, y)
    assert _drawn(dots) == {}


def test_a_flat_thick_line_is_two_dots_high_and_stays_inside() -> None:
    dots = Dots(2, 1)
    dots.path([(0, 0), (3, 0)], thick=True)
    assert _drawn(dots) == {(0, 0): "⠛", (0, 1): "⠛"}
    low = Dots(1, 1)
    low.path([(0, 3), (1, 3)], thick=True)
    assert _drawn(low) == {(0, 0): "⣤"}


def test_a_single_point_is_a_dot() -> None:
    dots = Dots(1, 1)
    dots.path([(1, 2)])
    assert _drawn(dots) == {(0, 0): "⠠"}


def test_paths_have_no_gap() -> None:
    chance = random.Random(7)
    for _ in range(100):
        columns = sorted(chance.sample(range(60), chance.randrange(2, 20)))
        points = [(column, chance.randrange(64)) for column in columns]
        path = list(joined(points))
        assert path[0] == points[0]
        assert path[-1] == points[-1]
        assert all(abs(a[0] - b[0]) <= 1 and abs(a[1] - b[1]) <= 1 for a, b in pairwise(path))
    assert list(joined([])) == []
