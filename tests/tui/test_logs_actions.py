"""The keys of the Logs view beside moving: export, source, level."""

from __future__ import annotations

from overbrainer_tui import keys, outcomes
from overbrainer_tui.effects import Effect, ExportLogs, JobLogRead, LogsExported, ReadJobLog, ReadRuns, RunsRead
from overbrainer_tui.state import AppState
from overbrainer_tui.view_models.snapshots import LogSource
from tests.tui.states import MONO, NOW, RUNNING_ID, app_state, run_records


def press(state: AppState, *names: str) -> list[Effect]:
    """Press keys one after the other; the effects of all."""
    return [effect for name in names for effect in keys.on_key(state, name)]


def status(state: AppState) -> str | None:
    found = state.status.current(state.mono)
    return found.text if found is not None else None


def with_runs(state: AppState) -> AppState:
    state.training.take_runs(run_records())
    return state


def test_x_exports_once_at_a_time_and_says_how_it_went() -> None:
    state = app_state()
    press(state, "5")
    assert press(state, "x") == []
    assert status(state) == "no line to export at this level"
    (effect,) = press(state, "x")  # the warning itself is a line now
    assert isinstance(effect, ExportLogs)
    assert press(state, "x") == []
    assert status(state) == "an export is being written"
    outcomes.take(state, LogsExported(name=effect.name, count=3))
    assert status(state) == f"exported 3 lines to .overbrainer/{effect.name}"
    press(state, "x")
    outcomes.take(state, LogsExported(name="n", count=0, error="disk full"))
    assert status(state) == "cannot export the logs: disk full"


def test_s_shows_the_job_log_of_the_selected_run_and_reads_it_every_two_seconds() -> None:
    state = app_state()
    press(state, "5", "s")
    assert status(state) == "no run is selected in Training: there is no job.log to show"
    with_runs(state)
    assert press(state, "s") == [ReadJobLog(run_id=RUNNING_ID, offset=0)]
    outcomes.take(state, JobLogRead(run_id=RUNNING_ID, start=0, offset=2, lines=("a",)))
    assert state.tick() == []
    state.at(MONO + 2.0, NOW)
    assert state.tick() == [ReadJobLog(run_id=RUNNING_ID, offset=2)]
    press(state, "f")
    assert status(state) == "a job's log has no levels"
    press(state, "s")
    assert state.logs.source is LogSource.OWN
    assert state.next_tick_s() != 2.0


def test_only_the_view_that_is_shown_reads() -> None:
    state = app_state()
    assert press(state, "4") == [ReadRuns(ticket=1)]
    outcomes.take(state, RunsRead(ticket=1, records=run_records()))
    press(state, "5")
    for second in range(10):
        state.at(MONO + second, NOW)
        assert state.tick() == []
    assert state.next_tick_s() is None
