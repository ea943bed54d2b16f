"""The Pipeline view: stages with their bars, the chain, tokens and cost, last errors, results.

On a short terminal the oldest failures are left out first, so that results and the final error stay in view. Bars close
on their value; a timer runs only while one does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from textual.timer import Timer

from overbrainer_core.values.stage import Stage
from overbrainer_tui.cells import Row
from overbrainer_tui.look import Look
from overbrainer_tui.motion import FRAME_S, Eased
from overbrainer_tui.pieces import Piece
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import LARGE_ROWS, PipelineShown, Progress, StageRow
from overbrainer_tui.widgets.board import Board, Clock
from overbrainer_tui.widgets.notice import empty_piece
from overbrainer_tui.widgets.stages import (
    COUNTS_CELLS,
    TILE_CELLS,
    chain_row,
    error_rows,
    figure_tiles,
    lost_row,
    pipeline_title,
    result_rows,
    stage_bar,
    stage_counts,
)

MARGIN = 2
_SMALLEST = 1 / 800


def pipeline_pieces(
    shown: PipelineShown, width: int, height: int, look: Look, *, ratios: Mapping[Stage, float] | None = None
) -> list[Piece]:
    """The view as pieces; `ratios` is how far each bar has come."""
    is_large = height + 2 >= LARGE_ROWS
    y, bottom = (1, height - 1) if is_large else (0, height)
    room = width - 2 * MARGIN
    pieces = [_piece("title", y, room, (pipeline_title(shown, room, look),))]
    if shown.empty is not None:
        return [*pieces, empty_piece(shown.empty, width, height, look)]
    y += 1
    for row in shown.rows:
        bar_cells = room - COUNTS_CELLS
        bar = stage_bar(row, bar_cells, look, ratio=(ratios or {}).get(row.stage))
        pieces.append(_piece(f"bar-{row.stage.value}", y, bar_cells, (bar,)))
        counts = stage_counts(row, look)
        x = MARGIN + bar_cells
        pieces.append(Piece(name=f"counts-{row.stage.value}", x=x, y=y, width=COUNTS_CELLS, rows=(counts,)))
        y += 1
    if shown.lost_events:
        pieces.append(_piece("lost", y, room, (lost_row(shown.lost_events, room, look),)))
    y += 1
    if shown.chain:
        pieces.append(_piece("chain", y, room, (chain_row(shown.chain, room, look),)))
        y += 2
    for index, (name, rows) in enumerate(figure_tiles(shown)):
        pieces.append(Piece(name=name, x=MARGIN + index * TILE_CELLS, y=y, width=TILE_CELLS, rows=rows))
    return pieces + _details(shown, y + 3, bottom, room, look)


def _details(shown: PipelineShown, y: int, bottom: int, room: int, look: Look) -> list[Piece]:
    """Errors, then results: fewer errors, then none, when rows are short."""
    results = result_rows(shown, room, look)
    errors = shown.errors
    rows = error_rows(errors, shown.errors_total, room, look)
    while errors and y + len(rows) + bool(results) + len(results) > bottom:
        errors = errors[1:]
        rows = error_rows(errors, shown.errors_total, room, look)
    pieces = []
    if rows:
        pieces.append(_piece("errors", y, room, rows))
        y += len(rows) + 1
    if results:
        kept = results[-max(1, bottom - y) :] if y + len(results) > bottom else results
        pieces.append(_piece("results", y, room, kept))
    return pieces


def _piece(name: str, y: int, width: int, rows: tuple[Row, ...]) -> Piece:
    return Piece(name=name, x=MARGIN, y=y, width=width, rows=rows)


class PipelineView(Board[PipelineShown]):
    """View 3."""

    def __init__(self, styles: StyleTable, *, id: str | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(styles, id=id, clock=clock)
        self._bars = {stage: Eased(_SMALLEST) for stage in Stage}
        self._due: Timer | None = None

    def pieces(self, content: PipelineShown, width: int, height: int) -> Sequence[Piece]:
        """The view's pieces at a size."""
        now = self.clock()
        ratios = {row.stage: self._eased(row, now) for row in content.rows}
        self._wait(is_moving=any(not bar.is_settled(now) for bar in self._bars.values()))
        return pipeline_pieces(content, width, height, self.look, ratios=ratios)

    def _eased(self, row: StageRow, now: float) -> float:
        bar = self._bars[row.stage]
        bar.aim(row.ratio, now, jump=not self.look.has_easing or row.progress is not Progress.RUNNING)
        return bar.at(now)

    def is_waiting(self) -> bool:
        """Whether a timer will draw again."""
        return self._due is not None

    def _wait(self, *, is_moving: bool) -> None:
        if self._due is not None:
            self._due.stop()
            self._due = None
        if is_moving and self.is_attached:
            self._due = self.set_timer(FRAME_S, self.redraw)
