"""Any number of points becomes one column per dot column, and smoothing neither lags nor invents."""

from __future__ import annotations

import math
import random
import time

import pytest

from overbrainer_tui.charting.columns import KeptColumns, columns_of, smoothed
from overbrainer_tui.charting.scales import XScale, x_scale
from overbrainer_tui.view_models.series import Curve


def test_a_column_keeps_first_lowest_highest_and_last() -> None:
    scale = x_scale((0, 100), max_steps=100, cells=5, is_fitted=False)
    columns = columns_of((0, 1, 2, 3), (5.0, 1.0, 9.0, 4.0), scale)
    column = columns[0]
    assert (column.first, column.low, column.high, column.last) == (5.0, 1.0, 9.0, 4.0)
    assert column.mean == pytest.approx(4.75)


def test_values_that_are_not_finite_give_no_column() -> None:
    scale = x_scale((0, 10), max_steps=10, cells=5, is_fitted=False)
    assert columns_of((1, 2, 3), (math.nan, math.inf, -math.inf), scale) == {}


def test_points_before_a_fitted_axis_are_left_out() -> None:
    scale = x_scale((50, 100), max_steps=None, cells=5, is_fitted=True)
    assert set(columns_of((1, 100), (1.0, 2.0), scale)) == {9}


def test_a_straight_line_stays_a_straight_line_to_its_end() -> None:
    scale = x_scale((0, 99), max_steps=99, cells=50, is_fitted=False)
    steps = tuple(range(100))
    smooth = smoothed(columns_of(steps, tuple(2.0 - step / 100 for step in steps), scale))
    assert smooth[0] == pytest.approx(2.0, abs=0.02)
    assert smooth[99] == pytest.approx(1.01, abs=0.02)
    assert smooth[50] == pytest.approx(1.5, abs=0.01)


def test_noise_is_taken_out() -> None:
    scale = x_scale((0, 99), max_steps=99, cells=50, is_fitted=False)
    steps = tuple(range(100))
    smooth = smoothed(columns_of(steps, tuple(1.0 + (0.2 if step % 2 else -0.2) for step in steps), scale))
    assert all(abs(value - 1.0) < 0.1 for value in list(smooth.values())[5:-5])


def test_few_points_stay_as_they_are() -> None:
    scale = x_scale((0, 10), max_steps=10, cells=10, is_fitted=False)
    columns = columns_of((1, 5, 9), (3.0, 1.0, 2.0), scale)
    assert list(smoothed(columns).values()) == [3.0, 1.0, 2.0]
    assert smoothed({}) == {}


def test_a_constant_stays_constant() -> None:
    scale = x_scale((0, 999), max_steps=999, cells=60, is_fitted=False)
    steps = tuple(range(1000))
    assert all(value == pytest.approx(0.7) for value in smoothed(columns_of(steps, (0.7,) * 1000, scale)).values())


def test_the_cost_follows_the_points_linearly_and_the_screen_from_there() -> None:
    scale = x_scale((0, 39999), max_steps=None, cells=60, is_fitted=False)

    def seconds(count: int) -> float:
        steps = tuple(range(count))
        values = tuple(1.0 + step % 7 for step in steps)
        best = math.inf
        for _ in range(3):
            started = time.thread_time()
            columns = columns_of(steps, values, scale)
            best = min(best, time.thread_time() - started)
        assert len(columns) <= 120
        return best

    assert seconds(40_000) < 40 * seconds(4000)


def test_kept_columns_are_the_columns_of_a_growing_series() -> None:
    chance = random.Random(11)
    for max_steps in (50, 3000):
        curve, kept = Curve(), KeptColumns()
        for step in range(1, 3000):
            curve.add(step, chance.choice((chance.random(), math.nan)))
            if step % 7 == 0:
                points = curve.points()
                scale = XScale(0, max(max_steps, step), 100)
                assert kept.of(points.steps, points.values, scale) == columns_of(points.steps, points.values, scale)


def test_kept_columns_start_again_for_another_series() -> None:
    kept, scale = KeptColumns(), XScale(0, 100, 40)
    for steps, values in (
        (tuple(range(50)), (1.0,) * 50),
        (tuple(range(50)), (2.0,) * 50),
        (tuple(range(3)), (2.0,) * 3),
        ((), ()),
        (tuple(range(20)), (3.0,) * 20),
    ):
        assert kept.of(steps, values, scale) == columns_of(steps, values, scale)
