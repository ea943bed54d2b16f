"""Text that is not ours is shown, measured and read strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.text import (
    cell_width,
    cut,
    cut_middle,
    drop_controls,
    escape_controls,
    finite,
    one_line,
    parse_number,
    replace_surrogates,
)


def test_control_characters_are_shown() -> None:
    assert escape_controls("a\x1b[31m\rb\n\tc\x00\u202e") == "a\\u{1b}[31m\\rb\\n\\tc\\u{0}\\u{202e}"


def test_ordinary_text_stays() -> None:
    assert escape_controls("日本語 [bold] é") == "日本語 [bold] é"


def test_dropping_controls_can_keep_lines() -> None:
    assert drop_controls("a\r\nb\x07\tc", keep_newlines=True) == "a\nb c"
    assert drop_controls("a\nb") == "ab"


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    assert replace_surrogates("ok \ud83d end") == "ok \ufffd end"


def test_white_space_becomes_one_blank() -> None:
    assert one_line(" a \n\t b ") == "a b"


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("\u2764\ufe0f", 2), ("", 0), ("a\u200bb", 2), ("한글", 4), ("ｱ", 1)],
)
def test_width_is_counted_in_cells(text: str, width: int) -> None:
    assert cell_width(text) == width


def test_a_wide_character_is_never_halved() -> None:
    assert cut("日本語の質問", 6) == "日本…"
    assert cut("日本語", 6) == "日本語"
    assert cut("abc", 0) == ""


@given(st.text(max_size=30), st.integers(min_value=1, max_value=20))
def test_a_cut_text_never_takes_more_cells_than_given(text: str, cells: int) -> None:
    assert cell_width(cut(text, cells)) <= cells
    assert cell_width(cut_middle(text, cells)) <= cells


def test_a_text_cut_in_its_middle_keeps_both_ends() -> None:
    assert cut_middle("pull failed: a: b: c: refused", 17) == "pull failed…fused"
    assert cut_middle("short", 5) == "short"
    assert cut_middle("abcdef", 2) == "a…"
    assert cut_middle("日本語の質問", 7) == "日本…問"


@pytest.mark.parametrize("text", ["nan", "inf", "1_0", "0x10", "", " 1", "1 ", "1e400", "٣", "--1", "1e"])
def test_odd_numbers_are_none(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(("text", "value"), [("1", 1.0), ("-0.5", -0.5), (".5", 0.5), ("1e-7", 1e-7), ("+2.", 2.0)])
def test_decimal_numbers_are_read(text: str, value: float) -> None:
    assert parse_number(text) == value


@pytest.mark.parametrize("value", [True, None, "1", float("nan"), float("inf"), 10**400, [1]])
def test_only_finite_numbers_count(value: object) -> None:
    assert finite(value) is None


def test_integers_and_floats_count() -> None:
    assert finite(3) == 3.0
    assert finite(0.5) == 0.5
