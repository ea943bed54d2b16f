"""Keyboard scripts on the state: the frame, the menu, the palette, what is refused and why."""

from __future__ import annotations

import logging

import pytest

from overbrainer_core.events.types import StageStarted
from overbrainer_core.log_setup import LogEntry
from overbrainer_core.values.stage import Stage
from overbrainer_tui import actions, keys, outcomes
from overbrainer_tui.effects import (
    BrowserFailed,
    Effect,
    EstimateCost,
    HistoryRead,
    Leave,
    OpenRepository,
    ReadHistory,
    ReadRuns,
    ReloadSettings,
    RunStages,
    StagesEnded,
)
from overbrainer_tui.state import AppState, View
from overbrainer_tui.view_models.footer import STATUS_S
from overbrainer_tui.view_models.overlay import Confirm, Help, Overlay, Palette, StageMenu
from overbrainer_tui.view_models.snapshots import Cost, Level
from tests.tui.states import MONO, NOW, app_state, run_records


def press(state: AppState, *names: str) -> list[Effect]:
    """Press keys one after the other; the effects of all."""
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def shown(state: AppState) -> View:
    return state.view


def over(state: AppState) -> Overlay | None:
    return state.overlay


def hints(state: AppState) -> dict[str, bool]:
    return {hint.key: hint.is_refused for hint in actions.hints(state)}


def with_runs(state: AppState) -> AppState:
    state.training.take_runs(run_records())
    return state


def with_stage(state: AppState, command: str = "answers") -> int:
    (effect,) = (e for e in press(state, "r", *["j"] * 3, "enter") if isinstance(e, RunStages))
    assert effect.command == command
    outcomes.take_events(state, effect.task, [StageStarted(stage=Stage(command), total=320)])
    return effect.task


def test_each_digit_shows_its_view_and_its_tab_is_selected() -> None:
    state = app_state()
    for key, view in (("4", View.TRAINING), ("5", View.LOGS), ("3", View.PIPELINE)):
        press(state, key)
        assert shown(state) is view
        assert [tab.name for tab in state.header().tabs if tab.is_selected] == [view.value]


def test_tab_goes_round_and_shift_tab_goes_back() -> None:
    state = app_state()
    press(state, "tab", "tab", "tab")
    assert shown(state) is View.PIPELINE
    press(state, "shift+tab")
    assert shown(state) is View.LOGS


def test_digits_of_views_that_do_not_exist_do_nothing() -> None:
    state = app_state()
    assert press(state, "1", "2", "6") == []
    assert shown(state) is View.PIPELINE


def test_in_the_help_digits_do_nothing_and_q_only_closes_it() -> None:
    state = app_state()
    press(state, "?", "4")
    assert (state.view, state.overlay) == (View.PIPELINE, Help())
    assert press(state, "g", "R", "r") == []
    assert press(state, "q") == []
    assert over(state) is None


def test_a_status_gives_way_to_the_hints_after_ten_seconds() -> None:
    state = app_state()
    state.say("bad", Level.ERROR)
    assert state.footer(()).status is not None
    state.at(MONO + STATUS_S + 1, NOW)
    assert state.footer(()).status is None
    assert state.next_tick_s() is None


def test_while_a_stage_runs_r_and_auto_are_struck_and_quit_is_not() -> None:
    state = app_state()
    with_stage(state)
    assert hints(state) == {"r": True, "A": True, "q": False, "3-5": False}
    footer = state.footer(())
    assert (footer.is_locked, footer.work) == (True, ("answers 0/320",))


def test_cost_and_version_are_hidden_under_an_overlay_and_come_back() -> None:
    state = app_state()
    cost = Cost(usd=1.5, is_partial=True)
    outcomes.take(state, HistoryRead(after_task=0, total=cost))
    press(state, "?")
    assert (state.footer(()).cost, state.footer(()).version) == (None, None)
    press(state, "escape")
    assert state.footer(()).version == "0.1.0"
    assert state.footer(()).cost == cost


@pytest.mark.parametrize("key", ["x", "n", "escape", "enter", "Y", "q"])
def test_every_key_but_a_small_y_answers_no(key: str) -> None:
    state = app_state()
    press(state, "A")
    assert isinstance(over(state), Confirm)
    assert press(state, key) == []
    assert over(state) is None
    assert state.chain is None


def test_the_menu_runs_a_stage_at_once_and_shows_the_pipeline() -> None:
    state = app_state()
    press(state, "5")
    effects = press(state, "r", "down", "down", "down", "enter")
    assert effects[-1] == RunStages(task=1, command="answers")
    assert shown(state) is View.PIPELINE
    assert press(state, "r") == []
    assert status(state) == "refused: answers is running; one task at a time"


def test_the_menu_does_not_wrap_and_any_other_key_closes_it() -> None:
    state = app_state()
    press(state, "r", "k")
    assert state.overlay == StageMenu(index=0)
    press(state, *["j"] * 9)
    assert state.overlay == StageMenu(index=5)
    press(state, "g")
    assert over(state) is None


def test_the_menu_s_first_entry_asks_for_auto_mode() -> None:
    state = app_state()
    press(state, "r", "enter")
    assert isinstance(state.overlay, Confirm)
    assert state.overlay.title == "Run auto mode?"


def test_the_end_of_a_stage_is_said_and_its_cost_is_read() -> None:
    state = app_state()
    task = with_stage(state)
    assert outcomes.take(state, StagesEnded(task=task)) == [ReadHistory(after_task=task)]
    assert status(state) == "answers finished"
    assert state.lock_reason is None


def test_a_stage_that_failed_is_said_as_an_error_and_stands_in_the_log() -> None:
    state = app_state()
    task = with_stage(state)
    outcomes.take(state, StagesEnded(task=task, error="answers stopped: HTTP 401: authentication failed"))
    found = state.status.current(state.mono)
    assert found is not None
    assert found.level is Level.ERROR
    assert found.text == "answers: answers stopped: HTTP 401: authentication failed"
    press(state, "5")
    assert state.logs.snapshot().rows[-1].text == found.text
    assert state.logs.snapshot().rows[-1].level == "ERROR"


def test_run_says_that_training_starts_only_with_t() -> None:
    state = app_state()
    effect = press(state, "r", "j", "j", "j", "j", "j", "enter")[-1]
    assert isinstance(effect, RunStages)
    assert effect.command == "run"
    outcomes.take(state, StagesEnded(task=effect.task))
    assert status(state) == "run finished after split; training starts only with t"


def test_an_outcome_of_a_task_that_is_not_the_last_changes_nothing() -> None:
    state = app_state()
    with_stage(state)
    assert outcomes.take(state, StagesEnded(task=99, error="old")) == []
    assert state.pipeline.is_running


def test_g_opens_the_repository_once_in_every_view() -> None:
    state = app_state()
    for view in ("3", "4", "5"):
        press(state, view)
        assert press(state, "g") == [OpenRepository(url="https://overbrainer.example/overbrainer")]


def test_g_in_an_overlay_is_a_key_like_any_other() -> None:
    state = app_state()
    assert not any(isinstance(effect, OpenRepository) for effect in press(state, "A", "g", "r", "g"))
    assert over(state) is None
    assert press(state, ":", "g") == []
    assert isinstance(state.overlay, Palette)
    assert state.overlay.input.text == "g"


def test_a_browser_that_fails_is_said_and_not_hidden_by_its_own_log_line() -> None:
    state = app_state()
    outcomes.take(state, BrowserFailed(url="https://x"))
    outcomes.take_log(state, LogEntry(number=0, time=NOW, level=logging.WARNING, area="app", text="noise"))
    assert status(state) == "cannot open a browser: https://x"


def test_without_a_repository_g_says_so() -> None:
    state = app_state()
    state.repository = ""
    assert press(state, "g") == []
    assert status(state) == "this build names no repository to open"


def test_r_reloads_settings_and_runs() -> None:
    state = app_state()
    assert press(state, "R") == [ReloadSettings(), ReadRuns(ticket=1)]


def test_a_new_log_line_at_warning_becomes_the_status_and_a_lesser_one_does_not() -> None:
    state = app_state()
    outcomes.take_log(state, LogEntry(number=0, time=NOW, level=logging.INFO, area="x", text="quiet"))
    assert status(state) is None
    outcomes.take_log(state, LogEntry(number=0, time=NOW, level=logging.WARNING, area="x", text="loud"))
    assert status(state) == "loud"


# The palette


def test_both_keys_open_the_palette_and_escape_closes_it() -> None:
    state = app_state()
    for key in (":", "ctrl+p"):
        press(state, key)
        assert isinstance(over(state), Palette)
        press(state, "escape")
        assert over(state) is None


def test_the_palette_finds_runs_and_goes_to_the_command_s_view() -> None:
    state = with_runs(app_state())
    press(state, ":", *"attach")
    entries = actions.palette_entries(state, "attach")
    assert [action.id for action, _ in entries] == ["attach"]
    effects = press(state, "enter")
    assert shown(state) is View.TRAINING
    assert [type(effect).__name__ for effect in effects] == ["ReadRuns", "AttachRun", "ReadRunFiles"]


def test_a_refused_command_tells_why_in_the_list_and_when_it_is_run() -> None:
    state = app_state()
    ((action, reason),) = (e for e in actions.palette_entries(state, "attach"))
    assert (action.id, reason) == ("attach", "no run to attach")
    press(state, ":", *"attach", "enter")
    assert status(state) == "no run to attach"


def test_a_paste_goes_into_the_palette_and_nowhere_else() -> None:
    state = app_state()
    keys.on_paste(state, "q\ny\n")
    assert (state.overlay, state.quit.is_leaving) == (None, False)
    press(state, ":")
    keys.on_paste(state, "st\nop")
    assert isinstance(state.overlay, Palette)
    assert state.overlay.input.text == "st op"


def test_the_palette_s_cursor_stays_on_its_entries() -> None:
    state = app_state()
    press(state, ":", "up")
    assert isinstance(state.overlay, Palette)
    press(state, *["down"] * 99)
    assert state.overlay.index == actions.palette_total() - 1
    press(state, "s")
    assert state.overlay.index == 0


# A small terminal


def test_too_small_a_terminal_takes_only_the_keys_that_quit() -> None:
    state = app_state()
    for width, height in ((79, 24), (80, 23)):
        state.resize(width, height)
        assert state.is_too_small
        assert press(state, "4", "r", "?") == []
        assert (state.view, state.overlay) == (View.PIPELINE, None)
    assert press(state, "q") == [Leave(exit_code=0)]


def test_a_terminal_that_grows_again_shows_the_same_view() -> None:
    state = app_state()
    press(state, "5")
    state.resize(79, 24)
    state.resize(80, 24)
    assert (state.is_too_small, state.view) == (False, View.LOGS)


def test_what_a_menu_entry_costs_is_asked_for_once_and_split_asks_nobody() -> None:
    state = app_state()
    asked = press(state, "r", *["j"] * 5, *["k"] * 5)
    assert asked == [EstimateCost(ticket=1, name=name) for name in ("run", "subtopics", "questions", "answers")]
    assert press(state, "escape", "r") == [EstimateCost(ticket=2, name="run")]


def test_in_the_demo_nothing_is_estimated() -> None:
    state = app_state()
    state.demo_directory = "overbrainer-demo"
    assert press(state, "r", "j", "escape", "A") == []


def test_a_search_takes_every_key_until_it_is_kept_or_cleared() -> None:
    state = app_state()
    press(state, "5")
    state.say("first error")
    state.say("all is well")
    press(state, "/", *"q?4", "backspace", "backspace", "backspace", *"error")
    assert (over(state), shown(state), state.quit.has_left) == (None, View.LOGS, False)
    keys.on_paste(state, "\n")
    search = state.logs.snapshot().search
    assert search is not None
    assert (search.text, search.typed, search.at, search.total) == ("error", ("error", 5), 1, 1)
    press(state, "enter")
    press(state, "N", "n")
    search = state.logs.snapshot().search
    assert search is not None
    assert (search.typed, search.at) == (None, 1)
    press(state, "escape")
    assert state.logs.snapshot().search is None
    press(state, "n")
    assert status(state) == "nothing is looked for: / searches"


def test_ctrl_c_in_a_search_drops_it_and_quits() -> None:
    state = app_state()
    press(state, "5", "/", "x")
    assert press(state, "ctrl+c") == [Leave(exit_code=0)]
    assert state.logs.search_input is None


def test_while_a_quit_waits_n_is_typed_into_a_search() -> None:
    state = app_state()
    with_stage(state)
    press(state, "q", "y", "5", "/", "n")
    assert state.quit.is_leaving
    press(state, "enter", "n")
    assert not state.quit.is_leaving
