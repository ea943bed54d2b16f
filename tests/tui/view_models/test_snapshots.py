"""The few rules that the drawn values carry."""

from __future__ import annotations

from overbrainer_core.values.stage import Stage
from overbrainer_tui.view_models.snapshots import Progress, StageRow, log_rows


def test_the_ratio_of_a_stage_is_between_nothing_and_all() -> None:
    def ratio(finished: int, total: int | None) -> float:
        return StageRow(stage=Stage.SPLIT, progress=Progress.RUNNING, finished=finished, total=total).ratio

    assert [ratio(0, None), ratio(1, 4), ratio(9, 4), ratio(0, 0)] == [0.0, 0.25, 1.0, 1.0]


def test_a_log_leaves_room_for_what_stands_around_it() -> None:
    assert [log_rows(height) for height in (24, 27, 28, 40, 1)] == [20, 23, 23, 35, 1]
