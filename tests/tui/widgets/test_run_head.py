"""Name, phases, bar, tiles and facts of the selected run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import MachineShown, PhaseShown, Progress, SelectedRun
from overbrainer_tui.widgets.run_head import (
    bar_role,
    bar_row,
    error_row,
    fact_rows,
    facts_row,
    name_row,
    tile_rows,
    tiles,
)
from tests.tui import records

EVALUATING = PhaseShown(text="evaluating 340/1200", short="eval", step=340, total=1200)


def _tiles(run: SelectedRun, count: int, look: Look) -> list[tuple[str, str]]:
    drawn = [tile_rows(tile, 12) for tile in tiles(run, count, look)]
    return [(row_text(label).rstrip(), row_text(value).rstrip()) for label, value in drawn]


def test_the_rail_stands_at_the_right(look: Look) -> None:
    text = row_text(name_row(records.selected_run(), 116, look, is_wide=True))
    assert text.startswith("● roman_roads_20261102-081500 ")
    assert text.endswith("✓ setup  ● train  · finalize  · merge  · retrieve")


def test_pending_steps_go_first_when_the_rail_does_not_fit(look: Look) -> None:
    text = row_text(name_row(records.selected_run(), 60, look, is_wide=True))
    assert text.endswith(" ✓ setup  ● train  · finalize")
    assert width_of(name_row(records.selected_run(), 60, look, is_wide=True)) == 60


def test_an_evaluation_takes_the_running_word_and_the_eta_tile(look: Look) -> None:
    run = replace(records.selected_run(), phase=EVALUATING)
    assert "● evaluating 340/1200  · finalize" in row_text(name_row(run, 116, look, is_wide=True))
    assert ("ETA", "eval") in _tiles(run, 9, look)
    assert row_text(name_row(run, 76, look, is_wide=False)).endswith(" evaluating 340/1200")


@pytest.mark.parametrize("activity", ["starting", "cancelling", "stopping"])
def test_what_is_done_to_a_run_takes_the_running_word(activity: str, look: Look) -> None:
    run = replace(records.selected_run(), activity=activity)
    assert f"● {activity}  · finalize" in row_text(name_row(run, 116, look, is_wide=True))
    assert row_text(name_row(run, 76, look, is_wide=False)).endswith(f" {activity}")


def test_the_narrow_row_has_the_phase_and_the_eta(look: Look) -> None:
    text = row_text(name_row(records.selected_run(), 76, look, is_wide=False))
    assert text == "● roman_roads_20261102-081500                                train   ETA 52m"
    unknown = replace(records.selected_run(), eta_s=None)
    assert row_text(name_row(unknown, 76, look, is_wide=False)).endswith("train   ETA unknown")
    assert ("ETA", "unknown") in _tiles(unknown, 9, look)


def test_a_run_nothing_follows_starts_at_the_margin(look: Look) -> None:
    run = records.selected_run(2600, state="succeeded")
    text = row_text(name_row(run, 76, look, is_wide=False))
    assert text == "roman_roads_20261102-081500                            ✓ succeeded  in 1h24m"


def test_the_narrow_bar_tells_step_and_percent(look: Look) -> None:
    run = records.selected_run()
    text = row_text(bar_row(run, 76, look, ratio=run.progress, is_wide=False))
    assert text == "━" * 19 + "─" * 34 + "    step 940/2600   36%"


def test_the_bar_gives_way_to_long_numbers_and_nothing_else_moves(look: Look) -> None:
    run = replace(records.selected_run(), step=1_000_000, max_steps=1_000_000, percent=100, progress=1.0)
    text = row_text(bar_row(run, 76, look, ratio=1.0, is_wide=False))
    assert text.endswith("  step 1000000/1000000  100%")
    assert len(text) == 76


def test_without_a_length_only_the_step_is_told(look: Look) -> None:
    run = replace(records.selected_run(), max_steps=None, percent=None, progress=None)
    text = row_text(bar_row(run, 76, look, ratio=None, is_wide=False))
    assert text.endswith(" step 940")
    assert "%" not in text


@pytest.mark.parametrize(
    ("state", "role"), [("running", "accent"), ("succeeded", "ok"), ("failed", "gauge"), ("stopped", "gauge")]
)
def test_only_work_and_success_colour_the_bar(state: str, role: str) -> None:
    assert bar_role(records.selected_run(state=state)) == role


def test_the_tiles_of_a_running_run(look: Look) -> None:
    assert _tiles(records.selected_run(), 9, look) == [
        ("step", "940/2600"),
        ("done", "36%"),
        ("ETA", "52m"),
        ("pace", "1.9 s/step"),
        ("epoch", "1.08 of 3"),
        ("loss", "0.7782 ↓"),
        ("eval loss", "0.9196 ↓"),
        ("grad norm", "0.412"),
    ]


def test_the_tiles_of_an_ended_run_that_there_is_room_for(look: Look) -> None:
    labels = [label for label, _ in _tiles(records.selected_run(2600, state="succeeded"), 6, look)]
    assert labels == ["step", "took", "epoch", "loss", "eval loss", "grad norm"]
    assert ("eval loss", "0.9196 ↑") in _tiles(records.selected_run(2600, state="succeeded"), 6, look)


def test_unknown_figures_are_a_dash(look: Look) -> None:
    run = SelectedRun(run_id="r", state="preparing", target="t", is_followed=False)
    values = [value for _, value in _tiles(run, 9, look)]
    assert values == ["-", "-", "unknown", "-", "-", "-", "-", "-"]


def test_the_fact_rows_of_the_narrow_view(look: Look) -> None:
    first, second = fact_rows(records.selected_run(), records.machine(), 76, look)
    assert row_text(first).rstrip() == "epoch 1.08   gpu 97% 95%   vram 89% 88%   from 20261030-191200"
    assert row_text(second).rstrip() == "pace 1.9 s/step   cpu 61%   mem 25%   disk 52%   root 33%"


def test_facts_that_do_not_fit_are_left_out_whole(look: Look) -> None:
    missing = ("points", "12 points missing until the run ends", True)
    run = replace(records.selected_run(), facts=(missing, *records.selected_run().facts))
    first, _ = fact_rows(run, MachineShown(), 76, look)
    assert row_text(first).rstrip() == "epoch 1.08   points 12 points missing until the run ends"
    assert width_of(facts_row(run, 30)) == 30


def test_the_error_is_one_row_of_data(look: Look) -> None:
    row = error_row("job \x1b[31m failed " * 9, 76, look)
    assert row_text(row).startswith("✗ job \\u{1b}[31m failed")
    assert row_text(row).rstrip().endswith("…")
    assert width_of(row) == 76


@pytest.mark.parametrize("width", [20, 40, 76, 116])
def test_every_row_keeps_its_width(width: int, look: Look) -> None:
    steps = tuple(replace(step, progress=Progress.PENDING) for step in records.rail())
    for run in (
        records.selected_run(),
        replace(records.selected_run(), run_id="質問" * 40, rail=steps, phase=EVALUATING),
        records.selected_run(2600, state="failed"),
    ):
        for is_wide in (False, True):
            assert width_of(name_row(run, width, look, is_wide=is_wide)) == width
            assert width_of(bar_row(run, width, look, ratio=0.4, is_wide=is_wide)) == width
        assert [width_of(row) for row in fact_rows(run, records.machine(), width, look)] == [width, width]
