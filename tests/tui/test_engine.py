"""The engine on real projects and real jobs, without a screen: keys in, work done, the app left."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from overbrainer_core.events.types import Event
from overbrainer_core.flows.session import open_session
from overbrainer_core.log_setup import LogBuffer
from overbrainer_core.runs.record import RunState, load_run
from overbrainer_tui.dialogs.overlay import rows_of
from overbrainer_tui.effects import Effect
from overbrainer_tui.engine import Engine
from overbrainer_tui.facts import project_facts
from overbrainer_tui.state import AppState, View
from overbrainer_tui.view_models.overlay import Confirm
from overbrainer_tui.view_models.snapshots import Level, Progress
from tests.tui.states import write_project

ENV = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")}


class KeptScreen:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.changes = 0
        self.events: list[Event] = []
        self.has_left = False

    def changed(self) -> None:
        self.changes += 1

    def folded(self, task: int, events: Sequence[Event]) -> None:
        self.events += events

    def leave(self) -> None:
        self.has_left = True


@asynccontextmanager
async def engine_on(root: Path) -> AsyncIterator[Engine]:
    """An engine on a project; it is left at the end, whatever runs."""
    async with open_session(root, process_env=ENV) as session, asyncio.TaskGroup() as group:
        engine = Engine(AppState(project_facts(session), version="0.1.0"), session, group, screen=KeptScreen())
        try:
            yield engine
        finally:
            engine.signal("SIGTERM")
            await engine.has_left.wait()


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(15):
        while not condition():
            await asyncio.sleep(0.01)


def press(engine: Engine, *keys: str) -> None:
    for key in keys:
        engine.key(key)


def status(state: AppState) -> str:
    found = state.status.current(state.mono)
    return found.text if found is not None else ""


async def start_run(engine: Engine) -> str:
    """Start a run by its keys and wait until it is followed; its ID."""
    state = engine.state
    press(engine, "4", "t")
    await until(lambda: isinstance(state.overlay, Confirm))
    press(engine, "y")
    await until(lambda: any(task.has_begun for task in state.training.tasks))
    (task,) = state.training.tasks
    assert task.run_id is not None
    return task.run_id


async def test_a_stage_runs_to_its_end_and_its_result_is_shown(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path)) as engine:
        engine.open()
        press(engine, "r", "j", "j", "j", "j", "enter")
        await until(lambda: not engine.state.pipeline.is_running)
        shown = engine.state.pipeline.snapshot()
        assert shown.rows[3].progress is Progress.DONE
        assert shown.results[0].summary.startswith("split: 0 train, 0 eval")
        assert shown.results[0].split is not None
        assert status(engine.state) == "split finished"
        assert isinstance(engine.screen, KeptScreen)
        assert [type(event).__name__ for event in engine.screen.events] == ["StageStarted", "StageFinished"]
        assert engine.screen.changes > 0


async def test_a_run_is_started_followed_and_ends_with_its_curve_read(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path)) as engine:
        run_id = await start_run(engine)
        state = engine.state
        await until(lambda: not len(state.training.tasks))
        assert status(state) == f"run {run_id}: done"
        await until(lambda: state.training.selected is not None and state.training.selected.state.has_ended)
        run = state.training.snapshot(state.now).selected
        assert run is not None
        assert (run.run_id, run.state, run.step, run.percent) == (run_id, "succeeded", 8, 100)
        assert run.series is not None
        assert state.lock_reason is None


async def test_quitting_detaches_a_followed_run_and_its_job_goes_on(tmp_path: Path) -> None:
    root = write_project(tmp_path, epochs=5000)
    async with engine_on(root) as engine:
        run_id = await start_run(engine)
        press(engine, "q", "y")
        await until(engine.has_left.is_set)
        (note,) = [line for line in engine.state.quit.notes if "attach" in line]
        assert f"train attach {run_id}" in note
        assert engine.state.quit.exit_code == 0
    async with open_session(root, process_env=ENV) as session:
        record = load_run(session.paths, run_id)
        assert record.state is RunState.RUNNING
        assert record.job is not None
        os.killpg(record.job.pid, signal.SIGKILL)


async def test_a_cancel_detaches_first_and_then_cancels(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path, epochs=5000)) as engine:
        run_id = await start_run(engine)
        state = engine.state
        await until(lambda: state.training.selected is not None)
        press(engine, "c", "y")
        await until(lambda: not len(state.training.tasks))
        await until(lambda: state.training.selected is not None and state.training.selected.state.has_ended)
        assert state.training.selected is not None
        assert (state.training.selected.id, state.training.selected.state) == (run_id, RunState.CANCELLED)


async def test_a_stop_saves_a_snapshot_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path, epochs=5000)) as engine:
        await start_run(engine)
        state = engine.state
        await until(lambda: state.training.selected is not None and state.training.selected.snapshots)
        press(engine, "s", "y")
        await until(lambda: state.training.selected is not None and state.training.selected.state.has_ended)
        await until(lambda: not len(state.training.tasks))
        assert state.training.selected is not None
        assert state.training.selected.state is RunState.STOPPED
        press(engine, "T")
        await until(lambda: isinstance(state.overlay, Confirm))
        assert isinstance(state.overlay, Confirm)
        assert state.overlay.title == "Resume a training run?"


async def test_a_start_that_cannot_be_is_refused_with_its_reason(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    (root / "data" / "train.jsonl").unlink()
    async with engine_on(root) as engine:
        press(engine, "4", "t")
        await until(lambda: engine.state.preparing is None)
        assert "train.jsonl" in status(engine.state)
        assert engine.state.overlay is None


async def test_settings_changed_on_disk_are_used_and_broken_ones_are_told(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    async with engine_on(root) as engine:
        config = root / "overbrainer.toml"
        text = config.read_text()
        config.write_text(text.replace('name = "small"', 'name = "renamed"'))
        press(engine, "R")
        await until(lambda: engine.state.project.name == "renamed")
        config.write_text(text + "\n[nonsense")
        press(engine, "R")
        await until(lambda: engine.state.status.current(engine.state.mono) is not None
                    and status(engine.state) != "config reloaded")  # fmt: skip
        found = engine.state.status.current(engine.state.mono)
        assert found is not None
        assert found.level is Level.ERROR
        assert engine.state.project.name == "renamed"


async def test_an_export_writes_the_lines(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    async with engine_on(root) as engine:
        engine.state.say("kept for the file")
        press(engine, "5", "x")
        await until(lambda: not engine.state.is_exporting)
        (path,) = (root / ".overbrainer").glob("logs-*.log")
        assert "kept for the file" in path.read_text()


async def test_a_browser_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with engine_on(write_project(tmp_path / "p")) as engine:
        engine.state.repository = "https://overbrainer.example/x"
        press(engine, "g")
        await until(lambda: "cannot open a browser" in status(engine.state))


async def test_what_arrives_while_something_is_folded_waits_its_turn(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path)) as engine:
        seen: list[str] = []

        def inner() -> list[Effect]:
            seen.append("inner")
            return []

        def outer() -> list[Effect]:
            engine._fold(inner)
            seen.append("outer")
            return []

        engine._fold(outer)
        assert seen == ["outer", "inner"]


async def test_log_lines_come_in_from_any_thread(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path)) as engine:
        buffer = LogBuffer()
        record = logging.LogRecord("overbrainer.runs", logging.WARNING, "", 0, "from before", (), None)
        buffer.handle(record)
        engine.listen(buffer)
        late = logging.LogRecord("overbrainer.runs", logging.WARNING, "", 0, "from a thread", (), None)
        await asyncio.to_thread(buffer.handle, late)
        await until(lambda: status(engine.state) == "from a thread")
        engine.key("5")
        assert [row.text for row in engine.state.logs.snapshot().rows] == ["from before", "from a thread"]


async def test_a_signal_before_anything_runs_leaves_at_once(tmp_path: Path) -> None:
    async with engine_on(write_project(tmp_path)) as engine:
        engine.signal("SIGHUP")
        assert engine.has_left.is_set()
        assert engine.state.quit.exit_code == 130
        assert engine.state.view is View.PIPELINE


async def test_an_edit_of_the_settings_is_in_force_within_two_seconds(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    config = root / "overbrainer.toml"
    async with engine_on(root) as engine:
        engine.open()
        state = engine.state
        config.write_text(config.read_text().replace('name = "small"', 'name = "renamed"'))
        async with asyncio.timeout(5):
            await until(lambda: status(state) == "config reloaded")
        assert state.project.name == "renamed"
        good = config.read_text()
        config.write_text(good.replace("subtopics = 1", "subtopics = -1"))
        await until(lambda: status(state).startswith("overbrainer.toml: "))
        found = state.status.current(state.mono)
        assert found is not None
        assert found.level is Level.ERROR
        assert "-1" not in found.text
        told = len([row for row in state.logs.snapshot().rows if row.text.startswith("overbrainer.toml: ")])
        press(engine, "R")
        press(engine, "4", "t")  # told once, whoever finds it; the settings shown are those that count
        await until(lambda: isinstance(state.overlay, Confirm))
        press(engine, "n")
        rows = state.logs.snapshot().rows
        assert len([row for row in rows if row.text.startswith("overbrainer.toml: ")]) == told == 1
        state.status.clear()
        config.write_text(good)
        await until(lambda: status(state) == "config reloaded")
        assert state.project.name == "renamed"


async def test_a_broken_env_file_is_told_without_its_text(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    async with engine_on(root) as engine:
        engine.open()
        env = root / ".env"
        env.write_text(env.read_text() + 'KEY="sk-secret-value\n')
        await until(lambda: status(engine.state) == "cannot parse .env (syntax error at line 2)")
        assert all("sk-secret" not in row.text for row in engine.state.logs.snapshot().rows)


async def test_what_auto_mode_can_cost_is_told_in_its_question(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    async with engine_on(root) as engine:
        state = engine.state
        state.project = replace(state.project, is_played=False)
        press(engine, "A")
        await until(lambda: state.spending.facts("run") is not None)
        facts = state.spending.facts("run")
        assert facts is not None
        assert facts.error is None
        assert facts.requests == 3
        assert isinstance(state.overlay, Confirm)
        assert rows_of(state, state.overlay)[0].value.startswith("costs about $")
