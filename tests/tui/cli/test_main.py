"""The command finds its subcommands, tells usage errors, and ends with one line and one code."""

from __future__ import annotations

import click
import pytest

from overbrainer_core import __version__
from overbrainer_core.errors import ConfigError, InterruptedByUser
from overbrainer_tui.cli import main as main_module
from overbrainer_tui.cli.main import build_cli, run


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([option]) == 0
    assert capsys.readouterr().out == f"overbrainer {__version__}\n"


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["help"]])
def test_the_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    out = capsys.readouterr().out
    for name in build_cli().list_commands(click.Context(build_cli())):
        assert f"\n  {name} " in out


@pytest.mark.parametrize("name", ["init", "config", "subtopics", "run", "train", "runs", "history", "demo", "tui"])
def test_every_command_has_a_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert run(["help", name]) == 0
    assert "Usage: overbrainer" in capsys.readouterr().out


def test_help_of_a_nested_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "train", "stop"]) == 0
    assert "snapshot" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["--nonsense"],
        ["config"],
        ["runs"],
        ["split", "--force"],
        ["run", "--topic", "x"],
        ["run", "--force"],
        ["runs", "ls", "--limit", "0"],
        ["runs", "logs"],
        ["train", "--target", "x", "attach", "y"],
        ["init", "--json"],
        ["--json", "init"],
        ["--events", "x", "history"],
        ["help", "nonsense"],
    ],
)
def test_a_wrong_call_is_a_usage_error_on_standard_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage:" in captured.err


def test_a_near_miss_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["anwsers"]) == 2
    assert "Did you mean 'answers'?" in capsys.readouterr().err


def failing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the command fail with this error."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(main_module, "build_cli", lambda: type("Cli", (), {"main": staticmethod(fail)}))


def test_an_error_is_one_line_with_its_causes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = ConfigError("cannot read x")
    error.__cause__ = OSError(13, "Permission denied")
    failing(error, monkeypatch)
    assert run([]) == 3
    assert capsys.readouterr().err == "error: cannot read x: Permission denied\n"


def test_an_interruption_has_its_own_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(InterruptedByUser("interrupted before the run started"), monkeypatch)
    assert run([]) == 130
    assert capsys.readouterr().err == "error: interrupted before the run started\n"


def test_an_unforeseen_error_is_one_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(ZeroDivisionError("division by zero\x1b[2J"), monkeypatch)
    assert run([]) == 1
    assert capsys.readouterr().err == "error: ZeroDivisionError: division by zero\\u{1b}[2J\n"
