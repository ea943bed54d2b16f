"""How are loss and eval loss painted into a plot?"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_tui import text
from overbrainer_tui.cells import DIM, LINE, Tone
from overbrainer_tui.charting.columns import Column, smoothed
from overbrainer_tui.charting.dots import Dots, joined
from overbrainer_tui.charting.plot import Plot
from overbrainer_tui.charting.scales import XScale, YScale, y_ticks
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import CursorShown, RunSeries

_GRID, _RAW, _EVAL, _TRAIN = Tone("grid"), Tone("raw"), Tone("eval"), Tone("train")
_EVAL_VALUE, _TRAIN_VALUE = Tone("eval", "bold"), Tone("train", "bold")
_CURSOR = DIM
SPARSE_GRID = 7
"""Cells between the dots of a grid that cannot be fainter than faint."""

_EVAL_GAP = 3
"""Every third dot of the eval line is set."""


class LossLayers(Struct, frozen=True):
    """What is painted: curves as columns, the cursor, and the scales they stand on."""

    series: RunSeries
    loss: dict[int, Column]
    evals: dict[int, Column]
    is_running: bool
    cursor: CursorShown | None
    x: XScale
    y: YScale


class LossDrawn(Struct, frozen=True):
    """The plot, the ticks of its y axis, and values for the right gutter as (row, text, tone)."""

    plot: Plot
    ticks: list[tuple[int, float]]
    gutter: list[tuple[int, str, Tone]]


def loss_rows(layers: LossLayers, width: int, height: int, look: Look) -> LossDrawn:
    """Every layer painted, the important ones last."""
    plot = Plot(width, height)
    ticks = y_ticks(layers.y, height)
    _paint_grid(plot, ticks, look)
    last = layers.series.last_step
    if layers.is_running and last is not None:
        _paint_column(plot, layers.x.cell(last), look.glyphs.now, LINE)
    if layers.cursor is not None:
        _paint_column(plot, layers.x.cell(layers.cursor.step), look.glyphs.cursor, _CURSOR)
    train_end = _paint_train(plot, layers, look)
    eval_end = _paint_marks(plot, layers, look)
    gutter = _paint_labels(plot, layers, train_end, eval_end)
    return LossDrawn(plot, ticks, gutter)


def _paint_grid(plot: Plot, ticks: list[tuple[int, float]], look: Look) -> None:
    sparse = look.has_sparse_grid
    char = look.glyphs.sparse_grid if sparse else look.glyphs.grid
    for row, _ in ticks:
        for column in range(0, plot.width, SPARSE_GRID if sparse else 1):
            plot.put(row, column, char, _GRID)


def _paint_column(plot: Plot, column: int, char: str, tone: Tone) -> None:
    for row in range(plot.height):
        plot.put(row, column, char, tone)


def _paint_dots(plot: Plot, dots: Dots, tone: Tone, ascii_char: str, look: Look) -> None:
    for row, column, char in dots.cells():
        plot.put(row, column, ascii_char if look.is_ascii else char, tone)


def _paint_train(plot: Plot, layers: LossLayers, look: Look) -> tuple[int, int] | None:
    """Raw points, the eval line, then the train line; the cell where the train line ends."""
    columns = layers.loss
    raw = Dots(plot.width, plot.height)
    for dot, column in columns.items():
        for value in {column.first, column.low, column.high, column.last}:
            raw.set(dot, layers.y.dot(value))
    _paint_dots(plot, raw, _RAW, look.glyphs.none, look)
    _paint_eval_line(plot, layers, look)
    path = [(dot, layers.y.dot(value)) for dot, value in smoothed(columns).items()]
    line = Dots(plot.width, plot.height)
    line.path(path, thick=True)
    _paint_dots(plot, line, _TRAIN, "*", look)
    return (path[-1][1] // 4, path[-1][0] // 2) if path else None


def _eval_dots(layers: LossLayers) -> list[tuple[int, int]]:
    return [(dot, layers.y.dot(column.last)) for dot, column in layers.evals.items()]


def _paint_eval_line(plot: Plot, layers: LossLayers, look: Look) -> None:
    dots = Dots(plot.width, plot.height)
    for index, (x, y) in enumerate(joined(_eval_dots(layers))):
        if index % _EVAL_GAP == 0:
            dots.set(x, y)
    _paint_dots(plot, dots, _EVAL, look.glyphs.none, look)


def _paint_marks(plot: Plot, layers: LossLayers, look: Look) -> tuple[int, int] | None:
    """A mark at each evaluation; the cell of the last one."""
    ends = _eval_dots(layers)
    for x, y in ends:
        plot.put(y // 4, x // 2, look.glyphs.eval_point, _EVAL)
    return (ends[-1][1] // 4, ends[-1][0] // 2) if ends else None


def _paint_labels(
    plot: Plot, layers: LossLayers, train: tuple[int, int] | None, evaluation: tuple[int, int] | None
) -> list[tuple[int, str, Tone]]:
    """The newest values at the lines' ends inside the plot; where the lines reach its end, for the gutter."""
    labels: list[tuple[int, str, str, Tone]] = []
    if train is not None:
        labels.append((train[0], text.loss(layers.series.loss.values[-1]), " train", _TRAIN_VALUE))
    if evaluation is not None:
        row = evaluation[0]
        if labels and row == labels[0][0]:
            row = row - 1 if row else row
            if row == labels[0][0]:
                labels[0] = (min(plot.height - 1, row + 1), *labels[0][1:])
        labels.append((row, text.loss(layers.series.eval_loss.values[-1]), " eval", _EVAL_VALUE))
    ends = [end[1] for end in (train, evaluation) if end is not None]
    column = max(ends, default=0) + 1
    if any(column + 1 + len(value) + len(name) + 1 > plot.width for _, value, name, _ in labels):
        return [(row, value, tone) for row, value, _, tone in labels]
    for row, value, name, tone in labels:
        after = plot.text(row, column, " ", Tone())
        after = plot.text(row, after, value, tone)
        plot.text(row, after, f"{name} ", DIM)
    return []
