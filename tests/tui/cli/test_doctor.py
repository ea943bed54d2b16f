"""The command `doctor`: lines or a document, and an exit code that a script can use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_tui.cli.main import run
from tests.peers.program import TINY_TRAINING, write_project


def test_findings_are_lines_and_the_last_one_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1), base_url="demo:")
    assert run(["-C", str(root), "doctor"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("ok       python: Python 3.")
    assert lines[-1].startswith("doctor: ")
    assert "0 failures" in lines[-1]
    assert err == ""


def test_a_failure_ends_with_one_and_no_error_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(tmp_path), "doctor"]) == 1
    out, err = capsys.readouterr()
    assert "failure  configuration: cannot read " in out
    assert err == ""
    assert list(tmp_path.iterdir()) == []


def test_the_document_has_every_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_project(tmp_path, base_url="http://127.0.0.1:9/v1")
    assert run(["doctor", "-C", str(root), "--json", "--offline"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert {tuple(check) for check in document["checks"]} == {("name", "status", "detail", "next")}
    assert {check["status"] for check in document["checks"]} == {"ok", "skipped"}


def test_the_document_of_a_failure_is_printed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(tmp_path), "doctor", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["checks"][1]["status"] == "failure"
    assert document["checks"][1]["next"].startswith("run `overbrainer init`")


def test_an_unknown_target_is_a_configuration_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1))
    assert run(["-C", str(root), "doctor", "--offline", "--target", "locl"]) == 3
    assert capsys.readouterr().err == "error: unknown target `locl`; did you mean `local`? known: `local`\n"


def test_control_characters_of_a_finding_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_project(tmp_path, base_url="demo:")
    config = root / "overbrainer.toml"
    config.write_text(config.read_text().replace('model = "parent"', 'model = "par\\u001bent"'))
    run(["-C", str(root), "doctor"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "par\\u{1b}ent" in out
