"""What does the mouse do? Never more than a key does, and nothing where a key would have to be thought about.

A click on a tab or an answer is its key, one on a run selects it, one on a command runs it; in the menu of stages,
whose entries cost money at once, the first click selects and the second runs. The wheel moves lists and lines, moving
over the chart moves its cursor. A move that changes nothing is told to nobody.
"""

from __future__ import annotations

from overbrainer_tui import keys, pipeline_actions
from overbrainer_tui.effects import Effect
from overbrainer_tui.outcomes import read_selected
from overbrainer_tui.pieces import OnChart, OnEntries, OnKey, OnLines, OnRuns, Place
from overbrainer_tui.state import AppState, View
from overbrainer_tui.terminal_keys import PointerKind
from overbrainer_tui.view_models.overlay import Palette, StageMenu

WHEEL_LINES = 3
"""Lines of the log that one notch of the wheel moves."""

_WHEEL_KEYS = {PointerKind.WHEEL_UP: "up", PointerKind.WHEEL_DOWN: "down"}


def is_heard(state: AppState, kind: PointerKind, place: Place | None) -> bool:
    """Whether it would change anything: most of what a mouse does is moving over nothing."""
    if state.is_too_small:
        return False
    if kind is PointerKind.MOVE:
        is_free = state.overlay is None and state.view is View.TRAINING
        return is_free and _step_of(place) != state.training.pointed
    return place is not None


def on_pointer(state: AppState, kind: PointerKind, place: Place | None) -> list[Effect]:
    """Take what the mouse did at a place."""
    if state.is_too_small:
        return []
    if state.overlay is not None:
        return _on_overlay(state, kind, place)
    match kind:
        case PointerKind.CLICK:
            return _on_click(state, place)
        case PointerKind.MOVE:
            state.training.point(_step_of(place))
            return []
        case _:
            return _on_wheel(state, _WHEEL_KEYS[kind], place)


def _step_of(place: Place | None) -> int | None:
    return place.step if isinstance(place, OnChart) else None


def _on_click(state: AppState, place: Place | None) -> list[Effect]:
    match place:
        case OnKey(key):
            if state.is_typing:
                state.logs.end_search(is_kept=True)
            return keys.on_key(state, key)
        case OnRuns(str() as run_id):
            state.training.select(run_id)
            return read_selected(state)
        case _:
            return []


def _on_wheel(state: AppState, key: str, place: Place | None) -> list[Effect]:
    match place:
        case OnRuns():
            state.training.on_key(key)
            return read_selected(state)
        case OnLines():
            for _ in range(WHEEL_LINES):
                state.logs.on_key(key)
    return []


def _on_overlay(state: AppState, kind: PointerKind, place: Place | None) -> list[Effect]:
    match kind, place:
        case (PointerKind.CLICK, OnKey(key)):
            return keys.on_key(state, key)
        case (PointerKind.CLICK, OnEntries(int() as index)):
            return _on_entry(state, index)
        case (PointerKind.WHEEL_UP | PointerKind.WHEEL_DOWN, OnEntries()):
            return keys.on_key(state, _WHEEL_KEYS[kind])
        case _:
            return []


def _on_entry(state: AppState, index: int) -> list[Effect]:
    match state.overlay:
        case Palette() as palette:
            palette.index = index
            return keys.on_key(state, "enter")
        case StageMenu() as menu:
            if menu.index == index:
                return keys.on_key(state, "enter")
            return pipeline_actions.select_entry(state, index)
        case _:
            return []
