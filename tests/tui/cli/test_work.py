"""A command's lines go where they belong, its events where they were asked for."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest

from overbrainer_core.events.types import StageModel
from overbrainer_core.flows.session import Session
from overbrainer_core.values.stage import Stage
from overbrainer_tui.cli.context import Options
from overbrainer_tui.cli.work import LineReport, Work, event_log, work_in_session
from tests.peers.program import write_project


def test_results_are_printed_and_the_rest_logged(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="overbrainer")
    report = LineReport(is_silent=False)
    report.result("result")
    report.note("note 100%")
    report.warn("warning")
    assert capsys.readouterr().out == "result\n"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", "note 100%"),
        ("WARNING", "warning"),
    ]


def test_with_a_document_results_are_kept_back(capsys: pytest.CaptureFixture[str]) -> None:
    LineReport(is_silent=True).result("result")
    assert capsys.readouterr().out == ""


def test_without_the_option_there_is_no_event_log() -> None:
    with event_log(Options()) as observers:
        assert observers == ()


def test_a_command_works_in_a_locked_session_and_tells_its_events(tmp_path: Path) -> None:
    options = Options()
    options.directory = write_project(tmp_path / "p")
    options.events = str(tmp_path / "events")
    options.environment = {}

    async def body(session: Session, work: Work) -> str:
        assert session.is_locked
        work.bus.publish(StageModel(stage=Stage.ANSWERS, model="m"))
        return session.settings.project_name

    assert asyncio.run(work_in_session(options, body)) == "e2e"
    assert json.loads((tmp_path / "events").read_text())["event"] == "StageModel"


def test_a_failing_body_reaches_the_caller_as_it_is(tmp_path: Path) -> None:
    options = Options()
    options.directory = write_project(tmp_path / "p")
    options.environment = {}

    async def body(session: Session, work: Work) -> None:
        raise KeyError("as it is")

    with pytest.raises(KeyError, match="as it is"):
        asyncio.run(work_in_session(options, body))
