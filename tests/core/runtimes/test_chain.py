"""Commands, stage lines and the stop marker as one line of shell, under every shell."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from overbrainer_core.runtimes.base import ScriptPlan
from overbrainer_core.runtimes.chain import command_chain
from overbrainer_core.values.job import JobCommand
from tests.peers.shells import Shell, every_shell, run_script


def plan(*commands: JobCommand, metrics_file: str = "metrics.jsonl", stop_marker: str | None = None) -> ScriptPlan:
    """A plan of these commands."""
    return ScriptPlan(
        run_id="x", directory="/r", workdir="/w", commands=commands, metrics_file=metrics_file, stop_marker=stop_marker
    )


def note(word: str, *, stage: str | None = None, code: int = 0) -> JobCommand:
    """A command that writes a word to `done` and ends with a code."""
    return JobCommand(program="sh", arguments=("-c", f"echo {word} >> done; exit {code}"), stage=stage)


def done(directory: Path) -> list[str]:
    """Words of the commands that ran."""
    path = directory / "done"
    return path.read_text().split() if path.exists() else []


def test_no_command_is_no_text() -> None:
    assert command_chain(plan()) == ""
    assert command_chain(plan(stop_marker="snapshot.json")) == ""


def test_the_exact_text() -> None:
    text = command_chain(
        plan(
            JobCommand(program="axolotl", arguments=("train", "axolotl.yaml"), stage="train"),
            JobCommand(program="axolotl", arguments=("merge-lora", "axolotl.yaml"), stage="merge"),
            stop_marker="snapshot.json",
        )
    )
    line = """{ printf '{"event":"stage","name":"%s","time":%s}\\n' """
    assert text == (
        line + "'train' \"$(date +%s)\" >> 'metrics.jsonl' || :; } 2>/dev/null && 'axolotl' 'train' 'axolotl.yaml'"
        " && { [ -e 'snapshot.json' ] || { "
        + line
        + "'merge' \"$(date +%s)\" >> 'metrics.jsonl' || :; } 2>/dev/null && "
        + "'axolotl' 'merge-lora' 'axolotl.yaml'; }; }"
    )


@every_shell
def test_stage_lines_stand_before_their_commands(shell: Shell, tmp_path: Path) -> None:
    before = int(time.time())
    text = command_chain(plan(note("one", stage="train"), note("two"), note("three", stage="export")))
    assert run_script(shell, text, cwd=tmp_path).returncode == 0
    assert done(tmp_path) == ["one", "two", "three"]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["event"], line["name"]) for line in lines] == [("stage", "train"), ("stage", "export")]
    assert all(before <= line["time"] <= time.time() for line in lines)
    assert set(lines[0]) == {"event", "name", "time"}


@every_shell
@pytest.mark.parametrize("stage", [None, "merge"])
@pytest.mark.parametrize("marker", [None, "snapshot.json"])
def test_the_first_failure_ends_the_job_with_its_code(
    shell: Shell, stage: str | None, marker: str | None, tmp_path: Path
) -> None:
    text = command_chain(plan(note("one", code=6), note("two", stage=stage), note("three"), stop_marker=marker))
    assert run_script(shell, text, cwd=tmp_path).returncode == 6
    assert done(tmp_path) == ["one"]
    (tmp_path / "done").unlink()
    text = command_chain(plan(note("one"), note("two", stage=stage, code=7), note("three"), stop_marker=marker))
    assert run_script(shell, text, cwd=tmp_path).returncode == 7
    assert done(tmp_path) == ["one", "two"]


@every_shell
def test_a_stage_line_that_cannot_be_written_fails_nothing(shell: Shell, tmp_path: Path) -> None:
    text = command_chain(plan(note("one", stage="train"), note("two", stage="merge"), metrics_file="missing/m.jsonl"))
    ended = run_script(shell, text, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert done(tmp_path) == ["one", "two"]


@every_shell
def test_a_stop_marker_skips_what_is_left_and_is_a_success(shell: Shell, tmp_path: Path) -> None:
    stops = JobCommand(program="sh", arguments=("-c", "echo one >> done; touch snapshot.json"), stage="train")
    text = command_chain(plan(stops, note("two", stage="merge"), note("three", code=5), stop_marker="snapshot.json"))
    assert run_script(shell, text, cwd=tmp_path).returncode == 0
    assert done(tmp_path) == ["one"]
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1


@every_shell
def test_a_stop_marker_does_not_hide_a_failure_of_the_first_command(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "snapshot.json").touch()
    text = command_chain(plan(note("one", code=9), note("two"), stop_marker="snapshot.json"))
    assert run_script(shell, text, cwd=tmp_path).returncode == 9


@every_shell
def test_odd_words_arrive_as_they_are(shell: Shell, tmp_path: Path) -> None:
    odd = ("it's", 'a "b"', "$HOME", "`id`", "a\nb", "", "-n", "*", "\\t", "ü")
    script = 'import json,sys; open("got","w").write(json.dumps(sys.argv[1:]))'
    text = command_chain(plan(JobCommand(program="python3", arguments=("-c", script, *odd))))
    assert run_script(shell, text, cwd=tmp_path).returncode == 0
    assert json.loads((tmp_path / "got").read_text()) == list(odd)
