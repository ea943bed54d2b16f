"""Which overlay is drawn, and which keys the footer names for it."""

from __future__ import annotations

import pytest

from overbrainer_tui import keys
from overbrainer_tui.dialogs.overlay import overlay_hints, overlay_piece
from overbrainer_tui.look import Look
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
