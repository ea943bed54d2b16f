"""How is a view made of canvases, and what does it do when it is shown, resized, muted or faded in?

A board draws what it is given and remembers it, so that a new size draws the same content. It runs a timer only while
it fades.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.events import Resize
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from overbrainer_tui.cells import Row, Tone
from overbrainer_tui.look import Look
from overbrainer_tui.motion import FRAME_S, fade_share
from overbrainer_tui.pieces import Piece, Place
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.widgets.canvas import Canvas, Painter

_GROUND = Tone()
_NOWHERE = Region(0, 0, 0, 0)

Shown = TypeVar("Shown")
Clock = Callable[[], float]


class _Placed(Layout):
    """Canvases where their board put them."""

    name = "placed"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """A placement for each canvas that is shown."""
        return [
            WidgetPlacement(child.place, NULL_OFFSET, NULL_SPACING, child)
            for child in children
            if isinstance(child, Canvas) and child.place.area
        ]


class Board(Widget, Generic[Shown], can_focus=False):
    """A view drawn as pieces, each a canvas of its own."""

    ALLOW_SELECT: ClassVar[bool] = False

    DEFAULT_CSS = """
    Board { width: 1fr; height: 1fr; overflow: hidden hidden; }
    """

    painter: Painter | None = None

    def __init__(self, styles: StyleTable, *, id: str | None = None, clock: Clock = time.monotonic) -> None:
        super().__init__(id=id)
        self.clock = clock
        self._table = styles
        self._is_muted = False
        self._canvases: dict[str, Canvas] = {}
        self._placing = _Placed()
        self._content: Shown | None = None
        self._fade: Timer | None = None

    @property
    def layout(self) -> Layout:
        """Canvases stand where the pieces say."""
        return self._placing

    @property
    def look(self) -> Look:
        """How the board is drawn."""
        return self._table.look

    @property
    def content(self) -> Shown | None:
        """What is shown."""
        return self._content

    def show(self, content: Shown) -> None:
        """Show this; nothing is painted when it draws the same cells."""
        if content != self._content:
            self._content = content
            self.redraw()

    def redraw(self) -> None:
        """Draw the content again for the present size."""
        width, height = self.size
        if self._content is not None and width and height:
            self.show_pieces(self.pieces(self._content, width, height))

    @abstractmethod
    def pieces(self, content: Shown, width: int, height: int) -> Sequence[Piece]:
        """The content as pieces at a size; each view says how."""

    def on_resize(self, event: Resize) -> None:
        """A new size draws the same content."""
        event.stop()
        self.redraw()

    def dress(self, styles: StyleTable, *, is_muted: bool = False) -> None:
        """Draw with these styles from now on; muted, everything has the colour of hairlines."""
        if styles is self._table and is_muted == self._is_muted:
            return
        self._stop_fade()
        self._table, self._is_muted = styles, is_muted
        self._wear(styles.muted() if is_muted else styles)
        self.redraw()

    def _wear(self, table: StyleTable) -> None:
        for canvas in self._canvases.values():
            canvas.dress(table)
        self.refresh()

    def fade_in(self, duration: float, *names: str) -> None:
        """Let the pieces of these names, or all, rise from the ground; nothing where fades are off."""
        if not self.look.has_fades or self._is_muted or not self.is_attached:
            return
        self._stop_fade()
        started = self.clock()
        fading = [canvas for name, canvas in self._canvases.items() if not names or name in names]
        tables: dict[float, StyleTable] = {}

        def step() -> None:
            share = fade_share(self.clock() - started, duration)
            if share >= 1.0:
                self._stop_fade()
                return
            if share not in tables:
                tables[share] = self._table.faded(share)
            for canvas in fading:
                canvas.dress(tables[share])

        step()
        self._fade = self.set_interval(FRAME_S, step)

    def _stop_fade(self) -> None:
        if self._fade is not None:
            self._fade.stop()
            self._fade = None
            for canvas in self._canvases.values():
                canvas.dress(self._table)

    def show_pieces(self, pieces: Sequence[Piece]) -> None:
        """Show these pieces and no other; places and canvases are kept where they did not change."""
        names = {piece.name for piece in pieces}
        moved = False
        for name, canvas in self._canvases.items():
            if name not in names and canvas.place != _NOWHERE:
                canvas.place = _NOWHERE
                moved = True
        fresh: list[Canvas] = []
        for piece in pieces:
            canvas = self._canvases.get(piece.name) or self._added(piece.name, fresh)
            place = Region(piece.x, piece.y, piece.width, len(piece.rows))
            if canvas.place != place:
                canvas.place = place
                moved = True
            canvas.show(piece.rows)
        if self.is_attached:
            if fresh:
                self.mount(*fresh)
            if moved:
                # the framework clears this cache for what is above a widget, not for the widget itself
                self._clear_arrangement_cache()
                self.refresh(layout=True)

    def _added(self, name: str, fresh: list[Canvas]) -> Canvas:
        table = self._table.muted() if self._is_muted else self._table
        canvas = self._canvases[name] = Canvas(table)
        fresh.append(canvas)
        return canvas

    def canvas(self, name: str) -> Canvas | None:
        """The canvas of a piece that is shown."""
        canvas = self._canvases.get(name)
        return canvas if canvas is not None and canvas.place != _NOWHERE else None

    def rows_of(self, name: str) -> tuple[Row, ...]:
        """The rows of a piece; empty when it is not shown."""
        canvas = self.canvas(name)
        return canvas.rows if canvas is not None else ()

    def piece_at(self, x: int, y: int) -> tuple[str, int, int] | None:
        """The name of the piece at a cell of the board, and the cell within it; None between the pieces."""
        for name, canvas in self._canvases.items():
            place = canvas.place
            if place.contains(x, y):
                return name, x - place.x, y - place.y
        return None

    def place_at(self, x: int, y: int) -> Place | None:
        """What can be pointed at in a cell of the board; nothing unless the view says so."""
        return None

    @property
    def painted_regions(self) -> int:
        """Regions asked to be painted again since the board was made."""
        return sum(canvas.painted_regions for canvas in self._canvases.values())

    def render_lines(self, crop: Region) -> list[Strip]:
        """The ground between the pieces."""
        return [Strip.blank(crop.width, self._table.ground(_GROUND))] * crop.height
