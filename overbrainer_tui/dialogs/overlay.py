"""What floats over the views now, and which keys does the footer name for it?"""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_tui.dialogs.commands import command_at, palette_piece
from overbrainer_tui.dialogs.confirm import answer_at, confirm_piece
from overbrainer_tui.dialogs.help import help_piece
from overbrainer_tui.dialogs.stage_menu import entry_at, stage_menu_piece
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import OnEntries, Piece, Place
from overbrainer_tui.pipeline_actions import MENU, estimated_as
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Answer, Confirm, DialogRow, Help, Palette, StageMenu
from overbrainer_tui.view_models.quit import quit_rows
from overbrainer_tui.view_models.snapshots import Hint
from overbrainer_tui.view_models.spending import cost_row, cost_words


def overlay_piece(state: AppState, look: Look) -> Piece | None:
    """The overlay drawn for the screen's size, None without one."""
    width, height = state.width, state.height
    match state.overlay:
        case None:
            return None
        case Confirm() as confirm:
            return confirm_piece(confirm, rows_of(state, confirm), width, height, look)
        case StageMenu() as menu:
            return stage_menu_piece(menu, menu_cost(state, menu), width, height, look)
        case Help():
            return help_piece(state.view, width, height, look, is_readonly=state.is_readonly)
        case Palette() as palette:
            return palette_piece(state, palette, width, height, look)


def place_in_overlay(state: AppState, piece: Piece, x: int, y: int) -> Place | None:
    """What can be pointed at in a cell of the screen, of the piece that floats over it."""
    if not (0 <= x - piece.x < piece.width and 0 <= y - piece.y < len(piece.rows)):
        return None
    column, row = x - piece.x, y - piece.y
    match state.overlay:
        case Confirm() as confirm if row == len(piece.rows) - 2:
            return answer_at(confirm, column)
        case StageMenu():
            return OnEntries(entry_at(row))
        case Palette() as palette:
            return OnEntries(command_at(state, palette, row))
        case _:
            return None


def menu_cost(state: AppState, menu: StageMenu) -> tuple[str, str]:
    """What the entry under the cursor costs, and a remark."""
    name = estimated_as(MENU[menu.index][0])
    if name is None:
        return "costs nothing", "no model is asked"
    return cost_words(state.spending.facts(name), is_played=state.is_played)


def rows_of(state: AppState, confirm: Confirm) -> Sequence[DialogRow]:
    """The rows of a question: what it costs first; those of a quit follow the work."""
    if confirm.on_yes is not Answer.QUIT:
        if confirm.spends is None:
            return confirm.rows
        cost = cost_row(state.spending.facts(confirm.spends), is_played=state.is_played)
        return (cost, DialogRow(), *confirm.rows)
    return quit_rows(state.pipeline, state.training.tasks, is_exporting=state.is_exporting) or (
        DialogRow(value="The work has ended meanwhile: nothing is stopped."),
    )


def overlay_hints(state: AppState) -> tuple[Hint, ...]:
    """The footer's hints while an overlay is open."""
    match state.overlay:
        case Confirm() as confirm:
            return (Hint(key="y", label=confirm.yes), Hint(key="n, Esc or Enter", label=confirm.no))
        case StageMenu():
            return (Hint(key="j/k", label="move"), Hint(key="Enter", label="run"), Hint(key="Esc", label="close"))
        case Help():
            return (Hint(key="Esc", label="close"),)
        case Palette():
            return (Hint(key="↑↓", label="move"), Hint(key="Enter", label="run"), Hint(key="Esc", label="close"))
        case None:
            return ()
