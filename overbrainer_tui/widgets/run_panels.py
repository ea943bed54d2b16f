"""What do the panels right of the chart show besides the machine: facts of the run, messages of its task?"""

from __future__ import annotations

from overbrainer_core.text import cell_width, char_width
from overbrainer_tui import text
from overbrainer_tui.cells import DIM, FAINT, TEXT, WARN, Line, Row, Tone, fitting_start, shown
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import Level, MessageRow, SelectedRun
from overbrainer_tui.widgets.last_drawn import last_drawn
from overbrainer_tui.widgets.panel import title_row

LABEL_CELLS = 9
"""Cells of a label in the rail; values start right after."""

MAX_WRAPPED = 3
"""Rows of one fact or message at most."""


def run_panel(run: SelectedRun, width: int, look: Look) -> tuple[Row, ...]:
    """`Run` with what it was started with and its facts, long ones wrapped; empty without any."""
    return _facts_panel(run.about, run.facts, width, look)


@last_drawn
def _facts_panel(
    about: tuple[tuple[str, str], ...], facts: tuple[tuple[str, str, bool], ...], width: int, look: Look
) -> tuple[Row, ...]:
    if not about and not facts:
        return ()
    rows = [title_row(width, "Run", look)]
    for label, value in about:
        rows += _labelled(label, DIM, shown(value), TEXT, width=width, look=look)
    for label, value, is_warning in facts:
        rows += _labelled(shown(label), DIM, shown(value), WARN if is_warning else TEXT, width=width, look=look)
    return tuple(rows)


@last_drawn
def messages_panel(messages: tuple[MessageRow, ...], width: int, room: int, look: Look) -> tuple[Row, ...]:
    """`Messages` in at most `room` rows, the newest kept in view; empty without any or without room for one."""
    if not messages or room < 2:
        return ()
    rows: list[Row] = []
    for message in reversed(messages):
        tone = _message_tone(message)
        added = _labelled(text.clock(message.time, seconds=False), FAINT, shown(message.text), tone,
                          width=width, look=look)  # fmt: skip
        if len(rows) + len(added) > room - 1:
            if not rows:
                rows = added[: room - 1]
            break
        rows = added + rows
    return (title_row(width, "Messages", look), *rows)


def _message_tone(message: MessageRow) -> Tone:
    match message.level:
        case Level.ERROR:
            return Tone("err_word", "bold")
        case Level.WARNING:
            return WARN
        case Level.INFO:
            return TEXT


def _labelled(label: str, label_tone: Tone, value: str, tone: Tone, *, width: int, look: Look) -> list[Row]:
    rows = []
    for index, part in enumerate(wrapped(value, width - LABEL_CELLS, MAX_WRAPPED, look.glyphs.cut)):
        line = Line(width)
        if index == 0:
            line.put(0, label, label_tone, room=LABEL_CELLS - 1)
        line.put(LABEL_CELLS, part, tone)
        rows.append(line.row())
    return rows


def wrapped(value: str, cells: int, most: int, mark: str) -> list[str]:
    """The text in at most `most` rows of `cells` cells, broken at blanks or in paths, the last one cut."""
    rows: list[str] = []
    rest = value
    while rest and len(rows) < most:
        if cell_width(rest) <= cells:
            rows.append(rest)
            return rows
        if len(rows) == most - 1:
            break
        head = _head(rest, cells)
        at = head.rfind(" ")
        taken = head[:at] if at > cells // 2 else fitting_start(rest, cells)
        rows.append(taken)
        rest = rest[len(taken) :].lstrip()
    if rest:
        rows.append(_cut_row(rest, cells, mark))
    return rows or [""]


def _head(value: str, cells: int) -> str:
    used = 0
    for index, char in enumerate(value):
        used += char_width(char)
        if used > cells:
            return value[: max(1, index)]
    return value


def _cut_row(value: str, cells: int, mark: str) -> str:
    return value if cell_width(value) <= cells else _head(value, cells - cell_width(mark)) + mark
