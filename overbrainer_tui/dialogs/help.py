"""Which keys does the help list? Everywhere at the left, the view shown at the right, both from the action table."""

from __future__ import annotations

from overbrainer_tui.actions import ACTIONS, help_rows
from overbrainer_tui.cells import DIM, TEXT, Line, Row, Tone
from overbrainer_tui.dialogs.box import boxed, centred
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.state import View

WIDTH = 78
LEFT, RIGHT = 2, 39
KEY_CELLS = 11

_HEADING = Tone("accent_hi", "bold")
_KEY = Tone("bright", "bold")


def help_piece(view: View, width: int, height: int, look: Look, *, is_readonly: bool = False) -> Piece:
    """The help of a view, centred."""
    here, everywhere = help_rows(view), help_rows(None)
    count = max(len(here), len(everywhere))
    inside = [Line(WIDTH - 2).row(), _headings(view)]
    inside += [_keys(everywhere[at : at + 1], here[at : at + 1], look) for at in range(count)]
    notes = notes_of(is_readonly=is_readonly)
    if len(inside) + len(notes) + 5 <= height:
        inside.append(Line(WIDTH - 2).row())
    inside += [_note(text) for text in notes]
    return centred(boxed("Keys", inside, WIDTH, look), WIDTH, width, height)


def notes_of(*, is_readonly: bool) -> tuple[str, ...]:
    """What stands under the keys."""
    if is_readonly:
        return ("Opened with --readonly: nothing can be started, stopped or cancelled.",)
    keys = " ".join(action.keys[0] for action in ACTIONS if action.is_locked)
    return (
        f"{keys} are refused while a stage or a start runs.",
        "This window holds the project lock: other writing commands are refused.",
    )


def _headings(view: View) -> Row:
    line = Line(WIDTH - 2)
    line.put(LEFT, "Everywhere", _HEADING)
    line.put(RIGHT, view.value, _HEADING)
    return line.row()


def _keys(left: tuple[tuple[str, str], ...], right: tuple[tuple[str, str], ...], look: Look) -> Row:
    line = Line(WIDTH - 2)
    for column, end, entries in ((LEFT, RIGHT - 1, left), (RIGHT, WIDTH - 3, right)):
        for key, words in entries:
            line.put(column, _plain(key) if look.is_ascii else key, _KEY, room=KEY_CELLS - 1)
            line.put(column + KEY_CELLS, words, TEXT, room=end - column - KEY_CELLS)
    return line.row()


def _plain(key: str) -> str:
    """A key's name without arrows, for terminals that have none."""
    return "".join(char for char in key if char.isascii()).strip()


def _note(text: str) -> Row:
    line = Line(WIDTH - 2)
    line.put(LEFT, text, DIM)
    return line.row()
