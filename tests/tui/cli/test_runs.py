"""Listings print aligned lines or one document, from local files only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState, save_run
from overbrainer_tui.cli.main import run

ANSWERS = (
    '{"stage":"answers","started_at":"2026-09-28T10:00:00Z","ended_at":"2026-09-28T10:04:12Z","status":"ok",'
    '"provider":"p","model":"m\\u001b[31m","done":96,"skipped":0,"failed":1,"excluded":4,"input_tokens":5820,'
    '"output_tokens":41277,"cost":0.0931}\n'
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a run and an execution."""
    paths = ProjectPaths(tmp_path)
    paths.run("a_1").mkdir(parents=True)
    created = parse_rfc3339("2026-09-28T10:00:00Z")
    save_run(paths, RunRecord(id="a_1", target="t", created=created, remote_dir="/r", state=RunState.FAILED))
    (paths.run("a_1") / "job.log").write_text("one\ntwo\n")
    paths.state.mkdir()
    paths.history.write_text(ANSWERS)
    paths.version.write_text("1\n")
    paths.config.write_text("")
    return tmp_path


def call(project: Path, *arguments: str) -> int:
    """Run a command on the project."""
    return run(["-C", str(project), *arguments])


def test_runs_are_listed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "ls") == 0
    assert capsys.readouterr().out == "a_1  failed     t  2026-09-28T10:00:00Z\n"


def test_runs_are_filtered(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "ls", "--state", "running") == 0
    assert call(project, "runs", "ls", "--target", "other") == 0
    assert capsys.readouterr().out == ""


def test_an_empty_listing_says_why(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "ls", "--state", "running") == 0
    assert capsys.readouterr().err == "runs: none matches\n"
    for path in (project / "runs" / "a_1").iterdir():
        path.unlink()
    (project / "runs" / "a_1").rmdir()
    assert call(project, "runs", "ls") == 0
    assert capsys.readouterr().err == "runs: none yet\n"
    assert call(tmp_path / "nowhere", "runs", "ls") == 0
    assert capsys.readouterr().err == f"runs: {tmp_path / 'nowhere'} is no project: it has no overbrainer.toml\n"
    assert call(project, "runs", "ls", "--json") == 0
    assert capsys.readouterr().err == ""


def test_a_state_that_is_none_is_a_usage_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "ls", "--state", "runing") == 2
    assert "'runing' is not one of preparing, running" in capsys.readouterr().err


def test_runs_are_a_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "ls", "--json") == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["id"] == "a_1"


def test_the_end_of_a_log_is_printed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "runs", "logs", "a_1", "--tail", "1") == 0
    assert capsys.readouterr().out == "two\n"


def test_the_history_adds_up(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "history") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines() == [
        "answers    1 run(s), 96 done, 1 failed; tokens 5820 in, 41277 out; $0.0931",
        "total      1 run(s), 96 done, 1 failed; tokens 5820 in, 41277 out; $0.0931",
    ]


def test_stored_texts_cannot_steer_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "history", "--all") == 0
    assert "m\\u{1b}[31m" in capsys.readouterr().out


def test_the_history_is_a_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(project, "history", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["total"]["cost_usd"] == 0.0931
    assert document["stages"][0]["stage"] == "answers"
    assert call(project, "history", "--all", "--json") == 0
    assert json.loads(capsys.readouterr().out)["entries"][0]["done"] == 96
