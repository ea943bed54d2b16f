"""Set-up and configuration as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.peers.program import run, write_project

WRITERS = [["subtopics"], ["run"], ["train"], ["train", "attach", "x"], ["split"]]


@pytest.mark.parametrize("arguments", [*WRITERS, ["config", "check"]], ids=" ".join)
def test_a_directory_that_is_no_project_is_told_and_left_alone(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 3
    assert done.stdout == ""
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("error: cannot read ")
    assert "overbrainer.toml" in line
    assert "overbrainer init" in line
    assert "overbrainer demo" in line
    assert list(tmp_path.iterdir()) == []


def test_a_missing_directory_is_not_created(tmp_path: Path) -> None:
    done = run(tmp_path / "missing", "run")
    assert done.returncode == 3
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[project\n", "TOML syntax error in overbrainer.toml at line 1, column 9"),
        ("[project]\nname = 'x'\n[nonsense]\n", "nonsense"),
        ("", "project"),
    ],
    ids=["syntax", "unknown-table", "empty"],
)
def test_a_broken_configuration_is_one_error(tmp_path: Path, text: str, words: str) -> None:
    project = write_project(tmp_path / "p")
    (project / "overbrainer.toml").write_text(text)
    done = run(project, "subtopics")
    assert done.returncode == 3
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "data").exists()


def test_an_unknown_key_is_named_and_its_value_is_not(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    path = project / "overbrainer.toml"
    path.write_text(path.read_text().replace("concurrency = 2", 'concurency = "hunter2"'))
    done = run(project, "config", "check")
    assert done.returncode == 3
    assert "concurency" in done.stderr
    assert "concurrency" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_broken_env_file_tells_its_line_only(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    (project / ".env").write_text("A=1\nOVERBRAINER_HF_TOKEN=two words\n")
    done = run(project, "subtopics")
    assert done.returncode == 3
    assert done.stderr == "error: cannot parse .env (syntax error at line 2)\n"


def test_init_writes_a_project_that_checks(tmp_path: Path) -> None:
    made = run(tmp_path, "init", str(tmp_path / "p"))
    assert made.returncode == 0
    assert made.stdout == ""
    assert "created" in made.stderr
    checked = run(tmp_path / "p", "config", "check")
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith("project.name = my_project\n")
    again = run(tmp_path, "init", str(tmp_path / "p"))
    assert again.returncode == 3
    assert "already exists" in again.stderr


def test_the_checked_settings_tell_their_origin_and_no_secret(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    extra = {"OVERBRAINER_PROVIDERS__HERE__API_KEY": "sk-secret-12345678", "OVERBRAINER_PIPELINE__CONCURRENCY": "3"}
    done = run(project, "config", "check", "--json", extra=extra)
    settings = {entry["key"]: entry for entry in json.loads(done.stdout)["settings"]}
    assert settings["pipeline.concurrency"] == {"key": "pipeline.concurrency", "value": 3, "origin": "shell"}
    assert settings["providers.here.base_url"]["origin"] == ".env"
    assert settings["providers.here.api_key"]["value"] == "***"
    assert settings["pipeline.seed"]["origin"] == "default"
    assert "sk-secret" not in done.stdout + done.stderr


def test_listings_of_an_empty_directory_are_empty(tmp_path: Path) -> None:
    runs = run(tmp_path, "runs", "ls")
    assert (runs.returncode, runs.stdout) == (0, "")
    history = run(tmp_path, "history")
    assert (history.returncode, history.stdout) == (0, "no stage has run yet\n")
    assert "no project" in history.stderr


@pytest.mark.parametrize("extra", [{}, {"TERM": "dumb"}])
def test_the_app_needs_a_terminal(tmp_path: Path, extra: dict[str, str]) -> None:
    done = run(write_project(tmp_path / "p"), "tui", extra=extra)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "error: overbrainer tui needs a terminal: stdout is not a TTY\n"
