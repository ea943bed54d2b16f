"""The help fits the smallest screen in every view, and nothing of it is cut."""

from __future__ import annotations

import pytest

from overbrainer_tui.actions import help_rows
from overbrainer_tui.cells import row_text
from overbrainer_tui.dialogs.help import KEY_CELLS, LEFT, RIGHT, WIDTH, help_piece, notes_of
from overbrainer_tui.look import Look
from overbrainer_tui.state import View


@pytest.mark.parametrize("view", list(View))
def test_it_fits_80x24_and_its_note_is_fully_visible(view: View) -> None:
    piece = help_piece(view, 80, 24, Look())
    lines = [row_text(row) for row in piece.rows]
    assert len(lines) <= 24
    assert "…" not in "".join(lines)
    for note in notes_of(is_readonly=False):
        assert any(note in line for line in lines)
    assert any(view.value in line and "Everywhere" in line for line in lines)


@pytest.mark.parametrize("view", list(View))
def test_no_key_and_no_words_are_longer_than_their_column(view: View) -> None:
    for key, words in help_rows(view):
        assert len(key) < KEY_CELLS
        assert len(words) <= WIDTH - 3 - RIGHT - KEY_CELLS
    for key, words in help_rows(None):
        assert len(key) < KEY_CELLS
        assert len(words) <= RIGHT - 1 - LEFT - KEY_CELLS


def test_the_note_names_the_keys_that_the_lock_refuses() -> None:
    assert notes_of(is_readonly=False)[0] == "r A t T are refused while a stage or a start runs."
    assert "--readonly" in notes_of(is_readonly=True)[0]


def test_in_ascii_no_other_character_is_drawn() -> None:
    for view in View:
        assert all(row_text(row).isascii() for row in help_piece(view, 80, 24, Look(is_ascii=True)).rows)
