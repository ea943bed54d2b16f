"""The table of runs stands as drawn; long IDs, targets and words never push a column."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_tui.cells import Span, Tone, row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import RunRow, RunsShown
from overbrainer_tui.widgets.runs_table import first_visible, run_id_spans, run_in_row, runs_table, short_run_id
from tests.tui import records


def test_the_table_at_80_columns(look: Look) -> None:
    rows = [row_text(row).rstrip() for row in runs_table(records.runs(), 79, 3, look)]
    assert rows == [
        "  Runs 5 ───────────────────── state ────── target ──────────────── 1 followed",
        "▌ roman_roads_20261102-081500  ● running    cloud                     followed",
        "  roman_roads_20261030-191200  ■ stopped    homelab",
        "  roman_roads_20261028-070001  ✓ succeeded  cloud",
    ]


def test_the_selected_row_is_selected_from_the_second_column(look: Look) -> None:
    row = runs_table(records.runs(), 79, 3, look)[1]
    assert row[0] == Span("▌", Tone("accent"))
    assert {span.tone.on for span in row[1:]} == {"sel"}
    assert width_of(row) == 79


def test_the_table_scrolls_to_the_selected_run(look: Look) -> None:
    rows = [row_text(row) for row in runs_table(records.runs(selected=4), 79, 3, look)]
    assert rows[-1].startswith("▌ roman_roads_20261025-101010")
    assert rows[1].startswith("  roman_roads_20261028")


@pytest.mark.parametrize(
    ("selected", "total", "visible", "first"), [(None, 9, 3, 0), (2, 9, 3, 0), (3, 9, 3, 1), (8, 9, 3, 6), (0, 1, 5, 0)]
)
def test_the_selected_row_is_in_view(selected: int | None, total: int, visible: int, first: int) -> None:
    assert first_visible(selected, total, visible) == first


def test_an_old_list_says_so(look: Look) -> None:
    title = row_text(runs_table(replace(records.runs(), is_stale=True), 79, 3, look)[0])
    assert title.rstrip().endswith("stale: cannot list the runs")


def test_an_id_that_is_too_long_loses_its_start(look: Look) -> None:
    spans = run_id_spans("a_very_long_name_of_a_project_20261102-081500", 24, look, is_selected=False)
    assert spans == [Span("…project_", Tone("dim")), Span("20261102-081500", Tone("text"))]


def test_an_id_without_a_project_is_shown_whole(look: Look) -> None:
    assert run_id_spans("20261102-081500-a1b2", 40, look, is_selected=False) == [
        Span("20261102-081500-a1b2", Tone("text"))
    ]
    assert short_run_id("x_y_20261102-081500") == "20261102-081500"
    assert short_run_id("odd") == "odd"


@pytest.mark.parametrize("width", [78, 90, 118, 137])
@pytest.mark.parametrize("run_id", ["x", "質問" * 30, "p" * 120 + "_20261102-081500", "\x1b[2J"])
def test_rows_keep_their_width_whatever_they_hold(width: int, run_id: str, look: Look, ascii_look: Look) -> None:
    row = RunRow(run_id=run_id, state="cancelled", target="質問" * 20, work="abandoning", is_followed=True)
    shown = RunsShown(rows=(row, replace(row, state="failed")), selected=1, followed=2)
    for drawn_as in (look, ascii_look):
        for drawn in runs_table(shown, width, 5, drawn_as):
            assert width_of(drawn) == width
            assert "\x1b" not in row_text(drawn)
    assert row_text(runs_table(shown, width, 5, look)[1]).endswith(" abandoning ")


@pytest.mark.parametrize(
    ("selected", "row", "run_id"),
    [
        (0, 0, "roman_roads_20261102-081500"),
        (0, 2, "roman_roads_20261028-070001"),
        (4, 0, "roman_roads_20261028-070001"),
        (4, 2, "roman_roads_20261025-101010"),
        (4, 3, None),
    ],
)
def test_a_row_is_the_run_that_is_drawn_in_it(selected: int, row: int, run_id: str | None) -> None:
    assert run_in_row(records.runs(selected=selected), row, 3) == run_id
