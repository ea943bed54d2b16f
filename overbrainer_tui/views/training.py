"""The Training view: runs, the selected run with its chart, its machine, facts and messages.

The chart is painted once a second at most; the bar closes on its value; the mark of a followed run pulses in the
spinner's frames. A timer runs only while one of these is due.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip
from textual.timer import Timer

from overbrainer_tui.motion import FRAME_S, Eased, pulse_step
from overbrainer_tui.pieces import OnChart, OnRuns, Piece, Place
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import SelectedRun, TrainingShown
from overbrainer_tui.views.training_pieces import chart_input, training_layout, training_pieces
from overbrainer_tui.widgets.board import Board, Clock
from overbrainer_tui.widgets.charts import ChartInput, ChartMemory, ChartShape, chart_pieces, step_at
from overbrainer_tui.widgets.run_head import is_live
from overbrainer_tui.widgets.runs_table import run_in_row

_SMALLEST = 1 / 800
"""Part of a bar that is less than half a cell on any terminal."""

CHART_S = 1.0
"""Shortest time between two repaints of the chart for new points."""


class TrainingView(Board[TrainingShown]):
    """View 4."""

    def __init__(self, styles: StyleTable, *, id: str | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(styles, id=id, clock=clock)
        self._due: Timer | None = None
        self._chart_key: tuple[object, ...] = ()
        self._chart: Sequence[Piece] = ()
        self._chart_at = float("-inf")
        self._memory = ChartMemory()
        self._bar_run: str | None = None
        self._bar = Eased(_SMALLEST)
        self._pulse = 0

    def pieces(self, content: TrainingShown, width: int, height: int) -> Sequence[Piece]:
        """The view's pieces at a size."""
        now = self.clock()
        waits: list[float] = []
        run = content.selected
        ratio = self._bar_ratio(run, now, waits) if run is not None else None
        pieces = training_pieces(content, width, height, self.look, bar_ratio=ratio)
        chart = chart_input(run) if run is not None and content.runs.rows else None
        if chart is not None:
            shape = training_layout(content, width, height).chart
            pieces += self._chart_pieces(chart, shape, now, waits)
        self._wait(min(waits) if waits else None)
        return pieces

    def _bar_ratio(self, run: SelectedRun, now: float, waits: list[float]) -> float | None:
        """How far the bar has come; it lands at once for another run and where nothing eases."""
        if run.progress is None:
            return None
        is_new = run.run_id != self._bar_run
        if is_new:
            self._bar, self._bar_run = Eased(_SMALLEST), run.run_id
        self._bar.aim(run.progress, now, jump=is_new or not self.look.has_easing or not is_live(run))
        if not self._bar.is_settled(now):
            waits.append(FRAME_S)
        return self._bar.at(now)

    def _chart_pieces(self, chart: ChartInput, shape: ChartShape, now: float, waits: list[float]) -> Sequence[Piece]:
        """The chart, or the one painted less than a second ago when only points are new."""
        key = (*chart.key, shape, self.look)
        if key == self._chart_key:
            return self._chart
        has_new_points = _without_revision(key) == _without_revision(self._chart_key)
        wait = self._chart_at + CHART_S - now
        if has_new_points and chart.is_running and wait > 0:
            waits.append(wait)
            return self._chart
        self._chart_key, self._chart_at = key, now
        self._chart = chart_pieces(chart, shape, self.look, memory=self._memory)
        return self._chart

    def place_at(self, x: int, y: int) -> Place | None:
        """A row of the runs, or a step of the chart."""
        found = self.piece_at(x, y)
        if found is None or self.content is None:
            return None
        name, _, row = found
        if name == "runs":
            visible = len(self.rows_of(name)) - 1
            return OnRuns(run_in_row(self.content.runs, row - 1, visible) if row else None)
        if name.startswith("chart-") and self.content.selected is not None:
            return self._on_chart(self.content, x, y)
        return None

    def _on_chart(self, content: TrainingShown, x: int, y: int) -> Place | None:
        chart = chart_input(content.selected) if content.selected is not None else None
        shape = training_layout(content, self.size.width, self.size.height).chart
        column = x - shape.plot_x
        if chart is None or y == shape.y or not 0 <= column < shape.plot_width:
            return None
        return OnChart(step_at(chart, shape, column))

    def is_waiting(self) -> bool:
        """Whether a timer will draw again."""
        return self._due is not None

    def _wait(self, seconds: float | None) -> None:
        """Draw again after that time, or not by itself."""
        if self._due is not None:
            self._due.stop()
            self._due = None
        if seconds is not None and self.is_attached:
            self._due = self.set_timer(max(FRAME_S, seconds), self.redraw)

    def pulse(self, frame: int) -> None:
        """The spinner is at that frame: the mark of the followed run takes its strength."""
        run = self.content.selected if self.content is not None else None
        canvas = self.canvas("name")
        if canvas is None or run is None or not run.is_followed or not self.look.has_fades or self._is_muted:
            return
        step = pulse_step(frame)
        if step != self._pulse:
            self._pulse = step
            mark = Segment(self.look.glyphs.running, self._table.pulsed(step))
            canvas.overlay(Strip([mark], 1), painter=self.painter)


def _without_revision(key: tuple[object, ...]) -> tuple[object, ...]:
    """A chart's key without what changes with every point."""
    return (*key[:1], *key[2:])
