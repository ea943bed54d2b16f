"""What does a view say when it is empty or cannot be read? One left-aligned block, no art."""

from __future__ import annotations

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Span, Tone, shown
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.view_models.snapshots import EmptyShown, ErrorShown

_EMPTY_CELLS, _ERROR_CELLS = 52, 72
_BLOCK_ROWS = 8


def empty_piece(empty: EmptyShown, width: int, height: int, look: Look) -> Piece:
    """A bold sentence, a plain one, then the keys with what they do and need."""
    x = max(2, (width - _EMPTY_CELLS) // 2)
    room = width - 2 - x
    rows = [_text_row(shown(empty.title), BRIGHT, room, look)]
    if empty.line:
        rows.append(_text_row(shown(empty.line), TEXT, room, look))
    if empty.keys:
        rows.append(_text_row("", TEXT, room, look))
    labels = max((cell_width(shown(key.label)) for key in empty.keys), default=0)
    for key in empty.keys:
        line = Line(room)
        line.put(0, key.key, Tone("accent_hi", "bold"))
        line.put(3, shown(key.label), TEXT)
        line.put(3 + labels + 3, shown(key.needs), DIM, mark=look.glyphs.cut)
        rows.append(line.row())
    return _placed("empty", rows, x, room, height)


def error_piece(error: ErrorShown, width: int, height: int, look: Look) -> Piece:
    """What failed, why, what is safe and what to do, the keys."""
    x = max(2, (width - _ERROR_CELLS) // 2)
    room = width - 2 - x
    head = Line(room)
    head.put(0, look.glyphs.failed, Tone("err", "bold"))
    head.put(2, shown(error.title), Tone("err_word", "bold"), mark=look.glyphs.cut)
    rows = [head.row()]
    if error.reason:
        rows.append(_text_row(shown(error.reason), TEXT, room, look, indent=2))
    if error.lines:
        rows.append(_text_row("", TEXT, room, look))
    rows += [_text_row(shown(line), DIM, room, look, indent=2) for line in error.lines]
    if error.keys:
        rows.append(_text_row("", TEXT, room, look))
        keys = Line(room)
        column = 2
        for key in error.keys:
            spans = [Span(key.key, BRIGHT), Span(f" {shown(key.label)}", DIM)]
            column = keys.spans(column, spans) + 3
        rows.append(keys.row())
    return _placed("error", rows, x, room, height)


def _placed(name: str, rows: list[Row], x: int, width: int, height: int) -> Piece:
    """The block a little above the middle, as much of it as there is room for."""
    y = max(1, (height + 2 - _BLOCK_ROWS) // 2 - 1)
    return Piece(name=name, x=x, y=y, width=width, rows=tuple(rows[: max(1, height - y)]))


def _text_row(words: str, tone: Tone, width: int, look: Look, *, indent: int = 0) -> Row:
    line = Line(width)
    line.put(indent, words, tone, mark=look.glyphs.cut)
    return line.row()
