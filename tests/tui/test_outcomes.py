"""What follows from what happened: settings, history, events and log lines."""

from __future__ import annotations

import logging

from msgspec.structs import replace

from overbrainer_core.events.types import ItemDone, StageStarted
from overbrainer_core.log_setup import LogEntry
from overbrainer_core.values.stage import SplitReport, Stage
from overbrainer_core.values.usage import Usage
from overbrainer_tui import keys, outcomes
from overbrainer_tui.effects import HistoryRead, SettingsRead, StageReported, StagesEnded
from overbrainer_tui.view_models.snapshots import Cost, Level
from tests.tui.states import NOW, app_state, project


def test_new_settings_are_shown_and_said() -> None:
    state = app_state()
    outcomes.take(state, SettingsRead(facts=replace(project(), name="other", target="gpu", model="m2")))
    assert state.header().project == "other"
    assert state.training.setup.target == "gpu"
    found = state.status.current(state.mono)
    assert found is not None
    assert (found.level, found.text) == (Level.INFO, "config reloaded")


def test_settings_that_cannot_be_used_are_said_and_the_old_ones_stay() -> None:
    state = app_state()
    outcomes.take(state, SettingsRead(error="overbrainer.toml: pipeline.concurrency: must be at least 1"))
    found = state.status.current(state.mono)
    assert found is not None
    assert found.level is Level.ERROR
    assert state.header().project == "roman_roads"


def test_an_unchanged_reload_says_nothing() -> None:
    state = app_state()
    outcomes.take(state, SettingsRead())
    assert state.status.current(state.mono) is None


def test_the_cost_is_the_history_and_what_runs_now_each_counted_once() -> None:
    state = app_state()
    outcomes.take(state, HistoryRead(after_task=0, total=Cost(usd=1.0)))
    keys.on_key(state, "r")
    for key in ("j", "j", "j", "enter"):
        keys.on_key(state, key)
    done = ItemDone(stage=Stage.ANSWERS, id="a", usage=Usage(input_tokens=1, output_tokens=1), cost=0.25)
    outcomes.take_events(state, 1, [StageStarted(stage=Stage.ANSWERS, total=1), done])
    assert state.total_cost() == Cost(usd=1.25)
    outcomes.take(state, StagesEnded(task=1))
    assert state.total_cost() == Cost(usd=1.25)
    outcomes.take(state, HistoryRead(after_task=1, total=Cost(usd=1.25)))
    assert state.total_cost() == Cost(usd=1.25)


def test_a_history_that_cannot_be_read_changes_nothing() -> None:
    state = app_state()
    outcomes.take(state, HistoryRead(after_task=0, total=Cost(usd=2.0)))
    outcomes.take(state, HistoryRead(after_task=0, total=None))
    assert state.total_cost() == Cost(usd=2.0)


def test_a_stage_s_report_reaches_its_row() -> None:
    state = app_state()
    for key in ("r", "j", "j", "j", "j", "enter"):
        keys.on_key(state, key)
    outcomes.take_events(state, 1, [StageStarted(stage=Stage.SPLIT, total=1)])
    split = SplitReport(train=1, eval=0, orphaned=0)
    assert outcomes.take(state, StageReported(task=1, stage=Stage.SPLIT, summary="split: 1", split=split)) == []


def test_lost_events_are_counted_for_the_stage_task() -> None:
    state = app_state()
    for key in ("r", "j", "j", "j", "enter"):
        keys.on_key(state, key)
    started = StageStarted(stage=Stage.ANSWERS, total=5000)
    outcomes.take_events(state, 1, [started], lost=3000, finished=[(Stage.ANSWERS, 4000)])
    shown = state.pipeline.snapshot()
    assert shown.lost_events == 3000
    assert shown.rows[2].finished == 4000


def test_a_log_line_is_a_line_of_the_logs_view() -> None:
    state = app_state()
    outcomes.take_log(state, LogEntry(number=9, time=NOW, level=logging.INFO, area="runs", text="created"))
    assert [row.text for row in state.logs.snapshot().rows] == ["created"]
