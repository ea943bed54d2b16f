"""The Logs view: lines as drawn, one row each, shifted to be read to their end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from textual.app import App

from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import text_of
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import LogRow, LogSource, LogsShown, SearchShown
from overbrainer_tui.views.logs import LogsView, logs_pieces
from tests.tui import records

Check = Callable[[str, Sequence[str]], None]


def _lines(shown: LogsShown, width: int, height: int, look: Look) -> list[str]:
    return [line.rstrip() for line in text_of(logs_pieces(shown, width, height - 2, look), width, height - 2)]


@pytest.mark.parametrize(("width", "height", "count"), [(80, 24, 20), (120, 40, 35)])
def test_frames(width: int, height: int, count: int, look: Look, check_frame: Check) -> None:
    check_frame(f"logs-{width}x{height}", _lines(records.logs(count), width, height, look))


def test_the_first_lines_at_80_by_24_stand_as_drawn(look: Look) -> None:
    assert _lines(records.logs(), 80, 24, look)[:8] == [
        "  Logs INFO and above ───────────────────────── 4 newer lines below: G follows",
        "",
        "  08:15:02  INFO   pipeline  split: train 1906, eval 212",
        "  08:15:09  INFO   runs      run roman_roads_20261102-081500 created on cloud",
        "  08:16:40  WARN   runpod    no stock for NVIDIA RTX A5000; trying NVIDIA A40",
        "  08:17:02  INFO   runpod    pod p7k2m9x4 created, $1.19/h",
        "  08:19:33  INFO   runs      job started",
        "  08:27:12  ERROR  llm       503 Service Unavailable from openrouter; 3 of 5 …",
    ]


def test_following_says_nothing_of_newer_lines(look: Look) -> None:
    assert _lines(records.logs(newer=0), 80, 24, look)[0] == "  Logs INFO and above " + "─" * 56
    assert "1 newer line below" in _lines(records.logs(newer=1), 80, 24, look)[0]


def test_a_shifted_line_is_read_to_its_end(look: Look) -> None:
    line = _lines(records.logs(shift=16), 80, 24, look)[7]
    assert line == "  08:27:12  ERROR  llm       …ilable from openrouter; 3 of 5 tries used"
    assert _lines(records.logs(shift=600), 80, 24, look)[7].endswith("llm       …")


def test_lines_of_a_job_have_no_columns(look: Look) -> None:
    shown = LogsShown(source=LogSource.JOB, run_id="r_1", rows=(LogRow(text="step 1"), LogRow(text="x" * 200)))
    lines = _lines(shown, 80, 24, look)
    assert lines[0].startswith("  Logs job of run r_1 ───")
    assert lines[2] == "  step 1"
    assert lines[3] == "  " + "x" * 75 + "…"


def test_a_note_stands_in_the_place_of_lines(look: Look) -> None:
    shown = LogsShown(source=LogSource.OWN, note="nothing logged at this level yet")
    assert _lines(shown, 80, 24, look)[1] == "  nothing logged at this level yet"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 55)])
def test_foreign_text_is_one_row_of_data(width: int, height: int, look: Look) -> None:
    row = LogRow(text="\x1b[2J [/] 質問\nnext " * 30, level="ERROR", area="質" * 30, time=records.START)
    shown = LogsShown(source=LogSource.OWN, rows=(row,) * 100, shift=3)
    for piece in logs_pieces(shown, width, height - 2, look):
        assert all(width_of(drawn) == piece.width for drawn in piece.rows)
        assert piece.y + len(piece.rows) <= height - 2
        assert not any("\x1b" in row_text(drawn) for drawn in piece.rows)


def test_the_newest_lines_are_kept_when_there_are_too_many(look: Look) -> None:
    rows = tuple(replace(records.log_row(0), text=f"line {n}") for n in range(100))
    lines = _lines(LogsShown(source=LogSource.OWN, rows=rows), 80, 24, look)
    assert lines[-1].endswith("line 99")


async def test_the_same_lines_paint_nothing(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    view = LogsView(StyleTable(look))
    async with drawing_app(view).run_test(size=(80, 22)) as pilot:
        view.show(records.logs())
        await pilot.pause()
        before = view.painted_regions
        view.show(records.logs())
        await pilot.pause()
        assert view.painted_regions == before
        view.show(records.logs(newer=5))
        assert view.painted_regions == before + 1


def _search(**changes: object) -> SearchShown:
    return replace(SearchShown(text="error", at=3, total=17, row=2), **changes)


@pytest.mark.parametrize(("width", "newer"), [(80, 0), (80, 4), (120, 4), (80, 14000)])
def test_what_is_looked_for_stands_in_the_title_and_fits(look: Look, width: int, newer: int) -> None:
    title = _lines(replace(records.logs(newer=newer), search=_search()), width, 24, look)[0]
    assert "Logs INFO and above  / error  3 of 17" in title
    assert ("G follows" in title) is bool(newer)
    assert len(title) <= width - 2
    long_text = "a very long text that is looked for " * 3
    typed = replace(records.logs(newer=newer), search=_search(text=long_text, typed=(long_text, 5)))
    assert len(_lines(typed, width, 24, look)[0]) <= width - 2


def test_without_a_match_the_title_says_none(look: Look) -> None:
    lines = _lines(replace(records.logs(), search=SearchShown(text="zebra")), 80, 24, look)
    assert "/ zebra  none" in lines[0]
    assert "/  " in _lines(replace(records.logs(), search=SearchShown(text="", typed=("", 0))), 80, 24, look)[0]


def test_matches_are_marked_and_the_line_looked_at_is_selected(look: Look) -> None:
    shown = replace(records.logs(), search=_search(text="RUN", row=1))
    lines = next(piece for piece in logs_pieces(shown, 80, 22, look) if piece.name == "lines")
    row = next(row for row in lines.rows if "roman_roads" in row_text(row))
    assert {span.tone.on for span in row} == {"sel"}
    marked = [span.text for span in row if span.tone.role == "accent_hi"]
    assert marked == ["run"]
    assert {span.tone.on for other in lines.rows if other is not row for span in other} == {"bg"}


def test_a_match_in_a_shifted_and_cut_line_is_marked_where_it_stands(look: Look) -> None:
    words = "x" * 30 + " needle [red] " + "y" * 90 + " needle"
    shown = LogsShown(
        source=LogSource.JOB, run_id="r1", rows=(LogRow(text=words),), shift=8, search=_search(text="needle [red]")
    )
    lines = next(piece for piece in logs_pieces(shown, 80, 22, look) if piece.name == "lines")
    row = lines.rows[0] if "needle" in row_text(lines.rows[0]) else lines.rows[1]
    text = row_text(row)
    assert text.rstrip().endswith("…")
    before = text[: text.index("needle")]
    at = 0
    for span in row:
        if span.tone.role == "accent_hi":
            assert (at, span.text) == (len(before), "needle [red]")
        at += len(span.text)
