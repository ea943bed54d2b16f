"""Where does each part of the Training view stand at a given size, and what is dropped when it is short?

Narrow: runs, the run's head, its chart, one under another. From 120 columns the machine, facts and messages stand right
of the chart, from 160 right of everything. Dropped in this order when rows are short: blank rows, `grad`, `lr`, runs
down to one. Never dropped: the bar row, a loss chart of five rows, the final error.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from overbrainer_tui.cells import DIM, WARN, Line, Row
from overbrainer_tui.cells import shown as drawable
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.view_models.snapshots import LARGE_ROWS, Level, SelectedRun, TrainingShown
from overbrainer_tui.widgets.charts import ChartInput, ChartShape
from overbrainer_tui.widgets.machine import machine_panel
from overbrainer_tui.widgets.notice import empty_piece, error_piece
from overbrainer_tui.widgets.panel import title_row
from overbrainer_tui.widgets.run_head import (
    MIN_TILE,
    bar_row,
    error_row,
    fact_rows,
    facts_row,
    is_live,
    name_row,
    tile_rows,
    tiles,
)
from overbrainer_tui.widgets.run_panels import messages_panel, run_panel, wrapped
from overbrainer_tui.widgets.runs_table import EDGE, MARGIN, runs_table

WIDE_COLUMNS = 120
LARGE_COLUMNS = 160
TALL_ROWS = 50
MIN_RAIL, MAX_RAIL = 48, 58
RAIL_GAP = 3
MIN_PLOT_ROWS = 5
GOOD_PLOT_ROWS = 8
"""Rows of the plot below which the small multiples take one row each."""

MIN_ROWS_UNDER_RUNS = 14
"""Rows under the runs from which the rail is shown."""

_TALL_NARROW_PLOT = 15
"""Rows of the plot that messages under it leave in the narrow view."""


class TrainingLayout(Struct, frozen=True, kw_only=True):
    """Columns and rows of the view's parts; `rail_width` is 0 without a rail, `rail_y` its first row."""

    top: int
    bottom: int
    left_width: int
    rail_width: int
    rail_y: int
    visible_runs: int
    gap: int
    head_y: int
    head_rows: int
    chart: ChartShape
    messages_rows: int
    is_wide: bool


def training_layout(shown: TrainingShown, width: int, height: int) -> TrainingLayout:
    """The places of everything, for a view of that size (the screen without header and footer)."""
    is_large = height + 2 >= LARGE_ROWS
    is_wide, is_full = width >= WIDE_COLUMNS, width >= LARGE_COLUMNS
    top, bottom = (1, height - 1) if is_large else (0, height)
    most = 5 if is_large else 3
    runs = max(1, min(most, len(shown.runs.rows)))
    rail = _rail_width(width) if is_wide else 0
    if rail and bottom - top - 1 - runs < MIN_ROWS_UNDER_RUNS:
        rail = 0
    left = width - 4 - (rail + RAIL_GAP if is_full and rail else 0)
    head = _head_rows(shown.selected, is_wide=is_wide)
    chart_width = left if is_full or not rail else left - rail - RAIL_GAP
    shape = ChartShape(
        x=MARGIN,
        y=0,
        width=chart_width,
        plot_rows=0,
        left_gutter=5 if width >= 100 else 4,
        has_axis=is_large,
        lr_rows=2 if is_large else 1,
        grad_rows=3 if is_large else 1,
    )
    runs, gap, shape = _fitted(bottom - top - 1 - head, runs, shape)
    head_y = top + 1 + runs + gap
    chart_y = head_y + head + gap
    messages = 0
    spare = shape.plot_rows - _TALL_NARROW_PLOT
    if not rail and shown.selected is not None and spare >= 3 and shown.selected.messages:
        messages = min(5, spare)
        shape = replace(shape, plot_rows=shape.plot_rows - messages)
    return TrainingLayout(
        top=top,
        bottom=bottom,
        left_width=left,
        rail_width=rail,
        rail_y=top if is_full else chart_y,
        visible_runs=runs,
        gap=gap,
        head_y=head_y,
        head_rows=head,
        chart=replace(shape, y=chart_y),
        messages_rows=messages,
        is_wide=is_wide,
    )


def _rail_width(width: int) -> int:
    """48 cells at 120 columns, 58 from 160 on."""
    return MAX_RAIL if width >= LARGE_COLUMNS else min(MAX_RAIL, MIN_RAIL + (width - WIDE_COLUMNS) // 4)


def _head_rows(run: SelectedRun | None, *, is_wide: bool) -> int:
    """Rows of name, bar and tiles or facts; in the narrow view facts and the error of an ended run are rows too."""
    if run is None:
        return 0
    extra = 0
    if not is_wide:
        extra += (not is_live(run) and bool(run.facts)) + (final_error(run) is not None)
    return 4 + extra


def final_error(run: SelectedRun) -> str | None:
    """The error that ended the run's task, when it is the last message."""
    if run.messages and run.messages[-1].level is Level.ERROR:
        return run.messages[-1].text
    return None


def _fitted(room: int, runs: int, shape: ChartShape) -> tuple[int, int, ChartShape]:
    """Runs, blank rows between the parts, and the chart with every row that is left; see the order in the module."""
    gap = 1

    def plot() -> int:
        return room - runs - 2 * gap - shape.height + shape.plot_rows

    if plot() < GOOD_PLOT_ROWS:
        shape = replace(shape, lr_rows=1, grad_rows=1)
    if plot() < MIN_PLOT_ROWS:
        gap = 0
    while plot() < MIN_PLOT_ROWS and shape.grad_rows:
        shape = replace(shape, grad_rows=shape.grad_rows - 1)
    while plot() < MIN_PLOT_ROWS and shape.lr_rows:
        shape = replace(shape, lr_rows=shape.lr_rows - 1)
    while plot() < MIN_PLOT_ROWS and runs > 1:
        runs -= 1
    return runs, gap, replace(shape, plot_rows=max(1, plot()))


def chart_input(run: SelectedRun) -> ChartInput | None:
    """What the run's chart shows; None when there is no curve."""
    if run.series is None:
        return None
    return ChartInput(series=run.series, is_running=is_live(run), is_fitted=run.is_fitted, cursor=run.cursor)


def training_pieces(
    shown: TrainingShown, width: int, height: int, look: Look, *, bar_ratio: float | None = None
) -> list[Piece]:
    """Everything but the chart, which is drawn less often; `bar_ratio` is how far the bar has come."""
    if shown.error is not None or shown.empty is not None or not shown.runs.rows:
        return _notice(shown, width, height, look)
    layout = training_layout(shown, width, height)
    table_width = MARGIN + layout.left_width + EDGE
    table = runs_table(shown.runs, table_width, layout.visible_runs, look)
    pieces = [Piece(name="runs", x=0, y=layout.top, width=table_width, rows=table)]
    run = shown.selected
    if run is None:
        return pieces
    ratio = run.progress if bar_ratio is None else bar_ratio
    pieces += _head(shown, run, layout, look, ratio)
    if run.series is None:
        pieces.append(_no_chart(run, layout, look))
    if layout.messages_rows:
        y = layout.chart.y + layout.chart.height + layout.gap
        rows = messages_panel(run.messages, layout.left_width, layout.messages_rows - layout.gap, look)
        pieces.append(_panel("messages", MARGIN, y, layout.left_width, rows))
    if layout.rail_width:
        pieces += _rail(shown, run, layout, look, is_tall=height + 2 >= TALL_ROWS)
    return [piece for piece in pieces if piece.rows]


def _notice(shown: TrainingShown, width: int, height: int, look: Look) -> list[Piece]:
    layout = training_layout(shown, width, height)
    table = runs_table(shown.runs, width - EDGE, 1, look)
    pieces = [Piece(name="runs", x=0, y=layout.top, width=width - EDGE, rows=table[:1])]
    if shown.error is not None:
        pieces.append(error_piece(shown.error, width, height, look))
    elif shown.empty is not None:
        pieces.append(empty_piece(shown.empty, width, height, look))
    return pieces


def _head(
    shown: TrainingShown, run: SelectedRun, layout: TrainingLayout, look: Look, ratio: float | None
) -> list[Piece]:
    """Name and phases, the bar, then a piece for each tile, or the facts."""
    width, y = layout.left_width, layout.head_y
    rows = [(name_row(run, width, look, is_wide=layout.is_wide))]
    bar = bar_row(run, width, look, ratio=ratio, is_wide=layout.is_wide)
    pieces = [_panel("name", MARGIN, y, width, rows), _panel("bar", MARGIN, y + 1, width, (bar,))]
    y += 2
    if layout.is_wide or not is_live(run):
        pieces += _tile_pieces(run, width, y, look)
        y += 2
        if not layout.is_wide and run.facts:
            pieces.append(_panel("facts", MARGIN, y, width, (facts_row(run, width),)))
            y += 1
    else:
        first, second = fact_rows(run, shown.machine, width, look)
        pieces += [_panel("facts", MARGIN, y, width, (first,)), _panel("facts-2", MARGIN, y + 1, width, (second,))]
        y += 2
    error = final_error(run)
    if error is not None and not layout.is_wide:
        pieces.append(_panel("error-row", MARGIN, y, width, (error_row(error, width, look),)))
    return pieces


def _tile_pieces(run: SelectedRun, width: int, y: int, look: Look) -> list[Piece]:
    cells = max(MIN_TILE, width // 9)
    made = tiles(run, width // cells, look)
    return [
        _panel(f"tile-{tile.name}", MARGIN + index * cells, y, cells, tile_rows(tile, cells))
        for index, tile in enumerate(made)
    ]


def _no_chart(run: SelectedRun, layout: TrainingLayout, look: Look) -> Piece:
    """Why there is no curve; in the narrow view also, whole, why the run ended, which its row of facts cuts."""
    shape = layout.chart
    said = [(line, DIM) for line in wrapped(run.no_chart, shape.width, 2, look.glyphs.cut)]
    if not layout.is_wide:
        for _, value, is_warning in run.facts:
            if is_warning:
                said += [
                    ("", DIM),
                    *((line, WARN) for line in wrapped(drawable(value), shape.width, 4, look.glyphs.cut)),
                ]
    rows = [title_row(shape.width, "Loss", look)]
    for words, tone in said[: max(1, shape.height - 1)]:
        line = Line(shape.width)
        line.put(0, words, tone)
        rows.append(line.row())
    return _panel("no-chart", shape.x, shape.y, shape.width, rows)


def _rail(shown: TrainingShown, run: SelectedRun, layout: TrainingLayout, look: Look, *, is_tall: bool) -> list[Piece]:
    """System, Run, Messages from the top: Run goes first when rows are short, Messages keep one."""
    width, room = layout.rail_width, layout.bottom - layout.rail_y
    system = machine_panel(shown.machine, width, look, tall=is_tall)[:room]
    facts = run_panel(run, width, look)
    messages_least = 3 if run.messages else 0
    if len(system) + layout.gap + len(facts) + layout.gap + messages_least > room:
        facts = ()
    left = room - len(system) - (len(facts) + layout.gap if facts else 0) - layout.gap
    messages = messages_panel(run.messages, width, left, look)
    pieces, y = [], layout.rail_y
    x = layout.left_width + MARGIN - width if layout.rail_y == layout.chart.y else layout.left_width + MARGIN + RAIL_GAP
    for name, rows in (("system", system), ("run", facts), ("messages", messages)):
        if rows:
            pieces.append(_panel(name, x, y, width, rows))
            y += len(rows) + layout.gap
    return pieces


def _panel(name: str, x: int, y: int, width: int, rows: tuple[Row, ...] | list[Row]) -> Piece:
    return Piece(name=name, x=x, y=y, width=width, rows=tuple(rows))
