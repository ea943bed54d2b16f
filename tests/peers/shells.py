"""The shells that scripts for a target must run under, and the processes that tests start in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from overbrainer_core.executors.scripts import job_wrapper

Shell = tuple[str, ...]

SHELLS = [
    pytest.param(shell, id=shell[0], marks=pytest.mark.skipif(not shutil.which(shell[0]), reason=f"no {shell[0]} here"))
    for shell in (("bash", "--posix"), ("dash",), ("busybox", "sh"))
]

every_shell = pytest.mark.parametrize("shell", SHELLS)
"""Runs a test once under each shell."""

shells_with_path = pytest.mark.parametrize("shell", SHELLS[:2])
"""As `every_shell`, without busybox, which prefers its own `df`, `uname` and `timeout` to those on `PATH`."""


def run_script(
    shell: Sequence[str], script: str, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end and return its status and output."""
    return subprocess.run(
        [*shell, "-c", script],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=15,
    )


def eventually(condition: Callable[[], bool], *, limit_s: float = 8.0) -> None:
    """Return once the condition holds; a failure of the test when it never does."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process that is no zombie has this ID."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(FileNotFoundError):
        return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


class JobDesk:
    """Starts jobs as an executor does, and ends all of them when the test is over."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._groups: list[int] = []

    def start(self, shell: Sequence[str], directory: Path, script: str) -> subprocess.Popen[bytes]:
        """Start a job's wrapper in a run directory; returns once it wrote `job.pid`."""
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / "job.log", "wb") as log:
            child = subprocess.Popen(
                [*shell, "-c", job_wrapper(script)],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._children.append(child)
        eventually((directory / "job.pid").exists)
        return child

    def watch_group(self, pid: int) -> None:
        """End this process group too when the test is over."""
        self._groups.append(pid)

    def close(self) -> None:
        """Kill and reap what is left."""
        for pid in [*self._groups, *(child.pid for child in self._children)]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for child in self._children:
            child.wait()
