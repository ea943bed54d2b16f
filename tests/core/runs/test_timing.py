"""Waits of a run."""

from __future__ import annotations

from overbrainer_core.runs.timing import RunTiming


def test_polls_start_short_and_grow_to_two_seconds() -> None:
    timing = RunTiming()
    waits = [timing.poll_first_s]
    for _ in range(10):
        waits.append(timing.next_poll_s(waits[-1]))
    assert waits[0] == 0.2
    assert waits == sorted(waits)
    assert waits[-1] == 2.0


def test_the_limits_are_those_that_people_are_told() -> None:
    timing = RunTiming()
    assert (timing.proof_limit_s, timing.end_limit_s, timing.foreign_request_s) == (1800, 600, 30)
    assert (timing.sample_interval_s, timing.sample_timeout_s, timing.failures_allowed) == (10, 20, 5)
