"""Answers of the looks: read as they are, empty where something is missing; a look that fails says so."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overbrainer_core.executors.errors import CommandError, SpawnError
from overbrainer_core.flows.doctor_checks.looks import (
    LocalShell,
    cuda_version,
    machine_look_script,
    parse_machine_look,
)

NOW = datetime(2026, 11, 2, tzinfo=UTC)
MACHINE = b"""
@directory
/home/me/over
@writable
yes
@system
Linux x86_64
@missing
setsid sha256sum
@driver
580.65.06
@cuda
13.0
@gpu
0, NVIDIA H200, 0, 10, 143771, 30, 70.5, 700.0
@df.run
Filesystem Type 1024-blocks Used Available Capacity Mounted on
/dev/sda1 ext4 1000000 400000 600000 40% /home
"""


def test_a_machine_is_read() -> None:
    look = parse_machine_look(MACHINE, at=NOW)
    assert (look.directory, look.is_writable, look.system) == ("/home/me/over", True, "Linux x86_64")
    assert look.missing == ("setsid", "sha256sum")
    assert (look.driver, look.cuda) == ("580.65.06", (13, 0))
    assert [gpu.name for gpu in look.gpus] == ["NVIDIA H200"]
    assert look.disk is not None
    assert look.disk.available_bytes == 600000 * 1024


def test_an_empty_answer_is_a_machine_of_which_nothing_is_known() -> None:
    look = parse_machine_look(b"", at=NOW)
    assert (look.system, look.directory, look.is_writable, look.missing) == ("", "", False, ())
    assert (look.disk, look.gpus, look.driver, look.cuda) == (None, (), "", None)


async def test_this_machine_answers(tmp_path: Path) -> None:
    shell = LocalShell(dict(os.environ))
    look = parse_machine_look(await shell.look("look", machine_look_script(str(tmp_path / "runs"))), at=NOW)
    assert look.directory == str(tmp_path)
    assert look.is_writable
    assert look.disk is not None
    await shell.close()


async def test_a_shell_that_is_not_there() -> None:
    shell = LocalShell({"PATH": "/nonexistent"})
    with pytest.raises(SpawnError):
        await shell.look("look", "true")


async def test_a_look_that_fails_or_hangs_says_so() -> None:
    shell = LocalShell(dict(os.environ), limit_s=0.2)
    with pytest.raises(CommandError, match="look failed: no luck"):
        await shell.look("look", "echo no luck >&2; exit 3")
    with pytest.raises(CommandError, match=r"timed out after 0\.2 s"):
        await shell.look("look", "sleep 30")


async def test_a_look_sees_no_setting_of_ours() -> None:
    shell = LocalShell(
        {"PATH": os.environ["PATH"], "OVERBRAINER_HF_TOKEN": "x", "VAULT_TOKEN": "x", "OPENAI_API_KEY": "x"}
    )
    names = {line.partition(b"=")[0] for line in (await shell.look("look", "env")).splitlines()}
    assert not names & {b"OVERBRAINER_HF_TOKEN", b"VAULT_TOKEN", b"OPENAI_API_KEY"}


@pytest.mark.parametrize(("text", "version"), [("12.8", (12, 8)), ("13", (13, 0)), ("N/A", None), ("", None)])
def test_a_cuda_version_is_read_or_not_known(text: str, version: tuple[int, int] | None) -> None:
    assert cuda_version(text) == version
