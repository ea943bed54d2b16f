"""A local executor with short waits whose jobs are all ended after the test."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.children import reap
from overbrainer_core.executors.local import LocalExecutor, LocalTiming
from overbrainer_core.executors.scripts import CancelTiming
from overbrainer_core.values.job import Container, JobHandle, Secret

TIMING = LocalTiming(reap_s=0.02, cancel=CancelTiming(container_stop_s=1, term_checks=4, kill_checks=160, check_s=0.05))


class LocalDesk:
    """A local executor, and the jobs started through it."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(runs.parent),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self.groups: list[int] = []

    def executor(self, **environment: str) -> LocalExecutor:
        """An executor with these variables on top of the few that programs need."""
        return LocalExecutor(self.runs, environment={**self.environment, **environment}, timing=TIMING)

    async def start(
        self, script: str, *, name: str = "run", secrets: tuple[Secret, ...] = (), container: Container | None = None
    ) -> JobHandle:
        """Start a job in a run directory of this name."""
        spawn = Spawn(directory=str(self.runs / name), script=script, secrets=secrets, container=container)
        handle = await self.executor().spawn(spawn)
        self.groups.append(handle.pid)
        return handle

    def close(self) -> None:
        """Kill and reap what is left."""
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for group in self.groups:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(group, 0)
        reap()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[LocalDesk]:
    """A desk with its runs directory in the test's own folder."""
    desk = LocalDesk(tmp_path / "runs")
    yield desk
    desk.close()
