"""How does the notice of a too small terminal cover the whole screen?"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_tui.pieces import Piece
from overbrainer_tui.widgets.board import Board
from overbrainer_tui.widgets.too_small import too_small_rows


class TooSmall(Board[tuple[int, int]]):
    """Shown in place of everything else; its content is the size of the terminal."""

    DEFAULT_CSS = "TooSmall { layer: too-small; }"

    def pieces(self, content: tuple[int, int], width: int, height: int) -> Sequence[Piece]:
        """The two lines, centred."""
        return [Piece(name="too-small", x=0, y=0, width=width, rows=too_small_rows(*content))]
