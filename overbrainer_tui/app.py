"""How does the engine get its screen? The App mounts the views, hands keys over, and draws what the state says.

It has no rule of its own: every key goes to the engine's one dispatcher, Textual's bindings, focus ring, palette and
traceback screen add nothing. A draw follows a change at once, the next one a frame later at the earliest; without a
change nothing is drawn and no timer runs but the one that something is due for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace
from textual import events, on
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.strip import Strip

from overbrainer_core.events.types import Event
from overbrainer_tui import actions
from overbrainer_tui.dialogs.overlay import overlay_hints, overlay_piece, place_in_overlay
from overbrainer_tui.engine import Engine
from overbrainer_tui.key_names import key_name
from overbrainer_tui.look import Look
from overbrainer_tui.messages import MESSAGE_OF, BusMessage, Changed, Pointed
from overbrainer_tui.motion import FRAME_S, VIEW_FADE_S
from overbrainer_tui.pieces import Piece, Place
from overbrainer_tui.state import View
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.themes.registry import install_themes, style_table
from overbrainer_tui.views.logs import LogsView
from overbrainer_tui.views.pipeline import PipelineView
from overbrainer_tui.views.training import TrainingView
from overbrainer_tui.widgets.bars import FooterBar, HeaderBar
from overbrainer_tui.widgets.board import Board
from overbrainer_tui.widgets.canvas import Canvas
from overbrainer_tui.widgets.too_small_screen import TooSmall

_HERE = Path(__file__).parent

CSS_FILES = ("styles/base.tcss", "views/pipeline.tcss", "views/training.tcss", "views/logs.tcss")


class OverlayBox(Canvas):
    """What floats over the views."""

    piece: Piece | None = None
    DEFAULT_CSS = "OverlayBox { layer: overlay; position: absolute; display: none; }"

    def put(self, piece: Piece | None) -> bool:
        """Show a piece at its place, or nothing; whether it has just opened."""
        self.piece = piece
        if piece is None:
            self.display = False
            return False
        self.styles.offset = (piece.x, piece.y)
        self.styles.width = piece.width
        self.styles.height = len(piece.rows)
        self.show(piece.rows)
        has_opened = not self.display
        self.display = True
        return has_opened


class OverbrainerApp(App[int]):
    """The screen of an engine."""

    CSS_PATH: ClassVar[list[Path]] = [_HERE / name for name in CSS_FILES]  # type: ignore[assignment]
    CSS = "Screen { layers: base overlay too-small; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[Any]] = []
    AUTO_FOCUS = ""
    ALLOW_SELECT = False
    INHERIT_BINDINGS = False

    def __init__(self, engine: Engine, look: Look, *, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class, watch_css=False, ansi_color=not look.paints_ground)
        self.engine = engine
        self.failure: BaseException | None = None
        self._look = look
        install_themes(self, look)
        self._table = StyleTable(look)
        self._drawn_at = float("-inf")
        self._draw_due: asyncio.Handle | None = None
        self._tick_due: asyncio.TimerHandle | None = None
        self._drawn_view: View | None = None
        self._is_up = False

    # Mounting

    def compose(self) -> ComposeResult:
        """Header, the three views, footer, and what lies over them."""
        yield HeaderBar(self._table, id="header")
        yield PipelineView(self._table, id="pipeline")
        yield TrainingView(self._table, id="training")
        yield LogsView(self._table, id="logs")
        yield FooterBar(self._table, id="footer")
        yield OverlayBox(self._table)
        yield TooSmall(self._table, id="too-small")

    def on_mount(self) -> None:
        """Draw for the first time."""
        theme = self.get_theme(self.theme)
        self._table = style_table(self._look, theme)
        footer = self.query_one(FooterBar)
        footer.on_frame = self._on_frame
        footer.painter = self.query_one(TrainingView).painter = self._paint
        self._is_up = True
        self.engine.screen = self
        self.engine.resize(*self.size)
        self.draw()
        if self.engine.has_left.is_set():
            self.leave()  # a signal came before there was a screen

    @property
    def views(self) -> dict[View, Board[Any]]:
        """The view widgets."""
        return {
            View.PIPELINE: self.query_one(PipelineView),
            View.TRAINING: self.query_one(TrainingView),
            View.LOGS: self.query_one(LogsView),
        }

    # Drawing

    def changed(self) -> None:
        """The state changed: draw now, or when a frame has passed since the last draw."""
        if not self._is_up or self._draw_due is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._drawn_at + FRAME_S - loop.time()
        if wait > 0:
            self._draw_due = loop.call_later(wait, self._post_changed)
        else:
            self._draw_due = loop.call_soon(self._post_changed)

    def _hurry(self) -> None:
        """A key was pressed: what is to be drawn does not wait for its frame, however busy the screen is."""
        if self._draw_due is not None:
            self._draw_due.cancel()
            self._draw_due = asyncio.get_running_loop().call_soon(self._post_changed)

    def _post_changed(self) -> None:
        self._draw_due = None
        self.post_message(Changed())

    def on_changed(self, message: Changed) -> None:
        """Something changed a frame ago at most."""
        message.stop()
        self.draw()

    def folded(self, task: int, events: Sequence[Event]) -> None:
        """Tell each kind of event that was folded once, the last one of its kind; ends all of them."""
        last: dict[type, Event] = {}
        for event in events:
            kind = MESSAGE_OF[type(event)]
            if kind.is_folded:
                last[type(event)] = event
            else:
                self.post_message(kind(task, event))
        for event in last.values():
            self.post_message(MESSAGE_OF[type(event)](task, event))

    @on(BusMessage)
    def bus_told(self, message: BusMessage) -> None:
        """The state has folded it already: the next draw shows it."""
        message.stop()
        self.changed()

    def draw(self) -> None:
        """Draw what the state says; widgets paint only what differs."""
        if not self._is_up:
            return
        self.engine.now()
        state = self.engine.state
        if state.theme != self._look.theme:
            self._wear(state.theme)
        self._drawn_at = asyncio.get_running_loop().time()
        is_small = state.is_too_small
        self.query_one(TooSmall).display = is_small
        if is_small:
            self.query_one(TooSmall).show((state.width, state.height))
        piece = None if is_small else overlay_piece(state, self._look)
        self._draw_view(is_muted=piece is not None)
        overlay = self.query_one(OverlayBox)
        overlay.dress(self._table)
        overlay.put(piece)
        hints = actions.hints(state) if state.overlay is None else overlay_hints(state)
        header, footer = self.query_one(HeaderBar), self.query_one(FooterBar)
        header.dress(self._table)
        footer.dress(self._table)
        header.show(state.header())
        footer.show(state.footer(hints))
        self._plan_tick()

    def _wear(self, theme: str) -> None:
        """Draw with another theme from now on."""
        self._look = replace(self._look, theme=theme)
        self.theme = theme
        self._table = style_table(self._look, self.get_theme(theme))

    def _draw_view(self, *, is_muted: bool) -> None:
        state = self.engine.state
        for view, widget in self.views.items():
            widget.display = view is state.view
        shown = self.views[state.view]
        shown.dress(self._table, is_muted=is_muted)
        match state.view:
            case View.PIPELINE:
                shown.show(state.pipeline.snapshot())
            case View.TRAINING:
                shown.show(state.training.snapshot(state.now))
            case View.LOGS:
                shown.show(state.logs.snapshot())
        if self._drawn_view is not state.view:
            if self._drawn_view is not None:
                shown.fade_in(VIEW_FADE_S)
            self._drawn_view = state.view

    def _on_frame(self, frame: int) -> None:
        state = self.engine.state
        if state.view is View.TRAINING and state.overlay is None:
            self.query_one(TrainingView).pulse(frame)

    def _paint(self, x: int, y: int, cells: Strip) -> bool:
        """Write cells to the terminal at once, unless something lies over the views."""
        driver = self._driver
        state = self.engine.state
        is_covered = state.overlay is not None or state.is_too_small or self._batch_count
        if driver is None or not self._is_up or is_covered:
            return False
        driver.write(f"\x1b[{y + 1};{x + 1}H{cells.render(self.console)}")
        return True

    def _plan_tick(self) -> None:
        if self._tick_due is not None:
            self._tick_due.cancel()
            self._tick_due = None
        seconds = self.engine.state.next_tick_s()
        if seconds is not None:
            self._tick_due = asyncio.get_running_loop().call_later(seconds + 0.001, self._tick)

    def _tick(self) -> None:
        self._tick_due = None
        self.engine.tick()

    # Input

    async def on_event(self, event: events.Event) -> None:
        """Keys and pastes go to the engine and nowhere else."""
        match event:
            case events.Key():
                event.stop()
                name = key_name(event.key, event.character)
                if name is not None:
                    self.engine.key(name)
                    self._hurry()
            case events.Paste():
                event.stop()
                self.engine.paste(event.text)
            case _:
                await super().on_event(event)

    def on_resize(self, event: events.Resize) -> None:
        """The terminal has another size."""
        self.engine.resize(event.size.width, event.size.height)

    def on_pointed(self, message: Pointed) -> None:
        """The mouse did something somewhere."""
        message.stop()
        if self._is_up:
            pointer = message.pointer
            self.engine.pointer(pointer.kind, self._place_at(pointer.x, pointer.y))

    def _place_at(self, x: int, y: int) -> Place | None:
        """What is at a cell of the screen."""
        state = self.engine.state
        piece = self.query_one(OverlayBox).piece
        if piece is not None:
            return place_in_overlay(state, piece, x, y)
        for board in (self.query_one(HeaderBar), self.views[state.view]):
            region = board.region
            if region.contains(x, y):
                return board.place_at(x - region.x, y - region.y)
        return None

    # Leaving

    def leave(self) -> None:
        """The engine has ended: give the terminal back."""
        if self._is_up:
            self._stop_drawing()
            self.exit(self.engine.state.quit.exit_code)

    def _stop_drawing(self) -> None:
        self._is_up = False
        for due in (self._draw_due, self._tick_due):
            if due is not None:
                due.cancel()
        self._draw_due = self._tick_due = None

    def break_off(self, error: BaseException) -> None:
        """The terminal or a draw failed: leave the screen; the engine goes on without it."""
        if self.failure is None:
            self.failure = error
            self._stop_drawing()
            self._close_messages_no_wait()

    def _handle_exception(self, error: Exception) -> None:
        """An exception in a widget: no traceback screen, the way of a failed terminal."""
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.break_off(error)
