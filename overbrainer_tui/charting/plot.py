"""What stands in each cell of a plot? Layers painted one over another, then read out as rows or as slices of rows."""

from __future__ import annotations

from overbrainer_tui.cells import Row, Span, Tone, join

_GROUND = Tone()


class Plot:
    """A grid of cells, each a character and its tone; what is painted later covers what was there."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._chars = [[" "] * width for _ in range(height)]
        self._tones = [[_GROUND] * width for _ in range(height)]

    def put(self, row: int, column: int, char: str, tone: Tone) -> None:
        """Paint one cell; a place outside is left out."""
        if 0 <= row < self.height and 0 <= column < self.width:
            self._chars[row][column] = char
            self._tones[row][column] = tone

    def text(self, row: int, column: int, text: str, tone: Tone) -> int:
        """Paint one-cell characters side by side; the column after them."""
        for offset, char in enumerate(text):
            self.put(row, column + offset, char, tone)
        return column + len(text)

    def rows(self, start: int, end: int) -> tuple[Row, ...]:
        """The rows of the columns from `start` up to `end`."""
        return tuple(self._row(row, start, end) for row in range(self.height))

    def _row(self, row: int, start: int, end: int) -> Row:
        chars, tones = self._chars[row], self._tones[row]
        spans: list[Span] = []
        at = start
        while at < end:
            tone, first = tones[at], at
            while at < end and tones[at] == tone:
                at += 1
            spans.append(Span("".join(chars[first:at]), tone))
        return join(spans)
