"""What does the header row show: brand, tabs, project name?"""

from __future__ import annotations

from overbrainer_core.text import cell_width, cut
from overbrainer_tui.cells import Ground, Line, Row, Tone, shown
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import HeaderShown, Tab

BRAND = "overbrainer"
BRAND_CELLS = 17
"""Cells of the brand in full, the blanks before the tabs included."""

FULL_BRAND_COLUMNS = 100
"""Columns from which the brand is written out."""


def header_row(header: HeaderShown, width: int, look: Look) -> Row:
    """The header, `width` cells wide; the project name is cut when tabs leave no room for it."""
    glyphs = look.glyphs
    project = shown(header.project)
    line = Line(width, on="surface")
    line.put(1, glyphs.brand, Tone("accent", "", "surface"))
    column = _first_tab(header, width)
    if column == BRAND_CELLS:
        line.put(3, BRAND, Tone("bright", "bold", "surface"))
    for tab in header.tabs:
        column = _put_tab(line, column, tab, look)
    room = width - 1 - column - 1
    line.put_right(width - 1, cut(project, max(0, room), mark=glyphs.cut), Tone("text", "", "surface"))
    return line.row()


def _first_tab(header: HeaderShown, width: int) -> int:
    """The column where the tabs begin: after the brand in full when everything fits, else after its sign."""
    needed = BRAND_CELLS + sum(_tab_cells(tab) for tab in header.tabs) + cell_width(shown(header.project)) + 2
    return BRAND_CELLS if width >= FULL_BRAND_COLUMNS and needed <= width else 2


def tab_at(header: HeaderShown, width: int, column: int) -> str | None:
    """The digit of the tab at a column."""
    start = _first_tab(header, width)
    for tab in header.tabs:
        end = start + _tab_cells(tab)
        if start <= column < end:
            return tab.key
        start = end
    return None


def _tab_cells(tab: Tab) -> int:
    return cell_width(tab.key) + cell_width(tab.name) + 3


def _put_tab(line: Line, column: int, tab: Tab, look: Look) -> int:
    """Put ` 4 Training `, its last cell the mark of work; the column after it."""
    ground: Ground = "raised" if tab.is_selected and look.paints_ground else "surface"
    end = column + _tab_cells(tab)
    line.fill(column, end, " ", Tone("text", "", ground))
    key = Tone("accent" if tab.is_selected else "faint", "", ground)
    name = Tone("bright", "bold", "tab") if tab.is_selected else Tone("dim", "", ground)
    after = line.put(column + 1, tab.key, key)
    after = line.put(after + 1, tab.name, name)
    if tab.has_work:
        line.put(after, look.glyphs.has_work, Tone("accent", "", ground))
    return end
