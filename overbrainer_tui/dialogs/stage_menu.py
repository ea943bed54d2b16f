"""How is the menu of stages drawn?"""

from __future__ import annotations

from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Tone, shown
from overbrainer_tui.dialogs.box import boxed, centred
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.pipeline_actions import MENU
from overbrainer_tui.view_models.overlay import StageMenu

TITLE = "Run on every topic"
FOOT = "Enter runs, Esc closes"
NAME_CELLS = 12
WIDTH = 66
_FIRST = 2
"""The row of the first entry in the box: under the border and a blank row."""


def stage_menu_piece(menu: StageMenu, cost: tuple[str, str], width: int, height: int, look: Look) -> Piece:
    """The menu, centred; `cost` is what the entry under the cursor costs, and a remark."""
    inside = [_entry(at, name, words, menu.index, look) for at, (name, words) in enumerate(MENU)]
    empty = Line(WIDTH - 2).row()
    rows = [empty, *inside, empty, _cost(*cost, look=look)]
    return centred(boxed(TITLE, rows, WIDTH, look, foot=FOOT), WIDTH, width, height)


def _cost(value: str, remark: str, *, look: Look) -> Row:
    line = Line(WIDTH - 2)
    at = line.put(2, value, BRIGHT)
    line.put(at + 2, shown(remark), DIM, room=WIDTH - 4 - at - 2, mark=look.glyphs.cut)
    return line.row()


def entry_at(row: int) -> int | None:
    """The entry in a row of the menu's box."""
    return row - _FIRST if 0 <= row - _FIRST < len(MENU) else None


def _entry(at: int, name: str, words: str, selected: int, look: Look) -> Row:
    is_selected = at == selected
    line = Line(WIDTH - 2, on="sel" if is_selected else "bg")
    if is_selected:
        line.put(0, look.glyphs.bar, Tone("accent", "", "sel"))
    line.put(2, name, BRIGHT.over("sel") if is_selected else TEXT)
    line.put(2 + NAME_CELLS, words, DIM.over("sel") if is_selected else DIM)
    return line.row()
