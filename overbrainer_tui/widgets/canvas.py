"""How do drawn rows reach the screen with as few bytes as possible?

A canvas shows rows and repaints only the spans that changed. What is resent starts at the left edge of a widget, so a
board lays out many small canvases side by side. Rows are drawn straight into strips: no border, no padding, no filter
between. No timer runs here: without a change nothing is painted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from overbrainer_core.text import cell_width
from overbrainer_tui.cells import Row, Tone
from overbrainer_tui.pieces import changed_cells
from overbrainer_tui.themes.palette import StyleTable

_GROUND = Tone()

Painter = Callable[[int, int, Strip], bool]
"""Paints cells of the screen at once, past the framework, whose frame costs many times as much; false when it cannot,
because something may lie over them."""


class Canvas(Widget, can_focus=False):
    """A rectangle of drawn rows."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, styles: StyleTable) -> None:
        super().__init__()
        self._table = styles
        self._rows: tuple[Row, ...] = ()
        self._strips: list[Strip | None] = []
        self.place = Region(0, 0, 0, 0)
        self.painted_regions = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows shown."""
        return self._rows

    def dress(self, styles: StyleTable) -> None:
        """Draw with other styles from now on."""
        if styles is not self._table:
            self._table = styles
            self._strips = [None] * len(self._rows)
            self.refresh()

    def show(self, rows: tuple[Row, ...]) -> None:
        """Show these rows; only cells that differ are painted again."""
        old = self._rows
        if rows == old:
            return
        self._rows = rows
        if len(rows) != len(old):
            self._strips = [None] * len(rows)
            self.painted_regions += 1
            self.refresh()
            return
        regions = []
        for y, (before, after) in enumerate(zip(old, rows, strict=True)):
            if before != after:
                self._strips[y] = None
                start, end = changed_cells(before, after)
                regions.append(Region(start, y, end - start, 1))
        self.painted_regions += len(regions)
        self.refresh(*regions)

    def overlay(self, cell: Strip, *, painter: Painter | None = None) -> None:
        """Put a strip over the first cells of the first row until that row changes."""
        if self._rows and self._strips:
            row = self._strip(0)
            self._strips[0] = Strip.join([cell, row.crop(cell.cell_length)])
            self._paint(cell, painter)

    def move(self, row: Row, *, painter: Painter | None = None) -> None:
        """Show this row in a canvas of one row and the same width: the next frame of what moves."""
        if self._rows and row != self._rows[0]:
            self._rows = (row,)
            self._strips = [strip_of(row, self._table)]
            self._paint(self._strip(0), painter)

    def _paint(self, cells: Strip, painter: Painter | None) -> None:
        """Paint the first cells of the first row: by the painter, or with the next frame of the framework."""
        self.painted_regions += 1
        at = self.region
        if painter is None or not painter(at.x, at.y, cells):
            self.refresh(Region(0, 0, cells.cell_length, 1))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of a region of the canvas."""
        strips = [self._strip(y) for y in crop.line_range]
        if crop.column_span == (0, self.size.width):
            width = crop.width
            return [strip if strip.cell_length == width else self._fitted(strip, width) for strip in strips]
        start, end = crop.column_span
        return [strip.crop_extend(start, end, self._table.ground(_GROUND)) for strip in strips]

    def _fitted(self, strip: Strip, width: int) -> Strip:
        return strip.adjust_cell_length(width, self._table.ground(_GROUND))

    def _strip(self, y: int) -> Strip:
        if y >= len(self._rows):
            return Strip.blank(self.size.width, self._table.ground(_GROUND))
        strip = self._strips[y]
        if strip is None:
            strip = self._strips[y] = strip_of(self._rows[y], self._table)
        return strip


def strip_of(row: Row, styles: StyleTable) -> Strip:
    """A row as a strip."""
    segments = [Segment(text, styles.ground(tone) if text.isspace() else styles[tone]) for text, tone in row]
    return Strip(segments, sum(cell_width(text) for text, _ in row))
