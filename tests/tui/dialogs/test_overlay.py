"""Which overlay is drawn, and which keys the footer names for it."""

from __future__ import annotations

import pytest

from overbrainer_tui import actions, keys
from overbrainer_tui.cells import row_text
from overbrainer_tui.dialogs.overlay import overlay_hints, overlay_piece, place_in_overlay
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import OnEntries, OnKey, Place
from overbrainer_tui.pipeline_actions import MENU
from overbrainer_tui.state import AppState
from tests.tui.states import app_state


@pytest.mark.parametrize(
    ("key", "hints"),
    [
        ("A", ["y run", "n, Esc or Enter cancel"]),
        ("r", ["j/k move", "Enter run", "Esc close"]),
        ("?", ["Esc close"]),
        (":", ["↑↓ move", "Enter run", "Esc close"]),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_each_overlay_fits_the_screen_and_has_its_hints(key: str, hints: list[str], size: tuple[int, int]) -> None:
    state = app_state()
    state.resize(*size)
    keys.on_key(state, key)
    piece = overlay_piece(state, Look())
    assert piece is not None
    assert 0 <= piece.x <= size[0] - piece.width
    assert 0 <= piece.y <= size[1] - len(piece.rows)
    assert [f"{hint.key} {hint.label}" for hint in overlay_hints(state)] == hints


def test_without_an_overlay_there_is_nothing_to_draw() -> None:
    assert overlay_piece(app_state(), Look()) is None
    assert overlay_hints(app_state()) == ()


def pointed(state: AppState) -> dict[Place, str]:
    """What stands where, by what can be pointed at there."""
    piece = overlay_piece(state, Look())
    assert piece is not None
    found: dict[Place, str] = {}
    for y in range(piece.y, piece.y + len(piece.rows)):
        for x in range(state.width):
            place = place_in_overlay(state, piece, x, y)
            if place is not None:
                found[place] = found.get(place, "") + row_text(piece.rows[y - piece.y])[x - piece.x]
    return found


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_exactly_the_answers_of_a_question_can_be_pointed_at(size: tuple[int, int]) -> None:
    state = app_state()
    state.resize(*size)
    keys.on_key(state, "A")
    assert pointed(state) == {OnKey("y"): "y run", OnKey("n"): " n cancel "}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_entries_of_menu_and_palette_can_be_pointed_at(size: tuple[int, int]) -> None:
    state = app_state()
    state.resize(*size)
    keys.on_key(state, "r")
    entries = pointed(state)
    for at, (name, _) in enumerate(MENU):
        assert entries[OnEntries(at)].strip("│▌ ").startswith(name)
    keys.on_key(state, "escape")
    keys.on_key(state, ":")
    commands = actions.palette_entries(state, "")
    for _ in range(len(commands) - 1):
        keys.on_key(state, "down")
    found = pointed(state)
    shown = sorted(place.index for place in found if isinstance(place, OnEntries) and place.index is not None)
    assert shown == list(range(len(commands) - 9, len(commands)))
    for at in shown:
        assert commands[at][0].title in found[OnEntries(at)]


def test_in_the_help_and_outside_of_a_box_nothing_can_be_pointed_at() -> None:
    state = app_state()
    keys.on_key(state, "?")
    assert pointed(state) == {}
    keys.on_key(state, "escape")
    keys.on_key(state, "r")
    piece = overlay_piece(state, Look())
    assert piece is not None
    for x, y in ((0, 0), (79, 23), (piece.x, piece.y - 1), (piece.x - 1, piece.y), (5000, 12)):
        assert place_in_overlay(state, piece, x, y) is None
