"""The palette as it is drawn."""

from __future__ import annotations

from overbrainer_tui.actions import palette_total
from overbrainer_tui.cells import row_text
from overbrainer_tui.dialogs.commands import ENTRIES, palette_piece
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.input import OneLineInput
from overbrainer_tui.view_models.overlay import Palette
from tests.tui.states import app_state


def drawn(text: str = "", index: int = 0) -> list[str]:
    palette = Palette(input=OneLineInput(text), index=index)
    return [row_text(row) for row in palette_piece(app_state(), palette, 80, 24, Look()).rows]


def test_it_shows_what_was_typed_how_many_match_and_the_first_selected() -> None:
    lines = drawn("cancel")
    assert lines[0].startswith("╭─ Commands ─")
    assert lines[1].startswith("│ : cancel")
    assert lines[1].rstrip("│ ").endswith(f"2 of {palette_total()}")
    assert lines[3].startswith("│▌ Cancel auto mode")
    assert lines[3].rstrip("│ ").endswith("Pipeline   c")


def test_a_refused_command_is_faint_with_its_reason() -> None:
    palette = Palette(input=OneLineInput("attach"))
    piece = palette_piece(app_state(), palette, 80, 24, Look())
    assert "Attach: follow this run  no run to attach" in row_text(piece.rows[3])
    assert any(span.tone.role == "faint" and "no run" in span.text for span in piece.rows[3])


def test_what_was_typed_is_marked_in_the_title() -> None:
    palette = Palette(input=OneLineInput("logs"))
    piece = palette_piece(app_state(), palette, 80, 24, Look())
    assert any(span.tone.role == "accent_hi" and span.text == "Logs" for span in piece.rows[3])


def test_a_long_list_scrolls_with_the_cursor_and_the_box_keeps_its_height() -> None:
    first, last = drawn(), drawn(index=palette_total() - 1)
    assert len(first) == len(last) == len(drawn("nothing like this")) == ENTRIES + 5
    assert first[3] != last[3]
    assert last[3 + ENTRIES - 1].startswith("│▌")


def test_the_cursor_is_the_only_reversed_cell() -> None:
    piece = palette_piece(app_state(), Palette(input=OneLineInput("ab")), 80, 24, Look())
    reversed_cells = [span.text for row in piece.rows for span in row if span.tone.weight == "reverse"]
    assert reversed_cells == [" "]
