"""How is the command palette drawn? A line to type, the commands that match, why one is refused."""

from __future__ import annotations

from overbrainer_core.text import cell_width
from overbrainer_tui.actions import Action, palette_entries, palette_total
from overbrainer_tui.cells import BRIGHT, DIM, FAINT, TEXT, Ground, Line, Row, Tone, blank, shown
from overbrainer_tui.dialogs.box import BORDER, boxed
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Palette

WIDTH = 66
INSIDE = WIDTH - 2
ENTRIES = 9
NOTE = "A command runs exactly what its key runs."
KEY_CELLS = 8
_FIRST = 3
"""The row of the first command in the box: under the border, the line typed and its hairline."""

_MATCH = Tone("accent_hi", "bold")


def palette_piece(state: AppState, palette: Palette, width: int, height: int, look: Look) -> Piece:
    """The palette, in the upper part of the screen."""
    entries = palette_entries(state, palette.input.text)
    top = _top(palette, len(entries))
    visible = entries[top : top + ENTRIES]
    wanted = palette.input.text.strip()
    rows = [_input(palette, len(entries), look), _hairline(look)]
    rows += [
        _entry(action, reason, wanted, look, is_selected=top + at == palette.index)
        for at, (action, reason) in enumerate(visible)
    ]
    rows += [blank(INSIDE)] * (ENTRIES - len(visible))
    rows.append(_note())
    drawn = boxed("Commands", rows, WIDTH, look)
    y = max(1, (height - len(drawn)) // 3)
    return Piece(name="overlay", x=max(0, (width - WIDTH) // 2), y=y, width=WIDTH, rows=drawn)


def _top(palette: Palette, total: int) -> int:
    """The first entry shown, so that the selected one is."""
    return max(0, min(palette.index - ENTRIES + 1, total - ENTRIES))


def command_at(state: AppState, palette: Palette, row: int) -> int | None:
    """The command in a row of the palette's box."""
    total = len(palette_entries(state, palette.input.text))
    index = row - _FIRST + _top(palette, total)
    return index if 0 <= row - _FIRST < ENTRIES and index < total else None


def _input(palette: Palette, found: int, look: Look) -> Row:
    line = Line(INSIDE)
    line.put(1, ":", Tone("accent", "bold"))
    count = f"{found} of {palette_total()}"
    line.put_right(INSIDE - 1, count, DIM)
    before, under, after = palette.input.window(INSIDE - 6 - cell_width(count))
    at = line.put(3, shown(before), TEXT)
    at = line.put(at, under, Tone("bright", "reverse"))
    line.put(at, shown(after), TEXT)
    return line.row()


def _hairline(look: Look) -> Row:
    line = Line(INSIDE)
    line.fill(0, INSIDE, look.glyphs.hairline, BORDER)
    return line.row()


def _entry(action: Action, reason: str | None, wanted: str, look: Look, *, is_selected: bool) -> Row:
    ground: Ground = "sel" if is_selected else "bg"
    line = Line(INSIDE, on=ground)
    if is_selected:
        line.put(0, look.glyphs.bar, Tone("accent", "", "sel"))
    tone = FAINT if reason is not None else BRIGHT if is_selected else TEXT
    end = INSIDE - 1
    key_tone = FAINT if reason is not None else BRIGHT
    line.put_right(end, _key_of(action), key_tone.over(ground))
    where = action.view.value if action.view is not None else ""
    right = line.put_right(end - KEY_CELLS // 2, where, DIM.over(ground))
    at = _title(line, action.title, wanted, tone.over(ground), ground)
    if reason is not None:
        line.put(at + 2, shown(reason), FAINT.over(ground), room=max(0, right - at - 4))
    return line.row()


def _key_of(action: Action) -> str:
    """The key as it is shown, '' for a command without one."""
    return action.keys[0] if action.keys and len(action.keys[0]) == 1 else action.shown


def _title(line: Line, title: str, wanted: str, tone: Tone, ground: Ground) -> int:
    """The title with what was typed marked; the column after it."""
    found = title.lower().find(wanted.lower()) if wanted else -1
    if found < 0:
        return line.put(2, title, tone)
    at = line.put(2, title[:found], tone)
    at = line.put(at, title[found : found + len(wanted)], _MATCH.over(ground))
    return line.put(at, title[found + len(wanted) :], tone)


def _note() -> Row:
    line = Line(INSIDE)
    line.put(2, NOTE, DIM)
    return line.row()
