"""What is decided before the screen and said after it; the rest is tested on real terminals."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from overbrainer_core.errors import ConfigError
from overbrainer_core.flows.session import open_session
from overbrainer_core.log_setup import LogBuffer
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunState, save_run
from overbrainer_tui import launch
from overbrainer_tui.engine import Engine
from overbrainer_tui.opening import Opening
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind
from tests.tui.states import app_state, run_record, write_project


@dataclass
class Options:
    """What the command line hands over."""

    directory: Path
    events: str | None = None
    readonly: bool = False
    no_color: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def test_a_directory_without_a_project_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="overbrainer init") as raised:
        launch.run_app(Options(tmp_path))
    assert "overbrainer demo" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_events_on_the_screen_s_own_terminal_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ConfigError, match="would write over the screen"):
        launch.run_app(Options(write_project(tmp_path / "p"), events="-"))


def test_the_repository_is_the_package_s_own() -> None:
    assert launch.repository_url() in ("", "https://overbrainer.example/overbrainer")


def test_a_failure_is_told_with_the_place_it_came_from() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        raise ZeroDivisionError("oops")
    assert launch._where(raised.value).startswith("ZeroDivisionError: oops (test_launch.py:")
    assert launch._where(OSError(5, "Input/output error")) == "Input/output error"


def test_a_line_for_a_terminal_that_is_gone_is_lost_quietly() -> None:
    closed = io.StringIO()
    closed.close()
    launch.print_line(closed, "nobody reads it")


async def test_after_a_failed_screen_what_is_waited_for_and_each_warning_are_said(tmp_path: Path) -> None:
    stream = io.StringIO()
    buffer = LogBuffer()
    logger = logging.getLogger("overbrainer.test_launch")
    logger.addHandler(buffer)
    try:
        project = write_project(tmp_path)
        async with open_session(project, process_env={}, lock=False) as session, asyncio.TaskGroup() as group:
            state = app_state()
            engine = Engine(state, session, group)
            engine.listen(buffer)
            state.training.tasks.add(RunTask(number=1, kind=RunTaskKind.START, run_id="new_1"))
            settling = group.create_task(launch._settle(engine, buffer, stream))
            await asyncio.sleep(0.01)
            logger.warning("cannot reach the job (1/5)")
            logger.info("not told")
            state.training.tasks.remove(1)
            engine.signal("SIGTERM")
            await settling
    finally:
        logger.removeHandler(buffer)
    assert stream.getvalue().splitlines() == ["waiting for run new_1 to start...", "cannot reach the job (1/5)"]


def test_a_demo_opens_on_what_comes_next(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    assert launch._demo_opening(paths, auto_yes=False) == Opening(auto=True)
    assert launch._demo_opening(paths, auto_yes=True) == Opening(auto=True, is_asked=False)
    for state, opening in (
        (RunState.RUNNING, Opening(follow="r1")),
        (RunState.SUCCEEDED, Opening(show="r1")),
        (RunState.FAILED, Opening(auto=True)),
    ):
        paths.run("r1").mkdir(parents=True, exist_ok=True)
        save_run(paths, run_record("r1", state))
        assert launch._demo_opening(paths, auto_yes=False) == opening
