"""Executors with short waits, on this machine and behind a real sshd, whose jobs are all ended after the test."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.children import reap
from overbrainer_core.executors.local import LocalExecutor, LocalTiming
from overbrainer_core.executors.scripts import CancelTiming
from overbrainer_core.executors.ssh import SshExecutor
from overbrainer_core.executors.ssh_connect import Login, connect_login
from overbrainer_core.executors.ssh_session import SshTiming
from overbrainer_core.values.job import Container, JobHandle, Secret
from tests.peers.sshd import Agent, Sshd

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


SSH_TIMING = SshTiming(
    connect_s=10,
    channel_s=10,
    channel_retry_s=0.02,
    command_s=15,
    launched_looks=20,
    launched_pause_s=0.1,
    cancel=CancelTiming(container_stop_s=1, term_checks=4, kill_checks=160, check_s=0.05),
)


class SshDesk:
    """A real sshd, executors connected to it, and the jobs started through them."""

    def __init__(self, server: Sshd) -> None:
        self.server = server
        self.timing = SSH_TIMING
        self.groups: list[int] = []
        self._executors: list[SshExecutor] = []

    async def connect(
        self, client: str, *, destination: str | None = None, workdir: str = "work", **environment: str
    ) -> SshExecutor:
        """An executor over this client, with these variables on top of the few that it needs."""
        login = Login(
            name="lab",
            destination=destination or self.server.destination,
            client=client,
            environment={**self.server.environment, **environment},
            home=self.server.client_home,
        )
        executor = await connect_login(login, workdir, timing=self.timing)
        self._executors.append(executor)
        return executor

    async def start(
        self, executor: SshExecutor, script: str, *, name: str = "run", secrets: tuple[Secret, ...] = ()
    ) -> JobHandle:
        """Start a job in a run directory of this name."""
        handle = await executor.spawn(Spawn(directory=f"{executor.workdir}/{name}", script=script, secrets=secrets))
        self.groups.append(handle.pid)
        return handle

    async def close(self) -> None:
        """Close and kill what is left."""
        for executor in self._executors:
            await executor.close()
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        self.server.stop()


@pytest.fixture(params=["builtin", "openssh"])
def client(request: pytest.FixtureRequest) -> str:
    """Each SSH client in turn."""
    return str(request.param)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    """A real sshd, not started yet, whose client is configured for it."""
    server = Sshd(tmp_path)
    server.configure("")
    yield server
    server.stop()


@pytest_asyncio.fixture
async def lab(server: Sshd) -> AsyncIterator[SshDesk]:
    """A started sshd with executors."""
    server.start()
    desk = SshDesk(server)
    yield desk
    await desk.close()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """A real ssh-agent without keys."""
    agent = Agent(tmp_path)
    yield agent
    agent.close()
