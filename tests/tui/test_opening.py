"""What the app does as it opens."""

from __future__ import annotations

from overbrainer_tui import outcomes
from overbrainer_tui.effects import AttachRun, ReadRuns, RunsRead, RunStages
from overbrainer_tui.opening import Opening, open_with
from overbrainer_tui.state import View
from overbrainer_tui.view_models.overlay import Confirm
from overbrainer_tui.view_models.snapshots import Level
from tests.tui.states import RUNNING_ID, STOPPED_ID, SUCCEEDED_ID, app_state, run_records


def test_usually_it_does_nothing() -> None:
    state = app_state()
    assert open_with(state, Opening()) == []
    assert (state.view, state.overlay) == (View.PIPELINE, None)


def test_an_old_project_is_told_what_to_do_first() -> None:
    state = app_state()
    assert open_with(state, Opening(is_old=True)) == []
    found = state.status.current(state.mono)
    assert found is not None
    assert found.level is Level.WARNING
    assert found.text == "this project predates overbrainer 0.4.0: run overbrainer migrate"


def test_a_run_that_goes_on_is_told_and_selected_but_not_followed() -> None:
    state = app_state()
    assert open_with(state, Opening(running=RUNNING_ID)) == []
    found = state.status.current(state.mono)
    assert found is not None
    assert found.text == f"run {RUNNING_ID} is running: 4 shows it, a follows it"
    assert state.view is View.PIPELINE


def test_a_demo_asks_for_auto_mode_and_names_the_run_it_resumes() -> None:
    state = app_state()
    state.demo_directory = "overbrainer-demo"
    assert open_with(state, Opening(auto=True, resume_from=STOPPED_ID)) == []
    assert isinstance(state.overlay, Confirm)
    told = {row.label: row.value for row in state.overlay.rows}
    assert (told["directory"], told["resume"]) == ("overbrainer-demo", STOPPED_ID)


def test_a_demo_that_shall_not_ask_starts_at_once() -> None:
    state = app_state()
    assert open_with(state, Opening(auto=True, is_asked=False)) == [RunStages(task=1, command="subtopics")]
    assert state.overlay is None


def test_a_running_run_is_followed_and_selected() -> None:
    state = app_state()
    assert open_with(state, Opening(follow=RUNNING_ID)) == [ReadRuns(ticket=1), AttachRun(task=1, run_id=RUNNING_ID)]
    assert state.view is View.TRAINING


def test_a_finished_run_is_shown_and_nothing_starts() -> None:
    state = app_state()
    assert open_with(state, Opening(show=SUCCEEDED_ID)) == [ReadRuns(ticket=1)]
    outcomes.take(state, RunsRead(ticket=1, records=run_records()))
    assert state.training.selected is not None
    assert state.training.selected.id == SUCCEEDED_ID
