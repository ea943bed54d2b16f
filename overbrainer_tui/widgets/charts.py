"""How is the chart of a run drawn: loss, lr and grad norm on one x axis, in any size?

The title row, a left gutter, the plot in slices and a right gutter are pieces of their own, so that one more point
repaints little. Paint order: grid, now line, cursor, raw points, eval line, train line, eval marks, labels.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

from msgspec import Struct

from overbrainer_core.text import cell_width
from overbrainer_tui import text
from overbrainer_tui.cells import BRIGHT, DIM, TEXT, Line, Row, Span, Tone
from overbrainer_tui.charting.columns import Column, KeptColumns
from overbrainer_tui.charting.scales import XScale, x_scale, y_scale
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece
from overbrainer_tui.view_models.snapshots import CursorShown, Points, RunSeries
from overbrainer_tui.widgets.axis import axis_row, tick_row
from overbrainer_tui.widgets.loss_plot import LossLayers, loss_rows
from overbrainer_tui.widgets.multiples import Multiple, multiple_rows
from overbrainer_tui.widgets.panel import title_row
from overbrainer_tui.widgets.slices import part_of

RIGHT_GUTTER = 9
"""Cells right of the plot: a blank and the widest value."""

SLICE_CELLS = 16
"""Cells of a plot's slice: what changes is resent from the left edge of its slice."""

EVAL, TRAIN = Tone("eval"), Tone("train")


class ChartInput(Struct, frozen=True, kw_only=True):
    """What a chart shows; equal inputs draw equal charts."""

    series: RunSeries
    is_running: bool
    is_fitted: bool = False
    cursor: CursorShown | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Cheap to compare: curves by their revision."""
        return (self.series.run_id, self.series.revision, self.is_running, self.is_fitted, self.cursor)


class ChartShape(Struct, frozen=True, kw_only=True):
    """Where a chart stands and which rows it has."""

    x: int
    y: int
    width: int
    plot_rows: int
    left_gutter: int = 5
    has_axis: bool = True
    lr_rows: int = 2
    grad_rows: int = 3

    @property
    def plot_width(self) -> int:
        """Cells of the plot."""
        return max(10, self.width - self.left_gutter - 1 - RIGHT_GUTTER)

    @property
    def plot_x(self) -> int:
        """The first column of the plot."""
        return self.x + self.left_gutter + 1

    @property
    def height(self) -> int:
        """Rows of the whole chart, its title included."""
        return 1 + self.plot_rows + self.has_axis + 1 + self.lr_rows + self.grad_rows


class ChartMemory:
    """The columns of the four curves of a run, kept between repaints of one chart."""

    def __init__(self) -> None:
        self._run_id = ""
        self._kept: dict[str, KeptColumns] = {}

    def columns(self, series: RunSeries, name: str, scale: XScale) -> dict[int, Column]:
        """The columns of a curve of the series: `loss`, `eval_loss`, `lr` or `grad_norm`."""
        if series.run_id != self._run_id:
            self._run_id, self._kept = series.run_id, {}
        points: Points = getattr(series, name)
        return self._kept.setdefault(name, KeptColumns()).of(points.steps, points.values, scale)


def chart_pieces(chart: ChartInput, shape: ChartShape, look: Look, *, memory: ChartMemory | None = None) -> list[Piece]:
    """The chart as pieces; a memory makes the next repaint of the same run cost what is new."""
    series, width = chart.series, shape.plot_width
    steps = _steps(series)
    scale = x_scale(steps, max_steps=series.max_steps, cells=width, is_fitted=chart.is_fitted)
    memory = memory or ChartMemory()
    loss_columns = memory.columns(series, "loss", scale)
    eval_columns = memory.columns(series, "eval_loss", scale)
    ends = [end for columns in (loss_columns, eval_columns) for column in columns.values()
            for end in (column.low, column.high)]  # fmt: skip
    vertical = y_scale(ends, shape.plot_rows)
    layers = LossLayers(series, loss_columns, eval_columns, chart.is_running, chart.cursor, scale, vertical)
    loss = loss_rows(layers, width, shape.plot_rows, look)
    multiples = _multiples(series, shape, memory, scale)
    below = [multiple_rows(multiple, width, look) for multiple in multiples]
    gutter = _left_gutter(shape, loss.ticks, multiples)
    values = _right_gutter(shape, loss.gutter, multiples)
    x, y = shape.x, shape.y + 1
    title = chart_title(chart, shape.width, look, is_log=vertical.is_log)
    pieces = [
        Piece(name="chart-title", x=x, y=shape.y, width=shape.width, rows=(title,)),
        Piece(name="chart-left", x=x, y=y, width=shape.left_gutter + 1, rows=gutter),
        Piece(name="chart-right", x=x + shape.width - RIGHT_GUTTER, y=y, width=RIGHT_GUTTER, rows=values),
    ]
    axis = [axis_row(scale, width, look)] if shape.has_axis else []
    ticks = tick_row(scale, width, now=_now(chart, steps), cursor=chart.cursor)
    for start in range(0, width, SLICE_CELLS):
        end = min(width, start + SLICE_CELLS)
        rows = [*loss.plot.rows(start, end), *(part_of(row, start, end) for row in (*axis, ticks))]
        rows += [row for plot in below for row in plot.rows(start, end)]
        column = shape.plot_x + start
        pieces.append(Piece(name=f"chart-{start}", x=column, y=y, width=end - start, rows=tuple(rows)))
    return pieces


def step_at(chart: ChartInput, shape: ChartShape, column: int) -> int | None:
    """The step with a point that is drawn nearest to a column of the plot; None right of the newest one."""
    series = chart.series
    steps = series.loss.steps or series.eval_loss.steps
    if not steps:
        return None
    width = shape.plot_width
    scale = x_scale(_steps(series), max_steps=series.max_steps, cells=width, is_fitted=chart.is_fitted)
    if column > scale.cell(steps[-1]) + 1:
        return None
    after = bisect_left(steps, column, key=scale.cell)
    beside = steps[max(0, after - 1) : after + 1]
    return min(beside, key=lambda step: abs(scale.cell(step) - column))


def _now(chart: ChartInput, steps: tuple[int, ...]) -> int | None:
    return steps[-1] if chart.is_running and steps else None


def _steps(series: RunSeries) -> tuple[int, ...]:
    """First and last step of everything drawn."""
    ends = [points.steps[index] for points in (series.loss, series.eval_loss, series.lr, series.grad_norm)
            if points.steps for index in (0, -1)]  # fmt: skip
    if series.last_step is not None:
        ends.append(series.last_step)
    return (min(ends), max(ends)) if ends else ()


def _multiples(series: RunSeries, shape: ChartShape, memory: ChartMemory, scale: XScale) -> list[Multiple]:
    drawn = []
    if shape.lr_rows:
        value = text.learning_rate(series.lr.values[-1]) if series.lr.values else ""
        columns = memory.columns(series, "lr", scale)
        drawn.append(Multiple("lr", columns, shape.lr_rows, value, Tone("lr")))
    if shape.grad_rows:
        value = text.grad_norm(series.grad_norm.values[-1]) if series.grad_norm.values else ""
        columns = memory.columns(series, "grad_norm", scale)
        drawn.append(Multiple("grad", columns, shape.grad_rows, value, Tone("gn"), is_peak=True))
    return drawn


def _left_gutter(shape: ChartShape, ticks: list[tuple[int, float]], multiples: list[Multiple]) -> tuple[Row, ...]:
    """Labels of the y axis, then the names of the small multiples, all ending in one column."""
    labels = {row: text.axis_value(value, shape.left_gutter) for row, value in ticks}
    at = shape.plot_rows + shape.has_axis + 1
    for multiple in multiples:
        labels[at + (multiple.rows - 1) // 2] = multiple.name
        at += multiple.rows
    return tuple(_label_row(labels.get(row, ""), shape.left_gutter) for row in range(at))


@lru_cache(maxsize=256)
def _label_row(label: str, gutter: int) -> Row:
    line = Line(gutter + 1)
    line.put_right(gutter, label, DIM)
    return line.row()


def _right_gutter(shape: ChartShape, ends: list[tuple[int, str, Tone]], multiples: list[Multiple]) -> tuple[Row, ...]:
    """Newest values: of loss and eval loss where their lines end, of lr and grad norm on their last row."""
    at = shape.plot_rows + shape.has_axis + 1
    lines = [Line(RIGHT_GUTTER) for _ in range(at + sum(multiple.rows for multiple in multiples))]
    for row, value, tone in ends:
        lines[row].put(1, value, tone)
    for multiple in multiples:
        at += multiple.rows
        lines[at - 1].put_right(RIGHT_GUTTER, multiple.value, TEXT)
    return tuple(line.row() for line in lines)


def chart_title(chart: ChartInput, width: int, look: Look, *, is_log: bool) -> Row:
    """`Loss log ── ━━ train   ◆ eval   best eval 0.7844 at 2200`, or the values under the cursor."""
    if chart.cursor is not None:
        return title_row(width, "Loss", look, meta=_fitting(_cursor_legend(chart.cursor, look), width - 6))
    note = " ".join(word for word, is_said in (("log", is_log), ("fit", chart.is_fitted)) if is_said)
    legend = _fitting(_legend(chart.series, look), width - 6 - len(note))
    return title_row(width, "Loss", look, note=note, meta=legend)


def _fitting(parts: list[list[Span]], room: int) -> list[Span]:
    """The parts three blanks apart, dropped from the end until they fit."""
    for kept in range(len(parts), 0, -1):
        spans = [span for index, part in enumerate(parts[:kept]) for span in ([Span("   ", TEXT)] * bool(index) + part)]
        if sum(cell_width(span.text) for span in spans) <= room:
            return spans
    return []


def _legend(series: RunSeries, look: Look) -> list[list[Span]]:
    glyphs = look.glyphs
    line = "**" if look.is_ascii else glyphs.fill * 2
    parts = [[Span(line, TRAIN), Span(" train", DIM)], [Span(glyphs.eval_point, EVAL), Span(" eval", DIM)]]
    if series.best_eval is not None:
        step, value = series.best_eval
        best = [Span("best eval ", DIM), Span(text.loss(value), TEXT), Span(" at ", DIM), Span(str(step), TEXT)]
        parts.append(best)
    return parts


def _cursor_legend(cursor: CursorShown, look: Look) -> list[list[Span]]:
    line = "**" if look.is_ascii else look.glyphs.fill * 2
    return [
        [Span("step ", DIM), Span(str(cursor.step), BRIGHT)],
        [Span(line, TRAIN), Span(f" {text.loss(cursor.loss)}", BRIGHT)],
        [Span(look.glyphs.eval_point, EVAL), Span(f" {text.loss(cursor.eval_loss)}", BRIGHT)],
        [Span("lr ", DIM), Span(text.learning_rate(cursor.lr), TEXT)],
        [Span("grad ", DIM), Span(text.grad_norm(cursor.grad_norm), TEXT)],
    ]
