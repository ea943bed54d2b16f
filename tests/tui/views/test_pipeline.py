"""The Pipeline view: frames as drawn; results and the final error stay on a short screen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from textual.app import App

from overbrainer_core.values.stage import Stage
from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import text_of
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import EmptyShown, ItemError, PipelineShown, Progress
from overbrainer_tui.views.pipeline import PipelineView, pipeline_pieces
from tests.tui import records

Check = Callable[[str, Sequence[str]], None]
MakeApp = Callable[..., App[None]]


def _lines(shown: PipelineShown, width: int, height: int, look: Look) -> list[str]:
    pieces = pipeline_pieces(shown, width, height - 2, look)
    return [line.rstrip() for line in text_of(pieces, width, height - 2)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_frames(width: int, height: int, look: Look, check_frame: Check) -> None:
    check_frame(f"pipeline-{width}x{height}", _lines(records.pipeline(), width, height, look))


def test_the_view_at_80_by_24_stands_as_drawn(look: Look) -> None:
    assert _lines(records.pipeline(), 80, 24, look) == [
        "  Pipeline answers ────────────────────────── done  in flight  retries  failed",
        "  ✓ subtopics   ━━━━━━━━━━━━━━━              16/16          ·        ·       ·",
        "  ✓ questions   ━━━━━━━━━━━━━━━            320/320          ·        ·       ·",
        "  ● answers     ━━━━━━━━━━─────   66%      214/320         12        3       1",
        "  · split       pending",
        "",
        "  auto   subtopics ✓ → questions ✓ → answers ● → split → train",
        "",
        "  tokens in       tokens out      cost",
        "  129402          410221          $0.0111+",
        "",
        "  Last errors 3 ──────────────────────────────────────────────────────────────",
        "  · answers   51aa…0c3e  503 Service Unavailable; retrying in 2.0s",
        "  · answers   7be2…44f0  429 Too Many Requests; retrying in 8.0s",
        "  ✗ answers   90fe…d871  gave up after 5 tries: empty reply",
        "",
        "  Results ───── done  skipped  failed  excluded  tokens in    out ───── cost",
        "  ✓ subtopics     16        ·       ·         ·       2.1k    480    $0.0009",
        "  ✓ questions    320        ·       ·         ·        31k   8.0k    $0.0102",
        "",
        "",
        "",
    ]


def test_the_oldest_errors_go_first_and_the_final_error_stays(look: Look) -> None:
    errors = tuple(
        ItemError(stage=Stage.ANSWERS, item=f"item{n}", text=f"failure {n}", is_final=True) for n in range(5)
    )
    results = records.pipeline().results * 2
    shown = replace(
        records.pipeline(), errors=errors, errors_total=7, results=results, error="answers stopped: no connection"
    )
    lines = _lines(shown, 80, 24, look)
    text = "\n".join(lines)
    assert "Last errors 7" in text
    assert "failure 0" not in text
    assert "failure 4" in text
    assert "✗ answers stopped: no connection" in text
    assert text.count("✓ subtopics") == 3


def test_without_a_chain_its_rows_are_free(look: Look) -> None:
    lines = _lines(replace(records.pipeline(), chain=()), 80, 24, look)
    assert lines[6] == "  tokens in       tokens out      cost"


def test_lost_events_stand_under_the_stages(look: Look) -> None:
    lines = _lines(replace(records.pipeline(), lost_events=12), 80, 24, look)
    assert lines[5].startswith("  ! 12 events skipped by a slow screen")


def test_a_view_where_nothing_ran_names_the_key(look: Look) -> None:
    shown = PipelineShown(command=None, rows=(), empty=EmptyShown(title="Nothing ran yet", line="r runs a stage."))
    lines = _lines(shown, 80, 24, look)
    assert lines[0].startswith("  Pipeline ────")
    assert lines[7].strip() == "Nothing ran yet"


def test_any_content_fits_any_size(look: Look, ascii_look: Look) -> None:
    chance = random.Random(10)
    for _ in range(100):
        width, height = chance.randrange(80, 200), chance.randrange(22, 60)
        error = ItemError(stage=Stage.ANSWERS, item="質" * 20, text="[/] \x1b[2J 質問 " * 30, is_final=True)
        rows = tuple(replace(row, progress=chance.choice(list(Progress))) for row in records.pipeline().rows)
        shown = replace(
            records.pipeline(),
            rows=rows,
            errors=(error,) * chance.randrange(6),
            error=chance.choice((None, "broken " * 60)),
            chain=chance.choice(((), records.pipeline().chain)),
        )
        for piece in pipeline_pieces(shown, width, height, chance.choice((look, ascii_look))):
            assert all(width_of(row) == piece.width for row in piece.rows), piece.name
            assert piece.y + len(piece.rows) <= height, piece.name


async def test_a_bar_closes_on_its_value_and_then_rests(look: Look, drawing_app: MakeApp) -> None:
    now = [5.0]
    view = PipelineView(StyleTable(look), clock=lambda: now[0])
    async with drawing_app(view).run_test(size=(80, 22)) as pilot:
        view.show(records.pipeline())
        await pilot.pause()
        before = view.painted_regions
        view.show(records.pipeline())
        assert view.painted_regions == before
        assert not view.is_waiting()
        rows = list(records.pipeline().rows)
        rows[2] = replace(rows[2], finished=320)
        view.show(replace(records.pipeline(), rows=tuple(rows)))
        assert "320/320" in row_text(view.rows_of("counts-answers")[0])
        assert row_text(view.rows_of("bar-answers")[0]).count("━") == 10
        assert view.is_waiting()
        now[0] += 9
        view.redraw()
        assert row_text(view.rows_of("bar-answers")[0]).count("━") == 15
        assert not view.is_waiting()
