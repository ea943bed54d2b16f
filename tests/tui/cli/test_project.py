"""Set-up commands: what they write, refuse and print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_tui.cli import tui_command
from overbrainer_tui.cli.main import run
from tests.peers.program import write_project


def test_init_uses_the_project_directory_unless_one_is_named(tmp_path: Path) -> None:
    assert run(["-C", str(tmp_path / "a"), "init"]) == 0
    assert run(["-C", str(tmp_path / "a"), "init", str(tmp_path / "b")]) == 0
    for name in ("a", "b"):
        assert (tmp_path / name / "overbrainer.toml").is_file()


def test_init_tells_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "a")]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"next, in {tmp_path / 'a'}: copy .env.example to .env" in captured.err.splitlines()[-1]


def test_a_group_lists_its_commands_without_a_cut_word(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ("config", "runs", "train"):
        assert run([group, "--help"]) == 0
        assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


def test_a_migration_outside_a_project_says_what_makes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(tmp_path), "migrate"]) == 3
    line = capsys.readouterr().err
    assert "overbrainer.toml: No such file or directory; run `overbrainer init`" in line


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "demo: `overbrainer demo` goes on where it stopped; other commands need `-C overbrainer-demo`\n"),
        (
            ["a b"],
            "demo: `overbrainer demo 'a b'` goes on where it stopped; other commands need `-C 'a b'`\n",
        ),
    ],
)
def test_a_demo_that_was_left_says_how_it_goes_on_from_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tui_command, "refuse_without_terminal", lambda _: None)
    monkeypatch.setattr(tui_command, "open_app", lambda *_, **__: 130)
    assert run(["demo", *arguments]) == 130
    assert capsys.readouterr().err.endswith(words)


def test_the_checked_settings_are_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(write_project(tmp_path)), "config", "check", "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert {"key": "pipeline.max_retries", "value": 1, "origin": "file"} in settings
