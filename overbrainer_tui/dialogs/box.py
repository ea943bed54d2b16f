"""How is a floating box drawn? A border in the low accent with the title in it: a border means that this floats."""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_core.text import cell_width, cut
from overbrainer_tui.cells import BRIGHT, DIM, Line, Row, Span, Tone, fitting_start
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece

NAME = "overlay"
BORDER = Tone("accent_lo")


def boxed(title: str, inside: Sequence[Row], width: int, look: Look, *, foot: str = "") -> tuple[Row, ...]:
    """The rows inside (each `width` - 2 cells) with a border around, `foot` in its lower edge."""
    glyphs = look.glyphs
    corners = glyphs.corners
    top = Line(width)
    top.fill(0, width, glyphs.hairline, BORDER)
    top.put(0, corners[0], BORDER)
    top.put(width - 1, corners[1], BORDER)
    top.put(2, f" {cut(title, width - 6, mark=glyphs.cut)} ", BRIGHT)
    bottom = Line(width)
    bottom.fill(0, width, glyphs.hairline, BORDER)
    bottom.put(0, corners[2], BORDER)
    bottom.put(width - 1, corners[3], BORDER)
    if foot:
        bottom.put(2, f" {cut(foot, width - 6, mark=glyphs.cut)} ", DIM)
    side = Span(glyphs.wall, BORDER)
    return (top.row(), *((side, *row, side) for row in inside), bottom.row())


def centred(rows: tuple[Row, ...], box_width: int, width: int, height: int) -> Piece:
    """A box in the middle of the screen, never over header and footer's edges when it fits between them."""
    y = max(0, (height - len(rows)) // 2)
    return Piece(name=NAME, x=max(0, (width - box_width) // 2), y=y, width=box_width, rows=rows)


def wrapped(spans: Sequence[Span], cells: int) -> list[list[Span]]:
    """Words of spans in lines of at most `cells` cells, each word in its tone; a longer word is broken."""
    lines: list[list[Span]] = [[]]
    used = 0
    for span in spans:
        for word, gap in _words(span.text):
            needed = cell_width(word) + (gap if used else 0)
            if used and used + needed > cells:
                lines.append([])
                used, needed = 0, cell_width(word)
            if used and gap:
                lines[-1].append(Span(" " * gap, span.tone))
            for part in _parts(word, cells):
                if lines[-1] and used + cell_width(part) > cells:
                    lines.append([])
                lines[-1].append(Span(part, span.tone))
                used = sum(cell_width(piece.text) for piece in lines[-1])
    return lines


def _words(text: str) -> list[tuple[str, int]]:
    """Words with the blanks before each."""
    found: list[tuple[str, int]] = []
    gap = 0
    for part in text.split(" "):
        if part:
            found.append((part, gap))
            gap = 1
        else:
            gap += 1
    return found


def _parts(word: str, cells: int) -> list[str]:
    """A word in pieces that fit."""
    parts: list[str] = []
    while word:
        parts.append(fitting_start(word, cells))
        word = word[len(parts[-1]) :]
    return parts
