"""Overlays are values that can be compared."""

from __future__ import annotations

from overbrainer_tui.view_models.overlay import Answer, Confirm, DialogRow, Help, Palette, RowTone, StageMenu


def test_equal_questions_are_equal_and_rows_default_to_plain() -> None:
    def question() -> Confirm:
        return Confirm(title="t", rows=(DialogRow(label="a"),), yes="y", no="n", on_yes=Answer.QUIT)

    assert question() == question()
    assert question().rows[0].tone is RowTone.PLAIN
    assert Help() == Help()


def test_a_menu_begins_at_its_first_entry_and_each_palette_has_an_input_of_its_own() -> None:
    assert StageMenu().index == 0
    first, second = Palette(), Palette()
    first.input.on_key("x")
    assert second.input.text == ""
