"""Curves: order, reduction, trends, the cursor."""

from __future__ import annotations

from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui.view_models.series import BUCKETS, TREND_LOGS, Curve, RunCurves
from tests.tui.states import metrics


def curve_of(*points: tuple[int, float]) -> Curve:
    curve = Curve()
    for step, value in points:
        curve.add(step, value)
    return curve


def test_points_come_back_in_order_and_a_step_seen_twice_keeps_its_last_value() -> None:
    points = curve_of((1, 3.0), (2, 2.0), (2, 2.5), (5, 1.0)).points()
    assert (points.steps, points.values) == ((1, 2, 5), (3.0, 2.5, 1.0))


def test_a_step_lower_than_the_last_is_left_out() -> None:
    assert curve_of((5, 1.0), (3, 9.0), (6, 2.0)).points().steps == (5, 6)


def test_a_long_curve_stays_bounded_and_keeps_its_ends_and_its_spike() -> None:
    curve = Curve()
    for step in range(1, 100_001):
        curve.add(step, 50.0 if step == 77_777 else 1.0 / step)
    points = curve.points()
    assert len(points.steps) <= 4 * BUCKETS
    assert (points.steps[0], points.steps[-1]) == (1, 100_000)
    assert (77_777, 50.0) in zip(points.steps, points.values, strict=True)
    assert list(points.steps) == sorted(set(points.steps))


def test_the_value_at_a_step_is_that_of_the_nearest_step_before_it() -> None:
    curve = curve_of((10, 1.0), (20, 2.0))
    assert [curve.at(step) for step in (5, 10, 15, 20, 99)] == [None, 1.0, 1.0, 2.0, 2.0]


def test_metrics_fill_the_curves_and_the_newest_values() -> None:
    curves = RunCurves("r")
    assert curves.is_empty
    for metric in metrics(940):
        curves.add(metric)
    shown = curves.series()
    assert (shown.last_step, shown.max_steps) == (940, 2600)
    assert shown.eval_loss.steps == tuple(range(100, 1000, 100))
    assert shown.best_eval is not None
    assert shown.best_eval[0] == 900
    assert curves.series() is shown


def test_a_new_metric_gives_another_revision() -> None:
    curves = RunCurves("r")
    curves.add(TrainMetric(time=1.0, step=1, loss=2.0))
    first = curves.series()
    curves.add(TrainMetric(time=2.0, step=2, loss=1.0))
    assert curves.series().revision != first.revision


def test_the_loss_trend_needs_enough_logs_and_tells_the_direction() -> None:
    curves = RunCurves("r")
    for step in range(2 * TREND_LOGS - 1):
        curves.add(TrainMetric(time=0.0, step=step, loss=10.0 - step))
    assert curves.loss_trend == 0
    curves.add(TrainMetric(time=0.0, step=99, loss=0.1))
    assert curves.loss_trend == -1


def test_the_eval_trend_rises_only_after_two_worse_evaluations_in_a_row() -> None:
    curves = RunCurves("r")
    trends = []
    for step, loss in enumerate((1.0, 0.9, 0.95, 0.97, 0.96)):
        curves.add(TrainMetric(time=0.0, step=step, eval_loss=loss))
        trends.append(curves.eval_trend)
    assert trends == [0, -1, 0, 1, -1]


def test_the_cursor_moves_from_point_to_point_and_stays_at_the_ends() -> None:
    curves = RunCurves("r")
    assert curves.step_beside(None, 0) is None
    for step in (10, 20, 30):
        curves.add(TrainMetric(time=0.0, step=step, loss=float(step)))
    assert curves.step_beside(None, 0) == 30
    assert [curves.step_beside(30, by) for by in (-1, 1)] == [20, 30]
    assert curves.step_beside(10, -1) == 10
    assert curves.cursor_at(20).loss == 20.0


def test_a_repeated_step_in_a_wide_bucket_forgets_its_first_value() -> None:
    curve = Curve()
    for step in range(1, 5001):
        curve.add(step, 1.0)
    curve.add(5000, 99.0)
    curve.add(5000, 2.0)
    points = curve.points()
    assert (points.steps[-1], points.values[-1]) == (5000, 2.0)
    assert 99.0 not in points.values
