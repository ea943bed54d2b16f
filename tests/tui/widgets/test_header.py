"""The header has brand, tabs and the project's name, and nothing shifts when work begins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from overbrainer_tui.cells import Span, Tone, row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import HeaderShown, Tab
from overbrainer_tui.widgets.header import header_row, tab_at
from tests.tui import records

SIX = ("Project", "Dataset", "Pipeline", "Training", "Logs", "Compare")


def _six(*, work: tuple[str, ...] = ("Training",), selected: str = "Training") -> HeaderShown:
    tabs = tuple(
        Tab(key=str(n), name=name, is_selected=name == selected, has_work=name in work) for n, name in enumerate(SIX, 1)
    )
    return HeaderShown(tabs=tabs, project="roman_roads")


def test_the_header_at_120_columns(look: Look) -> None:
    assert row_text(header_row(_six(), 120, look)).rstrip() == (
        " ⠿ overbrainer    1 Project  2 Dataset  3 Pipeline  4 Training• 5 Logs  6 Compare"
        "                           roman_roads"
    )


def test_the_header_at_80_columns(look: Look) -> None:
    assert row_text(header_row(_six(), 80, look)).rstrip() == (
        " ⠿ 1 Project  2 Dataset  3 Pipeline  4 Training• 5 Logs  6 Compare  roman_roads"
    )


def test_nothing_shifts_when_work_begins(look: Look) -> None:
    idle, busy = (row_text(header_row(_six(work=work), 80, look)) for work in ((), SIX))
    assert idle == busy.replace("•", " ")


def test_the_selected_tab_stands_on_raised_ground(look: Look) -> None:
    row = header_row(records.header(), 120, look)
    assert Span("4 ", Tone("accent", "", "raised")) in row
    assert Span("Training", Tone("bright", "bold", "tab")) in row
    assert Span("•", Tone("accent", "", "raised")) in row


def test_without_grounds_only_the_name_of_the_selected_tab_is_marked(mono: Look) -> None:
    row = header_row(records.header(), 120, mono)
    assert {span.tone.on for span in row} == {"surface", "tab"}


@pytest.mark.parametrize("name", ["質問" * 30, "x" * 200, "\x1b[2J", ""])
@pytest.mark.parametrize("width", [80, 99, 100, 120, 200])
def test_a_long_name_is_cut_and_the_row_keeps_its_width(name: str, width: int, look: Look) -> None:
    row = header_row(replace(_six(), project=name), width, look)
    assert width_of(row) == width
    assert "\x1b" not in row_text(row)
    assert "6 Compare" in row_text(row)


def test_a_click_finds_its_tab() -> None:
    header = records.header()
    assert tab_at(header, 120, 18) == "3"
    assert tab_at(header, 120, 31) == "4"
    assert tab_at(header, 120, 3) is None
    assert tab_at(header, 80, 3) == "3"
    assert tab_at(header, 80, 79) is None
