"""Empty and broken views say what is, what is safe, and the next key."""

from __future__ import annotations

import pytest

from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import text_of
from overbrainer_tui.view_models.snapshots import EmptyKey, EmptyShown, ErrorShown
from overbrainer_tui.widgets.notice import empty_piece, error_piece

EMPTY = EmptyShown(
    title="No runs yet",
    line="t starts one on cloud, after asking what it may cost.",
    keys=(
        EmptyKey(key="r", label="write questions and answers", needs="320 questions, 0 answers"),
        EmptyKey(key="t", label="train Qwen3-0.6B on them", needs="needs a train split"),
        EmptyKey(key="C", label="compare it with its parent", needs="needs an export"),
    ),
)
ERROR = ErrorShown(
    title="data/answers.jsonl cannot be read",
    reason="line 2107 is not valid JSON (column 18)",
    lines=("Nothing was changed. The 2106 lines before it are whole.", "Fix or remove the line, then reload."),
    keys=(EmptyKey(key="R", label="reloads"), EmptyKey(key="5", label="logs")),
)


def _lines(piece_of: object, width: int, height: int) -> list[str]:
    return [line.rstrip() for line in text_of([piece_of], width, height)]  # type: ignore[list-item]


def test_an_empty_view_at_80_by_24(look: Look) -> None:
    lines = _lines(empty_piece(EMPTY, 80, 22, look), 80, 22)
    assert lines[7:13] == [
        "              No runs yet",
        "              t starts one on cloud, after asking what it may cost.",
        "",
        "              r  write questions and answers   320 questions, 0 answers",
        "              t  train Qwen3-0.6B on them      needs a train split",
        "              C  compare it with its parent    needs an export",
    ]


def test_a_broken_view_at_80_by_24(look: Look) -> None:
    lines = _lines(error_piece(ERROR, 80, 22, look), 80, 22)
    assert lines[7:14] == [
        "    ✗ data/answers.jsonl cannot be read",
        "      line 2107 is not valid JSON (column 18)",
        "",
        "      Nothing was changed. The 2106 lines before it are whole.",
        "      Fix or remove the line, then reload.",
        "",
        "      R reloads   5 logs",
    ]


@pytest.mark.parametrize(("width", "height", "x", "y"), [(120, 38, 34, 15), (80, 22, 14, 7)])
def test_the_block_stands_where_it_is_drawn(width: int, height: int, x: int, y: int, look: Look) -> None:
    piece = empty_piece(EMPTY, width, height, look)
    assert (piece.x, piece.y) == (x, y)


def test_long_and_foreign_text_is_cut_and_shown(look: Look) -> None:
    piece = error_piece(ErrorShown(title="\x1b[2J" * 40, reason="質" * 90), 80, 22, look)
    assert all(width_of(row) == piece.width for row in piece.rows)
    assert "\\u{1b}" in row_text(piece.rows[0])
