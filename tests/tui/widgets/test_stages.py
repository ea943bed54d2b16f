"""Stages, chain, figures, errors and results of the Pipeline view."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_core.values.stage import Exclusion, SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import Cost, PipelineShown, Progress, StageResult, StageRow
from overbrainer_tui.widgets.stages import (
    error_rows,
    figure_tiles,
    lost_row,
    result_rows,
    stage_bar,
    stage_counts,
)
from tests.tui import records


def _bar(row: StageRow, look: Look, *, ratio: float | None = None) -> str:
    return row_text(stage_bar(row, 29, look, ratio=ratio)).rstrip()


def test_a_running_stage(look: Look) -> None:
    row = records.pipeline().rows[2]
    assert _bar(row, look) == "● answers     ━━━━━━━━━━─────"
    assert row_text(stage_counts(row, look)) == "   66%      214/320         12        3       1"


def test_zeros_that_mean_fine_are_dots(look: Look) -> None:
    assert row_text(stage_counts(records.pipeline().rows[0], look)) == (
        "              16/16          ·        ·       ·"
    )


def test_a_stage_that_did_not_start_has_no_bar_and_no_counts(look: Look) -> None:
    row = StageRow(stage=Stage.SPLIT, progress=Progress.PENDING)
    assert _bar(row, look) == "· split       pending"
    assert row_text(stage_counts(row, look)).strip() == ""
    assert _bar(replace(row, progress=Progress.ABSENT), look) == "  split"


def test_a_stage_of_no_items_counts_as_full(look: Look) -> None:
    row = StageRow(stage=Stage.ANSWERS, progress=Progress.DONE, total=0)
    assert _bar(row, look) == "✓ answers     " + "━" * 15
    assert "0/0" in row_text(stage_counts(row, look))


def test_a_stopped_stage_says_so_behind_what_is_done(look: Look) -> None:
    row = StageRow(stage=Stage.ANSWERS, progress=Progress.STOPPED, finished=1, total=10)
    assert _bar(row, look) == "✗ answers     ━╾ stopped ────"
    full = replace(row, finished=9)
    assert _bar(full, look) == "✗ answers     ━━━━━━━━━━━━━╾─"
    assert _bar(replace(row, total=None), look) == "✗ answers     stopped"


def test_failed_items_are_told_by_the_mark(look: Look) -> None:
    row = StageRow(stage=Stage.ANSWERS, progress=Progress.FAILED, finished=10, total=10, failed=1)
    assert _bar(row, look).startswith("✗ answers")


def test_a_bar_on_its_way_shows_how_far_it_has_come(look: Look) -> None:
    assert _bar(records.pipeline().rows[2], look, ratio=0.5) == "● answers     ━━━━━━━╾───────"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Cost(usd=0.0111, is_partial=True), "$0.0111+"),
        (Cost(usd=None), "cost ?"),
        (None, "-"),
        (Cost(usd=0.0), "$0.0000"),
    ],
)
def test_cost_is_told_with_what_is_unknown(cost: Cost | None, text: str) -> None:
    tiles = dict(figure_tiles(replace(records.pipeline(), cost=cost)))
    assert row_text(tiles["cost"][1]).strip() == text


def test_errors_hang_under_their_text(look: Look) -> None:
    errors = records.pipeline().errors
    long = replace(errors[2], text="word " * 30)
    rows = [row_text(row) for row in error_rows((*errors[:2], long), 7, 76, look)]
    assert rows[0].startswith("Last errors 7 ───")
    assert rows[1].rstrip() == "· answers   51aa…0c3e  503 Service Unavailable; retrying in 2.0s"
    assert rows[3].startswith("✗ answers   90fe…d871  word word")
    assert rows[4].startswith(" " * 23 + "word")
    assert rows[4].rstrip().endswith("…")
    assert error_rows((), 0, 76, look) == ()


def test_results_are_a_table(look: Look) -> None:
    rows = [row_text(row).rstrip() for row in result_rows(records.pipeline(), 76, look)]
    assert rows == [
        "Results ───── done  skipped  failed  excluded  tokens in    out ───── cost",
        "✓ subtopics     16        ·       ·         ·       2.1k    480    $0.0009",
        "✓ questions    320        ·       ·         ·        31k   8.0k    $0.0102",
    ]


def test_a_split_tells_what_it_wrote_and_left_out(look: Look) -> None:
    report = SplitReport(train=190, eval=24, orphaned=2, excluded=((Exclusion.TRUNCATED, 3),))
    result = StageResult(stage=Stage.SPLIT, progress=Progress.DONE, stats=StageStats(), split=report)
    shown = PipelineShown(command="split", rows=(), results=(result,))
    text = row_text(result_rows(shown, 76, look)[1]).rstrip()
    assert text == "✓ split       train 190   eval 24   truncated 3   orphaned 2"


def test_a_stage_with_tokens_but_no_price_has_unknown_cost(look: Look) -> None:
    stats = StageStats(done=1, failed=2, usage=Usage(input_tokens=1_500_000, output_tokens=5))
    result = StageResult(stage=Stage.ANSWERS, progress=Progress.FAILED, stats=stats)
    text = row_text(result_rows(PipelineShown(command="answers", rows=(), results=(result,)), 76, look)[1])
    assert text.rstrip() == "✗ answers        1        ·       2         ·       1.5M      5     cost ?"


def test_the_error_that_ended_the_task_is_wrapped(look: Look) -> None:
    shown = PipelineShown(command="answers", rows=(), error="answers stopped: [red]\x1b[0m " + "x " * 100)
    rows = result_rows(shown, 76, look)
    assert len(rows) == 3
    assert row_text(rows[0]).startswith("✗ answers stopped: [red]\\u{1b}[0m x")
    assert all(width_of(row) == 76 for row in rows)


def test_lost_events_are_told(look: Look) -> None:
    assert row_text(lost_row(1, 76, look)).startswith("! 1 event skipped by a slow screen; counts catch up")
    assert row_text(lost_row(12, 76, look)).startswith("! 12 events skipped")
