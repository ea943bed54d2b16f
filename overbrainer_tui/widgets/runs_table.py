"""What does the table of runs show, and which rows of it when there is not room for all?"""

from __future__ import annotations

import re

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import DIM, TEXT, WARN, Ground, Line, Row, Span, Tone, shown, slice_cells
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import RunRow, RunsShown
from overbrainer_tui.widgets.badges import run_mark
from overbrainer_tui.widgets.last_drawn import last_drawn
from overbrainer_tui.widgets.panel import title_row

MIN_ID_CELLS = 21
"""Cells of the run column at least."""

MARGIN = 2
"""Columns left of the panel: the selection's bar and a blank."""

EDGE = 1
"""Columns right of the panel that are selected with a row."""

_STATE_CELLS, _MIN_TARGET, _MAX_TARGET, _WORK_CELLS = 11, 8, 20, 10
_STAMP = re.compile(r"(\d{8}-\d{6}(-[0-9a-f]{4})?)$")


@last_drawn
def runs_table(runs: RunsShown, width: int, visible: int, look: Look) -> tuple[Row, ...]:
    """Title and rows, `width` cells wide; the selection's two columns stand left of the panel, one cell right of it."""
    columns = _columns(runs, width)
    meta: list[Span] = []
    if runs.is_stale:
        meta = [Span("stale: cannot list the runs", WARN)]
    elif runs.followed:
        meta = [Span(f"{runs.followed} followed", DIM)]
    headers = [(columns[1] - MARGIN, "state"), (columns[2] - MARGIN, "target")] if runs.rows else []
    title = title_row(
        width - MARGIN - EDGE, "Runs", look, note=str(len(runs.rows)), meta=meta, headers=headers, focused=True
    )
    rows = [(Span(" " * MARGIN, TEXT), *title, Span(" ", TEXT))]
    first = first_visible(runs.selected, len(runs.rows), visible)
    for index, run in enumerate(runs.rows[first : first + visible], first):
        rows.append(_run_row(run, width, columns, look, is_selected=index == runs.selected))
    return tuple(rows)


def run_in_row(runs: RunsShown, row: int, visible: int) -> str | None:
    """The ID of the run in a row under the title, of a table with that many visible rows."""
    index = first_visible(runs.selected, len(runs.rows), visible) + row
    return runs.rows[index].run_id if 0 <= index < len(runs.rows) else None


def first_visible(selected: int | None, total: int, visible: int) -> int:
    """The first row shown, so that the selected one is among the `visible` ones."""
    if selected is None or selected < visible:
        return 0
    return min(selected - visible + 1, max(0, total - visible))


def _columns(runs: RunsShown, width: int) -> tuple[int, int, int]:
    """Columns of run, state and target."""
    longest = max((cell_width(shown(run.run_id)) for run in runs.rows), default=0)
    target = max((cell_width(shown(run.target)) for run in runs.rows), default=0)
    target = max(_MIN_TARGET, min(_MAX_TARGET, target))
    room = width - EDGE - MARGIN - 2 - _STATE_CELLS - 2 - target - 2 - _WORK_CELLS
    run = min(max(MIN_ID_CELLS, longest), max(MIN_ID_CELLS, room))
    state = MARGIN + run + 2
    return MARGIN, state, state + _STATE_CELLS + 2


def _run_row(run: RunRow, width: int, columns: tuple[int, int, int], look: Look, *, is_selected: bool) -> Row:
    ground: Ground = "sel" if is_selected else "bg"
    line = Line(width, on=ground)
    if is_selected:
        line.put(0, look.glyphs.bar, Tone("accent", "", "bg") if look.paints_ground else Tone("accent"))
    run_end = columns[1] - 2
    line.spans(MARGIN, run_id_spans(run.run_id, run_end - MARGIN, look, is_selected=is_selected))
    name = Tone("bright", "bold") if is_selected else TEXT
    word = Tone("err_word", "bold") if run.state == "failed" else name
    mark = run_mark(run.state, look.glyphs)
    line.put(columns[1], mark.text, mark.tone)
    line.put(columns[1] + 2, shown(run.state), word, room=_STATE_CELLS - 2)
    rest = TEXT if is_selected else DIM
    work = shown(run.work)
    end = line.width - EDGE - cell_width(work) - 1 if work else line.width - EDGE
    line.put(columns[2], shown(run.target), rest, room=max(1, end - columns[2] - 1), mark=look.glyphs.cut)
    line.put_right(width - EDGE, work, Tone("accent_hi") if is_selected else TEXT)
    return _with_bar_ground(line.row(), look) if is_selected else line.row()


def _with_bar_ground(row: Row, look: Look) -> Row:
    """The row with the selection's bar on the ordinary ground: only what is right of it is selected."""
    first = row[0]
    bar = first.text[:1]
    rest = first.text[1:]
    spans = [Span(bar, Tone("accent"))]
    if rest:
        spans.append(Span(rest, first.tone))
    return (*spans, *row[1:])


def run_id_spans(run_id: str, room: int, look: Look, *, is_selected: bool) -> list[Span]:
    """The ID: project dim, moment in full strength; one that is too long loses its start."""
    name = shown(run_id)
    excess = cell_width(name) - room
    if excess > 0:
        name = look.glyphs.cut + slice_cells(name, excess + 1, cell_width(name))
    match = _STAMP.search(name)
    prefix = name[: match.start()] if match else ""
    strong = Tone("bright", "bold") if is_selected else TEXT
    spans = [Span(prefix, TEXT if is_selected else DIM), Span(name[len(prefix) :], strong)]
    return [span for span in spans if span.text]


def short_run_id(run_id: str) -> str:
    """The moment of an ID without its project: `20261030-191200`."""
    match = _STAMP.search(run_id)
    return match.group(1) if match else run_id
