"""`overbrainer run`, killed again and again, ends with the records of an undisturbed run and pays for nothing twice.

The short form of a series; `python -m tests.peers.pipeline_kills` is the long one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.pipeline_kills import CONCURRENCY, run_series

KILLS = 6
QUESTIONS = 40


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    series = run_series(tmp_path, kills=KILLS, questions=QUESTIONS, seed=7)
    assert series.differences == []
    assert series.asked_again == []
    assert series.kills == KILLS
    assert max(series.lost_answers) <= CONCURRENCY
    assert series.paid_answers <= QUESTIONS + KILLS * CONCURRENCY
    assert series.paid_lists <= series.undisturbed_lists + KILLS * CONCURRENCY
