"""Scales hold every value, ticks are round and stand apart."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from overbrainer_tui.charting.scales import x_scale, x_ticks, y_scale, y_ticks


def test_the_axis_goes_from_0_to_max_steps() -> None:
    scale = x_scale((10, 940), max_steps=2600, cells=50, is_fitted=False)
    assert (scale.start, scale.end) == (0, 2600)
    assert scale.cell(940) == 17
    assert scale.cell(2600) == 49


def test_steps_past_the_last_one_widen_the_axis() -> None:
    assert x_scale((10, 4100), max_steps=4000, cells=50, is_fitted=False).end == 4100


def test_without_max_steps_the_axis_ends_at_the_last_step_and_is_one_step_wide_at_least() -> None:
    assert x_scale((5, 70), max_steps=None, cells=50, is_fitted=False).end == 70
    scale = x_scale((), max_steps=None, cells=50, is_fitted=False)
    assert (scale.start, scale.end) == (0, 1)
    single = x_scale((7, 7), max_steps=None, cells=50, is_fitted=True)
    assert single.end - single.start == 1


def test_fitted_the_axis_covers_the_points_there_are() -> None:
    scale = x_scale((900, 940), max_steps=2600, cells=50, is_fitted=True)
    assert (scale.start, scale.end) == (900, 940)


@pytest.mark.parametrize(("cells", "ticks"), [(50, [1000, 2000]), (62, [1000, 2000]), (120, [500, 1000, 1500, 2000])])
def test_steps_are_marked_at_round_numbers(cells: int, ticks: list[int]) -> None:
    scale = x_scale((10, 940), max_steps=2600, cells=cells, is_fitted=False)
    assert x_ticks(scale, cells) == ticks


def test_a_long_run_has_few_ticks() -> None:
    scale = x_scale((1, 3_141_592), max_steps=None, cells=50, is_fitted=False)
    assert x_ticks(scale, 50) == [1_000_000, 2_000_000]


def test_a_wide_positive_range_is_logarithmic() -> None:
    assert y_scale([2.3, 0.75], 16).is_log
    assert not y_scale([0.9, 0.75], 16).is_log
    assert not y_scale([2.3, 0.0], 16).is_log
    assert not y_scale([2.3, -1.0], 16).is_log


def test_without_values_the_scale_is_0_to_1() -> None:
    for values in ([], [math.nan], [math.inf, -math.inf]):
        scale = y_scale(values, 8)
        assert (scale.low, scale.high) == (0.0, 1.0)


def test_a_constant_gets_room_above_and_below() -> None:
    scale = y_scale([0.5, 0.5], 8)
    assert scale.low < 0.5 < scale.high
    assert scale.row(0.5) in (3, 4)


def test_log_ticks_are_the_roundest_numbers() -> None:
    values = [value for _, value in y_ticks(y_scale([2.31, 0.74], 16), 16)]
    assert 2.0 in values
    assert 1.0 in values
    assert values == sorted(values, reverse=True)


def test_values_outside_are_held_at_the_edge() -> None:
    scale = y_scale([1.0, 3.0], 8)
    assert scale.dot(1000.0) == 0
    assert scale.dot(-5.0) == 31


def test_random_ranges_give_ticks_apart_and_inside() -> None:
    chance = random.Random(5)
    for _ in range(400):
        rows = chance.randrange(1, 40)
        values = [10 ** chance.uniform(-8, 8) * chance.choice((1, 1, -1)) for _ in range(chance.randrange(1, 6))]
        scale = y_scale(values, rows)
        assert all(0 <= scale.dot(value) < 4 * rows for value in values)
        ticks = y_ticks(scale, rows)
        assert all(0 < row < rows - 1 for row, _ in ticks)
        assert all(second[0] - first[0] >= 2 for first, second in pairwise(ticks))
        assert all(scale.low <= value <= scale.high for _, value in ticks)


def test_random_axes_have_ticks_inside() -> None:
    chance = random.Random(6)
    for _ in range(400):
        last = int(10 ** chance.uniform(0, 8))
        cells = chance.randrange(10, 150)
        scale = x_scale((1, last), max_steps=None, cells=cells, is_fitted=chance.random() < 0.5)
        ticks = x_ticks(scale, cells)
        assert len(ticks) <= cells
        assert all(scale.start < tick < scale.end for tick in ticks)
