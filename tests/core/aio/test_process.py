"""A local program neither hangs its caller nor outlives it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from overbrainer_core.aio.process import run_command


async def test_both_pipes_and_the_status_come_back() -> None:
    result = await run_command(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"in")
    assert (result.exit_status, result.stdout, result.stderr) == (3, b"in", b"err\n")
    assert result.status_words == "exit status 3"


async def test_a_program_killed_by_a_signal_says_so() -> None:
    result = await run_command(["sh", "-c", "kill -9 $$"])
    assert result.status_words == "terminated by signal 9"


async def test_a_flood_on_standard_error_does_not_stall_it() -> None:
    script = "import sys; sys.stderr.write('x' * 1_000_000); sys.stdout.write('done')"
    result = await run_command([sys.executable, "-c", script])
    assert result.stdout == b"done"
    assert len(result.stderr) == 1_000_000


async def test_a_missing_program_is_an_os_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        await run_command(["/nonexistent/program"])


async def test_a_program_over_its_time_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        await run_command(["sh", "-c", f"sleep 60 & echo $! > {note}; wait"], timeout_s=0.3)
    pid = int(note.read_text())
    for _ in range(100):
        if not alive(pid):
            return
        await asyncio.sleep(0.02)
    pytest.fail("the child outlived the program")


def alive(pid: int) -> bool:
    """Whether a process that is no zombie has this ID."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
