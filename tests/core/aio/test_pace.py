"""The time between requests follows from what was taken."""

from __future__ import annotations

import pytest

from overbrainer_core.aio.pace import CAUTION, FASTER, SLOWER, Pace


def taken(count: int, *, since: float = 0.0) -> Pace:
    pace = Pace()
    pace.pause(since)
    for number in range(count):
        pace.take(since + number)
    return pace


def test_there_is_no_pace_before_a_rate_is_known() -> None:
    pace = taken(2)
    assert pace.measured_interval_s(10) is None
    assert not pace.slow_down(None)
    assert pace.interval_s == 0


def test_the_first_pace_is_what_was_taken_less_a_margin() -> None:
    pace = taken(10)
    assert pace.measured_interval_s(20) == pytest.approx(2 / CAUTION)
    assert pace.slow_down(2.0)
    assert pace.interval_s == 2.0


def test_a_refusal_slows_it_and_a_while_of_success_raises_it() -> None:
    pace = taken(3)
    pace.slow_down(2.0)
    assert not pace.slow_down(99.0)
    assert pace.interval_s == pytest.approx(2 * SLOWER)
    for _ in range(9):
        pace.take(0)
    pace.refuse()
    for _ in range(9):
        pace.take(0)
    assert pace.interval_s == pytest.approx(2 * SLOWER)
    pace.take(0)
    assert pace.interval_s == pytest.approx(2 * SLOWER * FASTER)


def test_a_pause_after_which_nothing_was_taken_was_too_short() -> None:
    pace = Pace()
    told = [pace.has_failed_reopening]
    pace.pause(5)
    told.append(pace.has_failed_reopening)
    pace.take(6)
    told.append(pace.has_failed_reopening)
    assert told == [False, True, False]
