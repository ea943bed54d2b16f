"""What is looked for in the log, which lines hold it, and which of them is looked at?

Lines have ascending numbers. Looking goes from the newest line backwards: what one types finds the newest line first,
`n` goes on to newer ones and `N` to older ones, both around the ends. Upper and lower case are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from overbrainer_tui.view_models.input import OneLineInput

Numbered = Iterable[tuple[int, str]]


class LogSearch:
    """A search, while it is typed and after."""

    def __init__(self) -> None:
        self.pattern = ""
        self.input: OneLineInput | None = None
        self.current: int | None = None
        """The number of the line looked at."""
        self._found: list[int] | None = None

    def begin(self) -> None:
        """Type a pattern, from the one there is."""
        self.input = OneLineInput(self.pattern)

    def keep(self) -> None:
        """What was typed is looked for; nothing typed ends the search."""
        self.input = None
        if not self.pattern:
            self.clear()

    def clear(self) -> None:
        """Look for nothing."""
        self.input = None
        self.pattern = ""
        self.forget()

    def forget(self) -> None:
        """Other lines are shown: what was found there is out of date."""
        self._found = None
        self.current = None

    def outdate(self) -> None:
        """Lines came or went."""
        self._found = None

    def typed(self) -> None:
        """The input holds another text."""
        if self.input is not None and self.input.text != self.pattern:
            self.pattern = self.input.text
            self.forget()

    def found(self, lines: Numbered) -> list[int]:
        """The numbers of the lines that hold the pattern, ascending."""
        if self._found is None:
            wanted = self.pattern.casefold()
            self._found = [number for number, text in lines if wanted in text.casefold()] if wanted else []
        return self._found

    def nearest(self, lines: Numbered, bottom: int) -> int | None:
        """Look at the newest line found not below `bottom`, else at the oldest one; its number."""
        found = self.found(lines)
        at = bisect_right(found, bottom)
        self.current = found[max(0, at - 1)] if found else None
        return self.current

    def step(self, lines: Numbered, by: int, bottom: int) -> int | None:
        """Look at the next newer (1) or older (-1) line found, around the ends; its number."""
        found = self.found(lines)
        if not found:
            self.current = None
            return None
        if self.current is None:
            return self.nearest(lines, bottom)
        at = bisect_right(found, self.current) if by > 0 else bisect_left(found, self.current) - 1
        self.current = found[at % len(found)]
        return self.current

    def position(self, lines: Numbered) -> tuple[int, int]:
        """Which of the lines found is looked at, counted from the oldest, 0 when none is; and how many there are."""
        found = self.found(lines)
        if self.current is None or self.current not in found:
            return 0, len(found)
        return bisect_left(found, self.current) + 1, len(found)
