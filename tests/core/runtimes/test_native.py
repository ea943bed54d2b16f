"""Scripts of a native job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.runtimes.base import Runtime, ScriptPlan
from overbrainer_core.runtimes.native import NativeRuntime
from overbrainer_core.values.job import JobCommand
from tests.peers.shells import Shell, every_shell, run_script

TRAIN = JobCommand(program="axolotl", arguments=("train", "axolotl.yaml"))


def plan(
    *commands: JobCommand, environment: tuple[tuple[str, str], ...] = (), caches_tools: bool = False
) -> ScriptPlan:
    """A plan of these commands."""
    return ScriptPlan(
        run_id="demo_1",
        directory="/runs/demo_1",
        workdir="/runs",
        commands=commands,
        environment=environment,
        caches_tools=caches_tools,
    )


def test_the_job_sees_the_run_directory_itself_and_no_container() -> None:
    runtime: Runtime = NativeRuntime()
    assert runtime.root("/runs/demo_1") == "/runs/demo_1"
    assert runtime.container("demo_1") is None


def test_without_anything_the_script_is_the_chain() -> None:
    assert NativeRuntime().script(plan(TRAIN)) == "'axolotl' 'train' 'axolotl.yaml'"
    assert NativeRuntime().script(plan()) == ""


def test_the_exact_text_of_everything() -> None:
    environment = (
        ("AXOLOTL_DO_NOT_TRACK", "1"),
        ("PYTHONPATH", "/runs/it's/plugin"),
        ("OVERBRAINER_METRICS", "/runs/m"),
    )
    runtime = NativeRuntime(venv="/opt/venv//", env_file="/workspace/env")
    assert runtime.script(plan(TRAIN, environment=environment, caches_tools=True)) == (
        ". '/workspace/env'"
        " && export PATH='/opt/venv/bin':\"$PATH\" 'AXOLOTL_DO_NOT_TRACK=1'"
        " 'PYTHONPATH=/runs/it'\\''s/plugin'\"${PYTHONPATH:+:$PYTHONPATH}\""
        " 'OVERBRAINER_METRICS=/runs/m' 'OVERBRAINER_CACHE=/runs/.cache'"
        " && '/opt/venv/bin/axolotl' 'train' 'axolotl.yaml'"
    )


@pytest.mark.parametrize(
    ("venv", "program"),
    [
        (None, "'axolotl'"),
        ("/opt/venv", "'/opt/venv/bin/axolotl'"),
        ("/opt/venv///", "'/opt/venv/bin/axolotl'"),
        ("~/envs/a b", "\"$HOME\"/'envs/a b/bin/axolotl'"),
        ("~", "\"$HOME\"/'bin/axolotl'"),
        ("~/", "\"$HOME\"/'bin/axolotl'"),
        ("~other/venv", "'~other/venv/bin/axolotl'"),
        ("venv", "'venv/bin/axolotl'"),
        ("/", "'/bin/axolotl'"),
    ],
)
def test_programs_of_a_venv(venv: str | None, program: str) -> None:
    assert NativeRuntime(venv=venv).program("axolotl") == program


@every_shell
@pytest.mark.parametrize(
    ("inherited", "seen"),
    [(None, "/mine"), ("", "/mine"), ("/theirs:/more", "/mine:/theirs:/more"), ("/a b", "/mine:/a b")],
)
def test_the_inherited_python_path_comes_last_without_a_dangling_colon(
    shell: Shell, inherited: str | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    show = JobCommand(program="sh", arguments=("-c", 'printf %s "$PYTHONPATH"'))
    text = NativeRuntime().script(plan(show, environment=(("PYTHONPATH", "/mine"),)))
    env = {} if inherited is None else {"PYTHONPATH": inherited}
    assert run_script(shell, text, env=env).stdout == seen


@every_shell
def test_a_venv_below_the_home_directory_and_an_env_file_are_found(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "my venv" / "bin" / "axolotl"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s|%s|%s" "$1" "$FROM_FILE" "$OURS"\n')
    program.chmod(0o755)
    (tmp_path / "env file").write_text("export FROM_FILE=pod OURS=file\n")
    runtime = NativeRuntime(venv="~/my venv", env_file="~/env file")
    text = runtime.script(plan(JobCommand(program="axolotl", arguments=("it's",)), environment=(("OURS", "a $b 'c'"),)))
    ended = run_script(shell, text, env={"HOME": str(tmp_path)})
    assert ended.stdout == "it's|pod|a $b 'c'"


@every_shell
def test_a_program_of_a_venv_finds_the_others_by_their_bare_names(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, body in (("axolotl", "accelerate launch"), ("accelerate", 'echo "started $1"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    assert run_script(shell, NativeRuntime(venv=str(tmp_path)).script(plan(TRAIN))).stdout == "started launch\n"


@every_shell
def test_a_missing_program_fails_with_the_code_of_the_shell(shell: Shell, tmp_path: Path) -> None:
    text = NativeRuntime(venv=str(tmp_path)).script(plan(TRAIN))
    ended = run_script(shell, text, env={"PATH": os.environ["PATH"]})
    assert ended.returncode == 127
    assert "bin/axolotl" in ended.stderr
