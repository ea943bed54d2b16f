"""What the mouse does is what a key does, and most of what it does is nothing."""

from __future__ import annotations

import pytest

from overbrainer_core.events.types import Metric
from overbrainer_tui.effects import ReadMetrics, ReadRunFiles, RunStages
from overbrainer_tui.pieces import OnChart, OnEntries, OnKey, OnLines, OnRuns, Place
from overbrainer_tui.pipeline_actions import MENU
from overbrainer_tui.pointing import WHEEL_LINES, is_heard, on_pointer
from overbrainer_tui.state import AppState, View
from overbrainer_tui.terminal_keys import PointerKind
from overbrainer_tui.view_models.overlay import Answer, Confirm, Help, Overlay, Palette, StageMenu
from overbrainer_tui.view_models.snapshots import Level
from tests.tui.states import FAILED_ID, RUNNING_ID, STOPPED_ID, app_state, metrics, run_records

CLICK, MOVE = PointerKind.CLICK, PointerKind.MOVE
UP, DOWN = PointerKind.WHEEL_UP, PointerKind.WHEEL_DOWN
PLACES: tuple[Place | None, ...] = (None, OnKey("q"), OnRuns(RUNNING_ID), OnChart(10), OnLines(), OnEntries(0))


@pytest.fixture
def state() -> AppState:
    """Training shown, five runs, the newest selected with a curve."""
    made = app_state()
    made.show(View.TRAINING)
    made.training.take_runs(run_records())
    for metric in metrics(200):
        made.training.apply(0, Metric(run_id=RUNNING_ID, metric=metric))
    return made


def question(state: AppState) -> Confirm:
    state.overlay = Confirm(title="Clear failed runs?", rows=(), yes="clear", no="keep", on_yes=Answer.CLEAR_RUNS,
                            subject=(FAILED_ID,))  # fmt: skip
    return state.overlay


def overlay(state: AppState) -> Overlay | None:
    return state.overlay


def cursor(state: AppState) -> int | None:
    shown = state.training.snapshot(state.now).selected
    return shown.cursor.step if shown is not None and shown.cursor is not None else None


def test_a_click_on_a_tab_is_its_digit(state: AppState) -> None:
    on_pointer(state, CLICK, OnKey("5"))
    assert state.view is View.LOGS


def test_a_click_on_a_run_selects_it_and_reads_its_files(state: AppState) -> None:
    effects = on_pointer(state, CLICK, OnRuns(STOPPED_ID))
    assert state.training.selected is not None
    assert state.training.selected.id == STOPPED_ID
    assert [type(effect) for effect in effects] == [ReadMetrics, ReadRunFiles]
    assert on_pointer(state, CLICK, OnRuns()) == []


def test_the_wheel_moves_the_selection_of_the_runs_and_does_not_wrap(state: AppState) -> None:
    on_pointer(state, UP, OnRuns())
    assert state.training.selected is not None
    assert state.training.selected.id == RUNNING_ID
    on_pointer(state, DOWN, OnRuns(RUNNING_ID))
    assert state.training.selected.id == STOPPED_ID


def test_the_wheel_scrolls_the_lines_of_the_log() -> None:
    state = app_state()
    state.show(View.LOGS)
    for number in range(60):
        state.say(f"line {number}", Level.INFO)
    on_pointer(state, UP, OnLines())
    assert state.logs.snapshot().newer == WHEEL_LINES
    on_pointer(state, DOWN, OnLines())
    assert state.logs.snapshot().newer == 0


def test_over_the_chart_the_cursor_follows_and_goes_with_the_mouse(state: AppState) -> None:
    on_pointer(state, MOVE, OnChart(50))
    assert cursor(state) == 50
    on_pointer(state, MOVE, OnChart(60))
    assert cursor(state) == 60
    on_pointer(state, MOVE, None)
    assert cursor(state) is None


def test_a_cursor_put_by_a_key_stays_when_the_mouse_moves_elsewhere(state: AppState) -> None:
    state.training.on_key(",")
    assert cursor(state) == 200
    assert not is_heard(state, MOVE, OnRuns(RUNNING_ID))
    on_pointer(state, MOVE, OnRuns(RUNNING_ID))
    assert cursor(state) == 200


def test_a_key_takes_the_cursor_from_the_mouse(state: AppState) -> None:
    on_pointer(state, MOVE, OnChart(50))
    state.training.on_key(".")
    on_pointer(state, MOVE, None)
    assert cursor(state) == 60


def test_another_run_begins_without_a_cursor(state: AppState) -> None:
    on_pointer(state, MOVE, OnChart(50))
    state.training.select(STOPPED_ID)
    assert state.training.pointed is None
    assert cursor(state) is None


def test_a_move_is_heard_only_where_it_changes_something(state: AppState) -> None:
    assert [is_heard(state, MOVE, place) for place in PLACES] == [False, False, False, True, False, False]
    on_pointer(state, MOVE, OnChart(10))
    assert not is_heard(state, MOVE, OnChart(10))
    assert is_heard(state, MOVE, OnChart(20))
    assert is_heard(state, MOVE, None)
    question(state)
    assert not is_heard(state, MOVE, OnChart(20))
    state.overlay = None
    state.show(View.LOGS)
    assert not is_heard(state, MOVE, OnLines())


def test_clicks_and_the_wheel_are_not_heard_over_nothing(state: AppState) -> None:
    assert [is_heard(state, kind, None) for kind in (CLICK, UP, DOWN)] == [False, False, False]
    assert all(is_heard(state, kind, OnKey("4")) for kind in (CLICK, UP, DOWN))


def test_a_click_on_an_answer_answers(state: AppState) -> None:
    question(state)
    on_pointer(state, CLICK, OnKey("y"))
    assert state.overlay is None
    assert FAILED_ID not in [record.id for record in state.training.shown_records]
    question(state)
    on_pointer(state, CLICK, OnKey("n"))
    assert state.overlay is None


@pytest.mark.parametrize("kind", list(PointerKind))
@pytest.mark.parametrize("place", [None, OnRuns(STOPPED_ID), OnChart(20), OnLines()])
def test_an_open_dialog_stays_open_whatever_else_the_mouse_does(
    state: AppState, kind: PointerKind, place: Place | None
) -> None:
    asked = question(state)
    assert on_pointer(state, kind, place) == []
    assert state.overlay is asked
    state.overlay = Help()
    on_pointer(state, kind, place)
    assert state.overlay == Help()


def test_a_click_on_a_command_runs_it_and_the_wheel_moves_in_the_list(state: AppState) -> None:
    palette = state.overlay = Palette()
    on_pointer(state, DOWN, OnEntries())
    assert palette.index == 1
    on_pointer(state, UP, OnEntries(4))
    assert palette.index == 0
    on_pointer(state, CLICK, OnEntries())
    assert overlay(state) is palette
    on_pointer(state, CLICK, OnEntries(2))
    assert overlay(state) is None
    assert state.view is View.LOGS


def test_in_the_menu_the_first_click_selects_and_the_second_runs(state: AppState) -> None:
    menu = state.overlay = StageMenu()
    at = [name for name, _ in MENU].index("split")
    assert on_pointer(state, CLICK, OnEntries(at)) == []
    assert (menu.index, overlay(state)) == (at, menu)
    effects = on_pointer(state, CLICK, OnEntries(at))
    assert overlay(state) is None
    assert [effect.command for effect in effects if isinstance(effect, RunStages)] == ["split"]


def test_on_a_terminal_too_small_the_mouse_does_nothing(state: AppState) -> None:
    state.resize(79, 24)
    for kind in PointerKind:
        for place in PLACES:
            assert not is_heard(state, kind, place)
            assert on_pointer(state, kind, place) == []
    assert state.view is View.TRAINING
