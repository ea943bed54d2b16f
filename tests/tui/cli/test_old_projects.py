"""`migrate`, the hint that an old project gets, and `config schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_core.config.json_schema import config_schema
from overbrainer_core.config.load import NO_PROJECT
from overbrainer_core.project.init import init_project
from overbrainer_tui.cli.main import run

HINT = "this project predates overbrainer 0.4.0: run overbrainer migrate"


@pytest.fixture
def old_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, a project of before version files."""
    init_project(tmp_path)
    (tmp_path / ".overbrainer" / "version").unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_migrate_prints_a_line_for_each_change(old_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "--dry-run"]) == 0
    assert capsys.readouterr() == ("would write .overbrainer/version: format 1\n", "")
    assert not (old_project / ".overbrainer" / "version").exists()
    assert run(["migrate"]) == 0
    assert capsys.readouterr() == ("wrote .overbrainer/version: format 1\n", "")
    assert run(["migrate"]) == 0
    assert capsys.readouterr() == ("nothing to migrate\n", "")


def test_migrate_outside_a_project_is_one_error_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(tmp_path), "migrate"]) == 3
    line = f"error: cannot read {tmp_path}/overbrainer.toml: No such file or directory{NO_PROJECT}\n"
    assert capsys.readouterr() == ("", line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["history"], ["runs", "ls"], ["config", "check"]])
def test_an_old_project_is_told_once_at_the_end(
    old_project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert run(arguments) == 0
    err = capsys.readouterr().err
    assert err.endswith(f"{HINT}\n")
    assert err.count(HINT) == 1


def test_the_hint_comes_after_an_error_and_never_changes_the_code(
    old_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old_project / "overbrainer.toml").write_text("[project\n")
    assert run(["config", "check"]) == 3
    assert capsys.readouterr().err.splitlines()[1:] == [HINT]
    assert run(["train", "stop", "nothing"]) == 3
    assert capsys.readouterr().err.splitlines()[1:] == [HINT]


def test_the_project_of_the_call_counts(old_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    init_project(elsewhere)
    assert run(["history", "-C", str(elsewhere)]) == 0
    assert run(["history", "-C", str(tmp_path / "nowhere")]) == 0
    assert HINT not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["init"], ["tui"], ["config", "schema"], ["--help"], ["history", "--nonsense"]])
def test_some_calls_give_no_hint(old_project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    run(arguments)
    assert HINT not in capsys.readouterr().err


def test_the_schema_is_printed_for_people_and_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["config", "schema"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith('{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n')
    assert json.loads(shown) == json.loads(json.dumps(config_schema()))
    assert run(["config", "schema", "--json"]) == 0
    compact = capsys.readouterr().out
    assert compact.count("\n") == 1
    assert json.loads(compact) == json.loads(shown)
