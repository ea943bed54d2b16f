"""Steps per second and time left, by the trainer's own clock."""

from __future__ import annotations

import pytest

from overbrainer_core.training.pace import Pace
from overbrainer_core.values.metric import TrainMetric


def pace(*logs: tuple[float, int], max_steps: int | None = 900) -> Pace:
    """A pace that saw training logs at (time, step)."""
    result = Pace()
    for time, step in logs:
        result.apply(TrainMetric(time=time, step=step, loss=1.0, max_steps=max_steps))
    return result


def test_two_logs_apart_give_pace_and_time_left() -> None:
    result = pace((100.0, 10), (110.0, 20), max_steps=100)
    assert result.steps_per_s == 1.0
    assert result.eta_s == 80.0


@pytest.mark.parametrize("logs", [[], [(1.0, 1)], [(1.0, 1), (1.0, 2)], [(1.0, 1), (5.0, 1)], [(9.0, 5), (3.0, 9)]])
def test_logs_that_are_not_apart_in_step_and_time_give_none(logs: list[tuple[float, int]]) -> None:
    assert pace(*logs).steps_per_s is None
    assert pace(*logs).eta_s is None


def test_without_a_last_step_there_is_a_pace_and_no_end() -> None:
    result = pace((1.0, 1), (2.0, 2), max_steps=None)
    assert result.steps_per_s == 1.0
    assert result.eta_s is None


def test_evaluations_do_not_count_as_training() -> None:
    result = pace((0.0, 0), (10.0, 10), max_steps=100)
    result.apply(TrainMetric(time=500.0, step=10, eval_loss=0.5))
    assert result.steps_per_s == 1.0


def test_a_log_without_a_loss_moves_the_step_that_is_counted_from() -> None:
    result = pace((0.0, 0), (10.0, 10), max_steps=100)
    result.apply(TrainMetric(time=11.0, step=60))
    assert result.eta_s == 40.0


def test_c099_a_step_told_twice_does_not_explode_the_pace() -> None:
    result = pace((0.0, 0), (10.0, 5), (10.0001, 5), max_steps=10)
    assert result.steps_per_s == 0.5


def test_c100_a_slow_run_and_a_huge_one_stay_finite() -> None:
    assert pace((0.0, 1), (600.0, 2), (1200.0, 3)).eta_s == pytest.approx(897 * 600)
    assert pace((0.0, 1), (1.0, 2), max_steps=10_000_000).eta_s == 9_999_998


def test_c100_a_resumed_run_counts_only_its_own_steps() -> None:
    first = pace((0.0, 40), max_steps=42)
    assert first.eta_s is None
    assert pace((0.0, 40), (600.0, 41), max_steps=42).eta_s == 600.0
    assert pace((0.0, 40), (600.0, 43), max_steps=42).eta_s == 0.0


@pytest.mark.parametrize("second", [1e308, -1e308, 1e-300, 0.0, 1e12])
def test_a_clock_that_jumps_gives_no_time_left_without_sense(second: float) -> None:
    pace = Pace()
    pace.apply(TrainMetric(time=0.0, step=1, loss=1.0, max_steps=1000))
    pace.apply(TrainMetric(time=second, step=2, loss=1.0, max_steps=1000))
    assert pace.eta_s is None or 0 <= pace.eta_s <= 100 * 365 * 86400
