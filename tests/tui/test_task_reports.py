"""Lines of flows: to the log, and to the view of their work."""

from __future__ import annotations

import logging

import pytest

from overbrainer_core.values.stage import Stage
from overbrainer_tui.effects import Outcome, RunReported, StageReported
from overbrainer_tui.task_reports import RunReport, StageReport
from overbrainer_tui.view_models.snapshots import Level


def test_a_summary_goes_to_its_stage_and_every_line_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Outcome] = []
    report = StageReport(3, told.append)
    with caplog.at_level(logging.INFO):
        report.result("answers: 1 done, 0 skipped")
        report.result("something else")
        report.note("config reloaded")
        report.warn("no price listed")
    assert told == [StageReported(task=3, stage=Stage.ANSWERS, summary="answers: 1 done, 0 skipped")]
    assert [(r.levelname, r.getMessage()) for r in caplog.records][-2:] == [
        ("INFO", "config reloaded"),
        ("WARNING", "no price listed"),
    ]
    assert len(caplog.records) == 4


def test_a_run_s_lines_stand_under_its_chart_without_the_command_s_name(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Outcome] = []
    report = RunReport(4, told.append)
    with caplog.at_level(logging.INFO):
        report.note("train: job running")
        report.result("train: run r1 succeeded")
        report.warn("cannot reach the job (1/5)")
    assert told == [
        RunReported(task=4, level=Level.INFO, text="job running"),
        RunReported(task=4, level=Level.INFO, text="run r1 succeeded"),
        RunReported(task=4, level=Level.WARNING, text="cannot reach the job (1/5)"),
    ]
    assert caplog.records[0].getMessage() == "train: job running"
