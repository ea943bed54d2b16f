"""The state above the views: tabs, locks, labels, ticks."""

from __future__ import annotations

from overbrainer_tui import keys
from overbrainer_tui.effects import Purpose, ReadRuns
from overbrainer_tui.state import LOOK_S, View
from overbrainer_tui.view_models.footer import STATUS_S
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind
from overbrainer_tui.view_models.snapshots import Hint, Level
from tests.tui.states import MONO, NOW, app_state


def test_the_tabs_are_those_of_the_views_that_exist_with_their_digits() -> None:
    header = app_state().header()
    assert [(tab.key, tab.name) for tab in header.tabs] == [("3", "Pipeline"), ("4", "Training"), ("5", "Logs")]
    assert header.project == "roman_roads"
    assert [tab.is_selected for tab in header.tabs] == [True, False, False]


def test_a_tab_shows_that_work_runs_in_its_view() -> None:
    state = app_state()
    state.training.tasks.add(RunTask(number=1, kind=RunTaskKind.ATTACH, run_id="r", has_begun=True))
    assert [tab.has_work for tab in state.header().tabs] == [False, True, False]


def test_work_labels_stand_in_their_order() -> None:
    state = app_state()
    state.preparing = Purpose.START
    state.pipeline.start(1, "answers", concurrency=1)
    for number in (1, 2):
        state.training.tasks.add(RunTask(number=number, kind=RunTaskKind.ATTACH, run_id=str(number), has_begun=True))
    keys.on_key(state, "q")
    keys.on_key(state, "y")
    assert state.work_labels() == ("quitting: waiting", "answers", "2 training tasks")
    state.preparing = Purpose.RESUME
    assert state.work_labels()[2] == "preparing a run"


def test_nothing_is_due_while_nothing_happens() -> None:
    assert app_state().next_tick_s() is None


def test_a_status_is_due_when_it_expires() -> None:
    state = app_state()
    state.say("x", Level.WARNING)
    assert state.next_tick_s() == STATUS_S


def test_training_is_looked_at_every_two_seconds_while_it_is_shown() -> None:
    state = app_state()
    assert state.show(View.TRAINING) == [ReadRuns(ticket=1)]
    assert state.next_tick_s() == LOOK_S
    assert state.show(View.TRAINING) == []
    state.runs_read(1)
    state.at(MONO + LOOK_S, NOW)
    assert state.tick() == [ReadRuns(ticket=2)]
    state.show(View.PIPELINE)
    assert state.next_tick_s() is None


def test_the_footer_carries_hints_and_what_stands_at_its_right() -> None:
    state = app_state()
    state.newer_version = "0.2.0"
    footer = state.footer((Hint(key="q", label="quit"),))
    assert (footer.version, footer.newer_version, footer.is_locked, footer.cost) == ("0.1.0", "0.2.0", False, None)
    assert footer.hints[0].key == "q"


def test_what_is_said_is_a_line_of_the_log_too() -> None:
    state = app_state()
    state.say("a long refusal", Level.WARNING)
    assert [(row.text, row.level) for row in state.logs.snapshot().rows] == [("a long refusal", "WARN")]


def test_the_size_decides_whether_the_views_fit() -> None:
    state = app_state()
    fits = []
    for size in ((80, 24), (79, 24), (80, 23), (200, 55)):
        state.resize(*size)
        fits.append(not state.is_too_small)
    assert fits == [True, False, False, True]
