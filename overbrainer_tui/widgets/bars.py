"""How do the header and the footer stand on the screen, and how does the one moving cell move?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.timer import Timer

from overbrainer_tui.cells import Row, Span, Tone
from overbrainer_tui.motion import SPINNER_S, STATUS_FADE_S, spinner_frame
from overbrainer_tui.pieces import OnKey, Piece, Place
from overbrainer_tui.view_models.snapshots import FooterShown, HeaderShown
from overbrainer_tui.widgets.board import Board
from overbrainer_tui.widgets.footer import footer_row
from overbrainer_tui.widgets.header import header_row, tab_at
from overbrainer_tui.widgets.slices import part_of

_SPINNER = Tone("accent", "", "surface")


class HeaderBar(Board[HeaderShown]):
    """Brand, tabs, project name."""

    DEFAULT_CSS = "HeaderBar { height: 1; dock: top; }"

    def pieces(self, content: HeaderShown, width: int, height: int) -> Sequence[Piece]:
        """The header in one piece."""
        return [Piece(name="header", x=0, y=0, width=width, rows=(header_row(content, width, self.look),))]

    def place_at(self, x: int, y: int) -> Place | None:
        """A tab is its digit."""
        key = tab_at(self.content, self.size.width, x) if self.content is not None else None
        return OnKey(key) if key is not None else None


class FooterBar(Board[FooterShown]):
    """Hints or status, work with the spinner, money, version, help.

    `on_frame` is called with the number of each spinner frame: whatever else moves does so in the same frames.
    """

    DEFAULT_CSS = "FooterBar { height: 1; dock: bottom; }"

    on_frame: Callable[[int], None] | None = None
    _frame = 0
    _spinner: Timer | None = None

    def show(self, content: FooterShown) -> None:
        """Show the footer; a new status fades in."""
        before = self.content
        super().show(content)
        if content.status is not None and (before is None or before.status != content.status):
            self.fade_in(STATUS_FADE_S, "footer-left")

    def pieces(self, content: FooterShown, width: int, height: int) -> Sequence[Piece]:
        """The row in two halves, the spinner's cell between them."""
        drawn = footer_row(content, width, self.look)
        self._keep_spinning(has_work=drawn.spinner is not None and self.look.has_spinner)
        if drawn.spinner is None:
            return [_piece("footer-left", 0, drawn.row, 0, width)]
        at = drawn.spinner
        mark: Row = (Span(self._mark(), _SPINNER),)
        return [
            _piece("footer-left", 0, drawn.row, 0, at),
            Piece(name="spinner", x=at, y=0, width=1, rows=(mark,)),
            _piece("footer-right", at + 1, drawn.row, at + 1, width),
        ]

    def _mark(self) -> str:
        glyphs = self.look.glyphs
        return spinner_frame(self._frame, glyphs.spinner) if self.look.has_spinner else glyphs.still

    def _keep_spinning(self, *, has_work: bool) -> None:
        if has_work and self._spinner is None and self.is_attached:
            self._spinner = self.set_interval(SPINNER_S, self._spin)
        elif not has_work and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def is_spinning(self) -> bool:
        """Whether a timer moves the spinner."""
        return self._spinner is not None

    def _spin(self) -> None:
        self._frame += 1
        canvas = self.canvas("spinner")
        if canvas is not None:
            canvas.move((Span(self._mark(), _SPINNER),), painter=self.painter)
        if self.on_frame is not None:
            self.on_frame(self._frame)


def _piece(name: str, x: int, row: Row, start: int, end: int) -> Piece:
    return Piece(name=name, x=x, y=0, width=end - start, rows=(part_of(row, start, end),))
