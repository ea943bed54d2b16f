"""The floating box: border, title, foot, wrapping."""

from __future__ import annotations

from overbrainer_tui.cells import DIM, TEXT, Span, blank, row_text
from overbrainer_tui.dialogs.box import boxed, centred, wrapped
from overbrainer_tui.look import Look

UNICODE, ASCII = Look(), Look(is_ascii=True)


def text(rows: object) -> list[str]:
    return [row_text(row) for row in rows]  # type: ignore[attr-defined]


def test_a_box_has_its_title_in_the_border_and_a_foot_below() -> None:
    assert text(boxed("Keys", [blank(18)], 20, UNICODE, foot="Esc closes")) == [
        "╭─ Keys ───────────╮",
        "│                  │",
        "╰─ Esc closes ─────╯",
    ]


def test_without_the_glyphs_it_is_drawn_in_ascii() -> None:
    assert all(row.isascii() for row in text(boxed("Keys", [blank(18)], 20, ASCII)))


def test_a_title_too_long_is_cut() -> None:
    assert text(boxed("a very long title", [], 12, UNICODE))[0] == "╭─ a ver… ─╮"


def test_a_box_stands_in_the_middle() -> None:
    piece = centred(boxed("x", [blank(18)], 20, UNICODE), 20, 80, 24)
    assert (piece.x, piece.y, piece.width) == (30, 10, 20)


def test_words_wrap_with_their_tones_and_a_long_one_is_broken() -> None:
    lines = wrapped([Span("one two", TEXT), Span("  three", DIM)], 8)
    assert [[(span.text, span.tone) for span in line] for line in lines] == [
        [("one", TEXT), (" ", TEXT), ("two", TEXT)],
        [("three", DIM)],
    ]
    assert ["".join(span.text for span in line) for line in wrapped([Span("x" * 10, TEXT)], 4)] == [
        "xxxx",
        "xxxx",
        "xx",
    ]


def test_blanks_between_words_are_kept() -> None:
    (line,) = wrapped([Span("local", TEXT), Span("  local, native", DIM)], 40)
    assert "".join(span.text for span in line) == "local  local, native"
