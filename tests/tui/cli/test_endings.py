"""Every way in which a command ends has one line at most and its exit code."""

from __future__ import annotations

import pytest

from overbrainer_core.errors import ConfigError, LockedError, Problem
from overbrainer_tui.cli.endings import exit_code_of
from overbrainer_tui.cli.output import OutputClosedError


def failing(error: BaseException) -> int:
    """The code of work that fails."""

    def work() -> int:
        raise error

    return exit_code_of(work)


def test_the_code_of_the_work_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: 7) == 7
    assert capsys.readouterr() == ("", "")


def test_an_error_is_one_line_and_the_code_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(LockedError(12)) == 4
    assert capsys.readouterr().err == "error: another overbrainer (pid 12) is using this project\n"


def test_each_problem_of_the_settings_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem("a", "must be set"), Problem("b", "is unknown")]
    assert failing(ConfigError("overbrainer.toml:\n  a: must be set\n  b: is unknown", problems=problems)) == 3
    assert capsys.readouterr().err == "error: overbrainer.toml:\n  a: must be set\n  b: is unknown\n"


def test_a_key_press_that_interrupts_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_a_reader_that_went_away_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(OutputClosedError("standard output was closed")) == 0
    assert capsys.readouterr() == ("", "")


def test_an_unforeseen_fault_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(ZeroDivisionError("division by zero")) == 1
    assert capsys.readouterr().err == "error: ZeroDivisionError: division by zero\n"


def test_a_file_that_nobody_handled_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(PermissionError(13, "Permission denied", "p\x1b/overbrainer.toml")) == 1
    assert capsys.readouterr().err == "error: cannot access p\\u{1b}/overbrainer.toml: Permission denied\n"
    assert failing(OSError(28, "No space left on device")) == 1
    assert capsys.readouterr().err == "error: No space left on device\n"
