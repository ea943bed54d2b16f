"""The menu of stages."""

from __future__ import annotations

from overbrainer_tui.cells import row_text
from overbrainer_tui.dialogs.stage_menu import entry_at, stage_menu_piece
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.overlay import StageMenu


def test_every_entry_has_its_description_and_the_selected_one_its_mark() -> None:
    cost = ("costs about $1.20 at most", "480 requests")
    piece = stage_menu_piece(StageMenu(index=2), cost, 80, 24, Look())
    lines = [row_text(row) for row in piece.rows]
    assert lines[0].startswith("╭─ Run on every topic ─")
    assert lines[-1].startswith("╰─ Enter runs, Esc closes ─")
    assert [line[1] for line in lines[2:8]] == [" ", " ", "▌", " ", " ", " "]
    assert "auto        every stage, then training (asks first)" in lines[2]
    assert "run         all four stages; training starts only with t" in lines[7]
    assert {span.tone.on for span in piece.rows[4][1:-1]} == {"sel"}
    assert "costs about $1.20 at most  480 requests" in lines[9]


def test_every_row_can_be_told_from_the_others() -> None:
    assert [entry_at(row) for row in range(11)] == [None, None, 0, 1, 2, 3, 4, 5, None, None, None]
