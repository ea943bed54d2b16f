"""What does a one-line input hold, where is its cursor, and which part of it fits its field?

Keys arrive as names (`left`, `backspace`) or as the character typed; a paste becomes one line. Cells are counted, not
characters: the cursor stays visible whatever the width of what is typed.
"""

from __future__ import annotations

import re

from overbrainer_core.text import cell_width, char_width, drop_controls

_LINE_BREAKS = re.compile(r"(\r\n|\r|\n)+")


class OneLineInput:
    """A line being typed."""

    def __init__(self, text: str = "", cursor: int | None = None) -> None:
        self.text = text
        self.cursor = len(text) if cursor is None else cursor

    def on_key(self, key: str) -> bool:
        """Take a key; False when it is none of an input's (Enter and Escape are its owner's)."""
        match key:
            case "backspace":
                if self.cursor:
                    self.text = self.text[: self.cursor - 1] + self.text[self.cursor :]
                    self.cursor -= 1
            case "delete":
                self.text = self.text[: self.cursor] + self.text[self.cursor + 1 :]
            case "left":
                self.cursor = max(0, self.cursor - 1)
            case "right":
                self.cursor = min(len(self.text), self.cursor + 1)
            case "home":
                self.cursor = 0
            case "end":
                self.cursor = len(self.text)
            case _ if len(key) == 1 and key.isprintable():
                self._insert(key)
            case _:
                return False
        return True

    def paste(self, text: str) -> None:
        """Insert a paste: breaks at its ends are dropped, inner ones become blanks, other controls are removed."""
        one_line = _LINE_BREAKS.sub(" ", text.strip("\r\n"))
        self._insert(drop_controls(one_line))

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def window(self, cells: int) -> tuple[str, str, str]:
        """What `cells` columns show, as (before the cursor, under it, after it); under it a blank at the end."""
        under = self.text[self.cursor : self.cursor + 1] or " "
        room = max(0, cells - max(1, char_width(under)))
        before = self.text[: self.cursor]
        while before and cell_width(before) > room:
            before = before[1:]
        room -= cell_width(before)
        after = ""
        for char in self.text[self.cursor + 1 :]:
            if char_width(char) > room:
                break
            after += char
            room -= char_width(char)
        return before, under, after
