"""The plain listing reads as the parsed one does, and loads no parser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, save_run
from overbrainer_tui.cli.listed_runs import list_plainly, plain_directory
from overbrainer_tui.cli.main import run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of before version files with a run, and one whose record cannot be read."""
    paths = ProjectPaths(tmp_path)
    paths.run("a_1").mkdir(parents=True)
    created = parse_rfc3339("2026-09-28T10:00:00Z")
    save_run(paths, RunRecord(id="a_1", target="t", created=created, remote_dir="/r"))
    paths.run("b_1").mkdir()
    (paths.run("b_1") / "run.json").write_text("{")
    paths.config.write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "directory"),
    [
        (["runs", "ls"], ""),
        (["-C", "x", "runs", "ls"], "x"),
        (["-C", "runs", "ls"], None),
        (["runs", "ls", "--json"], None),
        (["help", "runs", "ls"], None),
        (["--json", "-C", "x", "runs", "ls"], None),
    ],
)
def test_only_the_plain_call_is_taken(arguments: list[str], directory: str | None) -> None:
    assert plain_directory(arguments) == directory


def test_both_listings_read_alike(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list_plainly(str(project)) == 0
    plain = capsys.readouterr()
    assert run(["-C", str(project), "runs", "ls"]) == 0
    parsed = capsys.readouterr()
    assert plain.out == parsed.out == "a_1  preparing  t  2026-09-28T10:00:00Z\n"
    for shown in (plain.err, parsed.err):
        warning, hint = shown.splitlines()
        assert " WARN skipping unreadable run record for b_1: " in warning
        assert hint == "this project predates overbrainer 0.4.0: run overbrainer migrate"


def test_a_directory_of_runs_that_cannot_be_listed_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "runs").write_text("")
    assert list_plainly(str(tmp_path)) == 3
    assert capsys.readouterr().err == f"error: cannot access {tmp_path}/runs: Not a directory\n"


def test_the_plain_listing_loads_neither_parser_nor_log(tmp_path: Path) -> None:
    script = (
        "import os, sys; sys.argv = ['overbrainer', '-C', sys.argv[1], 'runs', 'ls']\n"
        "def leave(code):\n"
        "    print(code, sorted(m for m in ('click', 'logging', 'asyncio', 'msgspec') if m in sys.modules))\n"
        "    raise SystemExit\n"
        "os._exit = leave\n"
        "from overbrainer_tui.__main__ import main; main()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("OVERBRAINER_LOG", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "0 []\n"


def test_the_command_ends_with_its_lines_written(project: Path) -> None:
    command = [sys.executable, "-m", "overbrainer_tui", "-C", str(project), "runs", "ls"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    assert done.stdout == "a_1  preparing  t  2026-09-28T10:00:00Z\n"
    assert done.stderr.count("\n") == 2
