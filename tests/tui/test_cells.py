"""Rows are exactly as wide as asked, whatever is put in them."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import (
    DIM,
    ERR,
    TEXT,
    Line,
    Span,
    Tone,
    blank,
    fitting_start,
    join,
    row_text,
    shown,
    slice_cells,
    width_of,
)

SAMPLES = (
    "plain",
    "質問と答え",
    "a質b",
    "e\u0301te\u0301",
    "👩\u200d🚀 crew",
    "❤\ufe0f",
    "\x1b[31mred",
    "x\u202ey",
    "[/] [a] weight [/bold]",
)


def test_texts_stand_at_their_columns_with_blanks_between() -> None:
    line = Line(12)
    line.put(2, "ab", DIM)
    line.put_right(12, "99")
    assert row_text(line.row()) == "  ab      99"


def test_what_is_put_later_covers_what_was_there() -> None:
    line = Line(8)
    line.fill(0, 8, "-", DIM)
    line.put(3, "ok", TEXT)
    assert line.row() == (Span("---", DIM), Span("ok", TEXT), Span("---", DIM))


def test_half_of_a_wide_character_under_a_cover_becomes_a_blank() -> None:
    line = Line(6)
    line.put(0, "質問", DIM)
    line.put(1, "x", TEXT)
    assert row_text(line.row()) == " x問  "


@pytest.mark.parametrize("text", SAMPLES)
@pytest.mark.parametrize("width", range(12))
def test_a_row_is_as_wide_as_asked_for_any_text(text: str, width: int) -> None:
    line = Line(width)
    line.put(1, shown(text))
    assert width_of(line.row()) == width


@pytest.mark.parametrize("text", SAMPLES)
def test_our_widths_are_those_the_framework_counts(text: str) -> None:
    assert cell_width(shown(text)) == cell_len(shown(text))


def test_controls_are_shown_and_markup_stays_text() -> None:
    assert shown("\x1b[31mred\n") == "\\u{1b}[31mred\\n"
    assert shown("weight [/bold]") == "weight [/bold]"


@pytest.mark.parametrize(("start", "end", "expected"), [(0, 2, "質"), (1, 3, "  "), (1, 4, " 問"), (0, 4, "質問")])
def test_slices_never_halve_a_wide_character(start: int, end: int, expected: str) -> None:
    assert slice_cells("質問", start, end) == expected


def test_blanks_join_the_span_before_them_unless_they_would_be_seen() -> None:
    struck = Tone("faint", "strike")
    assert join([Span("a", DIM), Span("  ", TEXT)]) == (Span("a  ", DIM),)
    assert join([Span("a", struck), Span(" ", TEXT)]) == (Span("a", struck), Span(" ", TEXT))
    assert join([Span("✗", ERR), Span(" ", TEXT)]) == (Span("✗", ERR), Span(" ", TEXT))


def test_random_puts_keep_the_width() -> None:
    chance = random.Random(1)
    for _ in range(300):
        width = chance.randrange(1, 40)
        line = Line(width)
        for _ in range(chance.randrange(6)):
            line.put(chance.randrange(width), shown(chance.choice(SAMPLES)), chance.choice((TEXT, DIM)))
        assert width_of(line.row()) == width


def test_an_empty_row_has_no_span() -> None:
    assert blank(0) == ()
    assert row_text(blank(3)) == "   "


@pytest.mark.parametrize(
    ("text", "cells", "start"),
    [
        ("runs/demo/output", 40, "runs/demo/output"),
        ("/srv/projects/roman_roads/runs/roman_roads_20261102", 39, "/srv/projects/roman_roads/runs/"),
        ("/srv/projects/roman_roads/runs/x", 31, "/srv/projects/roman_roads/runs/"),
        ("a/" + "b" * 60, 20, "a/" + "b" * 18),
        ("b" * 60, 20, "b" * 20),
        ("日本語の質問", 5, "日本"),
        ("日本語", 1, "日"),
    ],
)
def test_a_text_is_broken_after_a_separator_of_its_path(text: str, cells: int, start: str) -> None:
    assert fitting_start(text, cells) == start
