"""A short series of signals at every stage of a training's life; the long one is run by hand (`series_kills`)."""

from __future__ import annotations

import pytest

from tests.e2e.series_kills import POINTS, cases, play_all


@pytest.mark.timeout(180)
def test_whatever_is_struck_no_job_is_lost_and_the_project_tells_the_truth() -> None:
    assert play_all(cases(seed=20, count=12)) == []


def test_a_series_is_the_same_for_the_same_seed_and_meets_every_point() -> None:
    chosen = cases(seed=3, count=len(POINTS))
    assert chosen == cases(seed=3, count=len(POINTS))
    assert {case.point for case in chosen} == set(POINTS)
