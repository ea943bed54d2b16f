"""Changed cells are found exactly, so that little is painted again."""

from __future__ import annotations

import random

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Span, row_text
from overbrainer_tui.pieces import Piece, changed_cells, text_of


def _row(text: str) -> Row:
    line = Line(20)
    line.put(0, "loss", DIM)
    line.put(6, text, BRIGHT)
    line.put(14, "end", TEXT)
    return line.row()


def test_one_changed_digit_is_one_cell() -> None:
    assert changed_cells(_row("0.7782"), _row("0.7792")) == (10, 11)


def test_a_changed_tone_is_the_span() -> None:
    before = (Span("abc", DIM), Span("def", TEXT))
    after = (Span("abc", DIM), Span("def", BRIGHT))
    assert changed_cells(before, after) == (3, 6)


def test_every_change_lies_within_what_is_told() -> None:
    chance = random.Random(4)
    texts = ["a", "質", "bb", "⠿", "zz質"]
    for _ in range(500):
        rows = []
        for _ in range(2):
            line = Line(16)
            for _ in range(3):
                line.put(chance.randrange(16), chance.choice(texts), chance.choice((TEXT, DIM)))
            rows.append(line.row())
        before, after = rows
        if before == after:
            continue
        start, end = changed_cells(before, after)
        assert 0 <= start < end <= 16
        assert _cells(before)[:start] == _cells(after)[:start]
        assert _cells(before)[end:] == _cells(after)[end:]


def _cells(row: Row) -> list[tuple[str, object]]:
    cells: list[tuple[str, object]] = []
    for text, tone in row:
        for char in text:
            cells += [(char, tone)] * cell_width(char)
    return cells


def test_pieces_stand_where_they_say() -> None:
    piece = Piece(name="a", x=2, y=1, width=3, rows=((Span("abc", TEXT),),))
    assert text_of([piece], 6, 3) == ["      ", "  abc ", "      "]
    assert row_text(piece.rows[0]) == "abc"
