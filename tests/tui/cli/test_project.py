"""Set-up commands: what they write, refuse and print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_tui.cli.main import run
from tests.peers.program import write_project


def test_init_uses_the_project_directory_unless_one_is_named(tmp_path: Path) -> None:
    assert run(["-C", str(tmp_path / "a"), "init"]) == 0
    assert run(["-C", str(tmp_path / "a"), "init", str(tmp_path / "b")]) == 0
    for name in ("a", "b"):
        assert (tmp_path / name / "overbrainer.toml").is_file()


def test_config_check_prints_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(write_project(tmp_path)), "config", "check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "project.name = e2e"
    assert "topics.tea = 2 subtopics x 3 questions" in lines


def test_config_check_resolves_secrets_without_showing_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERBRAINER_PROVIDERS__HERE__API_KEY", "sk-secret-1")
    assert run(["-C", str(write_project(tmp_path)), "config", "check", "--resolve"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "providers.here.api_key: resolved"
    assert "sk-secret-1" not in captured.out + captured.err


def test_a_secret_that_cannot_be_resolved_has_its_own_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERBRAINER_PROVIDERS__HERE__API_KEY", "vault:kv/x#key")
    assert run(["-C", str(write_project(tmp_path)), "config", "check", "--resolve"]) == 5
    assert "VAULT_ADDR is not set" in capsys.readouterr().err


def test_the_demo_is_refused_in_a_directory_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("mine")
    assert run(["demo", str(tmp_path), "--headless"]) == 3
    assert capsys.readouterr().err.endswith(f"error: {tmp_path} is not empty and holds no demo\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def test_the_demo_needs_a_terminal_or_headless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(tmp_path / "d")]) == 1
    assert "needs a terminal" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_the_checked_settings_are_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(write_project(tmp_path)), "config", "check", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert {"key": "pipeline.max_retries", "value": 1, "origin": "file"} in settings
