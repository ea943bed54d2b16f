"""What does a key do? The one dispatcher: keys in, effects out.

In this order: Ctrl-C, the overlay, a search being typed, `n` or Esc while a quit waits, the keys of everywhere, the
keys of the view. Keys are named by their character (`J`, `?`) or by a word (`enter`, `shift+tab`, `ctrl+c`).
"""

from __future__ import annotations

from overbrainer_tui import actions, logs_actions, pipeline_actions, quit_actions, training_actions
from overbrainer_tui.effects import Effect
from overbrainer_tui.outcomes import read_selected
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.overlay import Answer, Confirm, Help, Palette, StageMenu
from overbrainer_tui.view_models.quit import QuitPhase


def on_key(state: AppState, key: str) -> list[Effect]:
    """Take a key."""
    if state.is_too_small:
        return quit_actions.ask_quit_small(state) if key in ("q", "ctrl+c") else _answer_small(state, key)
    if key == "ctrl+c":
        state.overlay = None
        if state.is_typing:
            state.logs.end_search(is_kept=False)
        return quit_actions.ask_quit(state)
    if state.overlay is not None:
        return _on_overlay(state, key)
    if state.is_typing:
        return logs_actions.on_search_key(state, key)
    if key in ("n", "escape") and state.quit.phase is QuitPhase.WAITING:
        return quit_actions.stay(state)
    action = actions.find(key, state.view)
    if action is None:
        return []
    effects = action.do(state)
    return effects + read_selected(state)


def _answer_small(state: AppState, key: str) -> list[Effect]:
    """On a terminal that is too small only the quit's own question is answered: its text is the status line's."""
    is_asked = isinstance(state.overlay, Confirm) and state.overlay.on_yes is Answer.QUIT
    return _on_overlay(state, key) if is_asked else []


def on_paste(state: AppState, text: str) -> list[Effect]:
    """Take a paste: it goes into an open input, else nowhere."""
    if isinstance(state.overlay, Palette):
        state.overlay.input.paste(text)
        state.overlay.index = 0
    elif state.overlay is None and state.is_typing and not state.is_too_small:
        logs_actions.paste_search(state, text)
    return []


def _on_overlay(state: AppState, key: str) -> list[Effect]:
    match state.overlay:
        case Confirm() as confirm:
            state.overlay = None
            return _yes(state, confirm) if key == "y" else []
        case StageMenu() as menu:
            return _on_menu(state, menu, key)
        case Help():
            if key in ("escape", "?", "q"):
                state.overlay = None
            return []
        case Palette() as palette:
            return _on_palette(state, palette, key)
        case _:
            return []


def _yes(state: AppState, confirm: Confirm) -> list[Effect]:
    match confirm.on_yes:
        case Answer.QUIT:
            return quit_actions.confirm_quit(state)
        case Answer.START_AUTO:
            return pipeline_actions.start_auto(state, resume_from=confirm.subject)
        case Answer.CANCEL_AUTO:
            return pipeline_actions.cancel_auto(state)
        case Answer.START_RUN:
            return training_actions.confirm_start(state, confirm.subject)
        case Answer.CANCEL_RUN:
            return training_actions.cancel_run(state, confirm.subject)
        case Answer.STOP_RUN:
            return training_actions.stop_run(state, confirm.subject)
        case Answer.CLEAR_RUNS:
            state.training.hide(confirm.subject)
            return read_selected(state)


def _on_menu(state: AppState, menu: StageMenu, key: str) -> list[Effect]:
    match key:
        case "k" | "up":
            return pipeline_actions.select_entry(state, menu.index - 1)
        case "j" | "down":
            return pipeline_actions.select_entry(state, menu.index + 1)
        case "enter":
            state.overlay = None
            return pipeline_actions.run_entry(state, pipeline_actions.MENU[menu.index][0])
        case _:
            state.overlay = None
    return []


def _on_palette(state: AppState, palette: Palette, key: str) -> list[Effect]:
    entries = actions.palette_entries(state, palette.input.text)
    match key:
        case "escape" | "ctrl+p":
            state.overlay = None
        case "up":
            palette.index = max(0, palette.index - 1)
        case "down":
            palette.index = min(max(0, len(entries) - 1), palette.index + 1)
        case "enter":
            if entries:
                state.overlay = None
                return _run_command(state, entries[palette.index][0])
        case _:
            if palette.input.on_key(key):
                palette.index = 0
    return []


def _run_command(state: AppState, action: actions.Action) -> list[Effect]:
    """A command runs exactly what its key runs, in the view where its key does."""
    effects = state.show(action.view) if action.view is not None else []
    return effects + action.do(state) + read_selected(state)
