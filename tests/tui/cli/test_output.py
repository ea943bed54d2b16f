"""Standard output holds results only, and ends quietly when nobody reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from overbrainer_tui.cli.output import write_error, write_json, write_lines, write_warning


def test_lines_are_written_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(["one", "zwei ü", "lone \ud83d"])
    assert capsys.readouterr().out == "one\nzwei ü\nlone ?\n"


def test_a_document_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"b": None, "a": "ü"})
    out = capsys.readouterr().out
    assert out == '{"b": null, "a": "ü"}\n'
    assert json.loads(out) == {"a": "ü", "b": None}


def test_control_characters_of_an_error_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    write_error("error: \x1b[31mFoo\nbar")
    write_warning("w")
    assert capsys.readouterr().err == "error: \\u{1b}[31mFoo\\nbar\nwarning: w\n"


def command(*arguments: str, cwd: Path, stdout: int | BinaryIO = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """The program as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "overbrainer_tui", *arguments],
        cwd=cwd,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )


def test_a_reader_that_went_away_ends_the_command_quietly(tmp_path: Path) -> None:
    reader, writer = pipe()
    process = command("--help", cwd=tmp_path, stdout=writer)
    reader.close()
    writer.close()
    _, stderr = process.communicate(timeout=15)
    assert stderr == b""
    assert process.returncode == 0


def pipe() -> tuple[BinaryIO, BinaryIO]:
    """Both ends of a pipe as files."""
    reader, writer = os.pipe()
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb")


def test_a_full_disk_is_one_error_line(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        process = command("history", cwd=tmp_path, stdout=full)
        _, stderr = process.communicate(timeout=15)
    lines = stderr.decode().splitlines()
    assert lines[-1] == "error: cannot write to standard output: No space left on device"
    assert process.returncode == 1
