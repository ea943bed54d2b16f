"""The one table of actions: keys, hints, help, palette, refusals."""

from __future__ import annotations

import pytest

from overbrainer_core.events.types import Metric
from overbrainer_tui import actions, keys, outcomes
from overbrainer_tui.effects import Effect, KeepTheme, ThemeKept
from overbrainer_tui.state import AppState, View
from tests.tui.states import RUNNING_ID, app_state, metrics, run_records


def press(state: AppState, *names: str) -> list[Effect]:
    """Press keys one after the other; the effects of all."""
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def with_runs(state: AppState) -> AppState:
    state.training.take_runs(run_records())
    return state


def test_no_view_has_two_actions_on_one_key() -> None:
    for view in View:
        used = [key for a in actions.ACTIONS if a.view in (None, view) for key in a.keys]
        assert sorted(used) == sorted(set(used))


def test_every_action_has_an_id_of_its_own_and_is_listed_where_it_can_be_found() -> None:
    ids = [action.id for action in actions.ACTIONS]
    assert len(ids) == len(set(ids))
    for action in actions.ACTIONS:
        assert action.help or action.title or action.keys


@pytest.mark.parametrize("view", list(View))
def test_every_hint_is_a_key_of_the_help(view: View) -> None:
    state = with_runs(app_state())
    state.view = view
    words = {key for key, _ in (*actions.help_rows(view), *actions.help_rows(None))}
    for hint in actions.hints(state):
        assert any(word.startswith(hint.key) for word in words)


def test_a_readonly_app_refuses_whatever_starts_stops_or_cancels() -> None:
    state = with_runs(app_state(is_readonly=True))
    for key in ("r", "A"):
        assert press(state, key) == []
        assert status(state) == "refused: opened with --readonly; nothing can be started"
    press(state, "4")
    for key in ("a", "c", "t", "s"):
        assert press(state, key) == []
        assert "refused: opened with --readonly" in (status(state) or "")
        assert state.overlay is None
    assert actions.hints(app_state(is_readonly=True))[0].is_refused


def test_without_a_run_the_hints_name_the_start() -> None:
    state = app_state()
    state.view = View.TRAINING
    assert [hint.key for hint in actions.hints(state)] == ["t", "q", "3-5"]


def test_no_key_of_a_view_that_does_not_exist_is_named() -> None:
    words = " ".join(f"{a.shown} {a.help} {a.title} {a.hint}" for a in actions.ACTIONS).lower()
    for absent in ("pod", "push", "hub", "compare", "runpod", "wizard", "editor", "dataset", "filter"):
        assert absent not in words


def test_the_palette_puts_titles_that_begin_with_what_was_typed_first() -> None:
    titles = [action.title for action, _ in actions.palette_entries(app_state(), "re")]
    assert titles[0].lower().startswith("re")
    assert "Cancel this run" not in titles
    assert len(actions.palette_entries(app_state(), "")) == actions.palette_total()


def test_a_theme_is_chosen_in_the_palette_and_kept() -> None:
    state = app_state()
    assert press(state, ":", *"theme: l", "enter") == [KeepTheme(theme="light")]
    assert state.theme == "light"
    outcomes.take(state, ThemeKept(theme="light"))
    assert status(state) == "theme light, kept for the next time"
    assert {a.id: why for a, why in actions.palette_entries(state, "theme")}["theme_light"] is not None
    state.is_theme_forced = True
    press(state, ":", *"theme: d", "enter")
    assert status(state) == "OVERBRAINER_TUI_THEME decides the theme"


def test_hints_that_matter_now_come_first() -> None:
    state = with_runs(app_state())
    state.view = View.TRAINING
    assert hinted(state)[:4] == ["a attach", "j/k select", "s stop", "c cancel"]
    press(state, "j")
    assert hinted(state)[0] == "T resume"
    press(state, "j", "j")
    assert hinted(state)[0] == "x clear"
    press(state, "k")
    assert hinted(state)[0] == "j/k select"
    press(state, "home", "a")
    assert hinted(state)[:3] == ["s stop", "j/k select", "c cancel"]
    assert ", . cursor" not in hinted(state)
    for metric in metrics(50):
        state.training.apply(0, Metric(run_id=RUNNING_ID, metric=metric))
    assert ", . cursor" in hinted(state)


def test_a_chain_that_runs_a_stage_can_be_cancelled_by_the_first_hint() -> None:
    state = app_state()
    assert hinted(state)[0] == "r run a stage"
    press(state, "A", "y")
    assert hinted(state)[0] == "c cancel auto"


def test_the_hints_of_the_log_follow_what_is_done_there() -> None:
    state = app_state()
    press(state, "5")
    assert hinted(state)[:3] == ["j/k scroll", "G follow", "/ search"]
    for number in range(60):
        state.say(f"line {number}")
    press(state, "k")
    assert hinted(state)[0] == "G follow"
    press(state, "/")
    assert hinted(state) == ["Enter keep", "Esc clear"]
    press(state, "7", "enter")
    assert hinted(state)[:2] == ["n/N next", "Esc end search"]


def hinted(state: AppState) -> list[str]:
    return [f"{hint.key} {hint.label}" for hint in actions.hints(state)]
