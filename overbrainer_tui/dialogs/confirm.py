"""How is a question drawn? Rows of label and value, then the answers: `n` is the default and stands on a raised ground.

A text too tall for the screen keeps its paragraphs whole from the top, then one mark; the answers always show.
"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Span, Tone, blank, shown
from overbrainer_tui.dialogs.box import boxed, centred, wrapped
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import OnKey, Piece
from overbrainer_tui.view_models.overlay import Confirm, DialogRow, RowTone

WIDTH = 72
PADDING = 2
LABEL = 12
INSIDE = WIDTH - 2
TEXT_CELLS = INSIDE - 2 * PADDING

_WARN_LABEL = Tone("warn", "bold")


def confirm_piece(confirm: Confirm, rows: Sequence[DialogRow], width: int, height: int, look: Look) -> Piece:
    """The question with these rows, centred on a screen of that size."""
    room = height - 2 - 2 - 1  # header and footer rows stay free, borders, answers
    inside = [*_fitted(rows, room, look), _answers(confirm)]
    return centred(boxed(confirm.title, inside, WIDTH, look), WIDTH, width, height)


def _fitted(rows: Sequence[DialogRow], room: int, look: Look) -> list[Row]:
    """The text with a blank row above and below when there is room, cut after whole paragraphs when there is not."""
    paragraphs = _paragraphs(rows)
    drawn = [[line for row in paragraph for line in _row(row)] for paragraph in paragraphs]
    body: list[Row] = []
    for at, lines in enumerate(drawn):
        gap = [blank(INSIDE)] if body else []
        needed = len(body) + len(gap) + len(lines)
        is_last = at == len(drawn) - 1
        if needed > room - (0 if is_last else 1):
            kept = lines if needed <= room else lines[: max(0, room - 1 - len(body) - len(gap))]
            body += [*gap, *kept] if kept else []
            if not is_last or kept is not lines:
                body = [*body[: room - 1], _mark(look)]
            break
        body += [*gap, *lines]
    if len(body) + 2 <= room:
        return [blank(INSIDE), *body, blank(INSIDE)]
    return [*body, blank(INSIDE)] if len(body) + 1 <= room else body


def _mark(look: Look) -> Row:
    line = Line(INSIDE)
    line.put(PADDING, look.glyphs.cut, DIM)
    return line.row()


def _paragraphs(rows: Sequence[DialogRow]) -> list[list[DialogRow]]:
    """Rows between empty ones."""
    found: list[list[DialogRow]] = [[]]
    for row in rows:
        if row == DialogRow():
            found.append([])
        else:
            found[-1].append(row)
    return [paragraph for paragraph in found if paragraph]


def _row(row: DialogRow) -> list[Row]:
    """One row of a dialog, wrapped under its value."""
    indent = LABEL if row.label else 0
    spans = _value(row)
    lines: list[Row] = []
    for at, wrapped_line in enumerate(wrapped(spans, TEXT_CELLS - indent)):
        line = Line(INSIDE)
        if at == 0 and row.label.strip():
            line.put(PADDING, row.label, _label_tone(row), room=LABEL)
        line.spans(PADDING + indent, wrapped_line)
        lines.append(line.row())
    return lines


def _value(row: DialogRow) -> list[Span]:
    value, remark = shown(row.value), shown(row.remark)
    match row.tone:
        case RowTone.STRONG:
            tone = BRIGHT
        case RowTone.NOTE:
            tone = DIM
        case RowTone.WARNING:
            tone = TEXT
        case _:
            tone = Tone("bright") if remark else TEXT
    spans = [Span(value, tone)]
    if remark:
        spans.append(Span(f"  {remark}", DIM))
    return spans


def _label_tone(row: DialogRow) -> Tone:
    match row.tone:
        case RowTone.HEADING:
            return BRIGHT
        case RowTone.WARNING:
            return _WARN_LABEL
        case _:
            return DIM


def _answers(confirm: Confirm) -> Row:
    """`y start  n cancel `, at the right; the blank before `n` is part of its ground."""
    line = Line(INSIDE)
    at, start, _ = _answer_columns(confirm)
    line.put(start, " ", Tone("text", "", "raised"))
    line.put(start + 1, "n", Tone("bright", "bold", "raised"))
    line.put(start + 2, f" {confirm.no} ", Tone("text", "", "raised"))
    key = Tone("err", "bold") if confirm.is_destructive else Tone("accent_hi", "bold")
    line.put(at, "y", key)
    line.put(at + 1, f" {confirm.yes}", Tone("err_word", "bold") if confirm.is_destructive else TEXT)
    return line.row()


def _answer_columns(confirm: Confirm) -> tuple[int, int, int]:
    """Where `y` begins, where `n` begins, and the column after it, within the borders."""
    end = INSIDE - PADDING
    start = end - cell_width(f" n {confirm.no} ")
    return start - 2 - cell_width(f"y {confirm.yes}"), start, end


def answer_at(confirm: Confirm, column: int) -> OnKey | None:
    """The answer at a column of the box's row of answers."""
    yes, no, end = _answer_columns(confirm)
    inside = column - 1
    if yes <= inside < no - 2:
        return OnKey("y")
    return OnKey("n") if no <= inside < end else None
