"""A run on a machine behind a real sshd: started, followed, cut, killed and attached again, with both clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from overbrainer_core.clock import SystemClock
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event, Metric
from overbrainer_core.executors.ssh_connect import Login, connect_login
from overbrainer_core.executors.ssh_session import SshTiming
from overbrainer_core.jobs.base import Artifacts
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.cancel import cancel_job
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState, load_run
from overbrainer_core.runs.start import Launch, create_run, start_run_job
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.runs.watch import WatchResult, watch_run
from overbrainer_core.runtimes.native import NativeRuntime
from overbrainer_core.values.job import JobCommand, Secret
from tests.peers.shells import eventually
from tests.peers.sshd import Sshd, needs_sshd

pytestmark = [needs_sshd, pytest.mark.timeout(60)]

REPOSITORY = Path(__file__).resolve().parents[2]
TIMING = RunTiming(poll_first_s=0.05, poll_max_s=0.3, foreign_request_s=5, sample_interval_s=1)
SSH_TIMING = SshTiming(connect_s=10, channel_retry_s=0.05, command_s=20)

LOOP = """
steps=$1; step=0
mkdir -p output/checkpoint-9
while [ $step -lt $steps ]; do
    step=$((step + 1))
    printf '{"event":"log","time":%s,"step":%s,"loss":1.5,"max_steps":%s}\\n' "$step" "$step" "$steps" >>metrics.jsonl
    echo "step $step ${#HF_TOKEN}"
    sleep 0.1
done
head -c 300000 /dev/zero >output/model.bin
echo left >output/checkpoint-9/state
"""


class StepsJob:
    """Writes metric lines as a trainer does, then a model and a checkpoint."""

    artifacts = Artifacts(entries=("output", "metrics.jsonl", "job.log"), exclude=("checkpoint-*",), required="output")
    metrics_file = "metrics.jsonl"
    needs_metrics = True
    stop_marker = None
    caches_tools = False

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def prepare(self, run_dir: Path, root: str) -> None:
        """Write the program."""
        run_dir.mkdir(parents=True, exist_ok=True)
        (run_dir / "loop.sh").write_text(LOOP)

    def commands(self, root: str) -> tuple[JobCommand, ...]:
        """The program."""
        return (JobCommand(program="sh", arguments=("loop.sh", str(self._steps)), stage="train"),)

    def environment(self, root: str) -> tuple[tuple[str, str], ...]:
        """None."""
        return ()


class Metrics:
    """Keeps the steps that were told."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def on_event(self, event: Event) -> None:
        """Keep a step."""
        if isinstance(event, Metric):
            self.steps.append(event.metric.step)

    def on_close(self) -> None:
        """Nothing follows."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A project here, and how a server is reached; enough for another process too."""

    project: str
    client: str
    destination: str
    home: str
    environment: dict[str, str]

    @property
    def paths(self) -> ProjectPaths:
        """The project."""
        return ProjectPaths(Path(self.project))

    async def context(self, metrics: Metrics, warnings: list[str]) -> RunContext:
        """A run's surroundings over a connection of its own."""
        login = Login(
            name="lab",
            destination=self.destination,
            client=self.client,
            environment=self.environment,
            home=Path(self.home),
        )
        return RunContext(
            paths=self.paths,
            executor=await connect_login(login, "work", timing=SSH_TIMING),
            bus=EventBus([metrics]),
            warn=warnings.append,
            clock=SystemClock(),
            timing=TIMING,
        )


async def start(context: RunContext, steps: int) -> RunRecord:
    """A running run."""
    record = await create_run(context, project_name="quill", target="lab")
    launch = Launch(job=StepsJob(steps), runtime=NativeRuntime(), secrets=(Secret("HF_TOKEN", "hf_never_written"),))
    return await start_run_job(context, record, launch)


async def start_and_follow(place: Place) -> None:
    """What another process does until it is killed."""
    context = await place.context(Metrics(), [])
    record = await start(context, 30)
    assert record.job is not None
    print(record.id, record.job.pid, flush=True)
    await watch_run(context, record)


class Lab:
    """A project here and a server; every job is ended after the test."""

    def __init__(self, directory: Path, client: str) -> None:
        self.server = Sshd(directory)
        self.server.configure("")
        self.server.start()
        (directory / "project").mkdir()
        self.place = Place(
            project=str(directory / "project"),
            client=client,
            destination=self.server.destination,
            home=str(self.server.client_home),
            environment=self.server.environment,
        )
        self.paths = self.place.paths
        self.warnings: list[str] = []
        self.groups: list[int] = []
        self._contexts: list[RunContext] = []

    async def context(self, metrics: Metrics) -> RunContext:
        """A run's surroundings over a connection of its own."""
        context = await self.place.context(metrics, self.warnings)
        self._contexts.append(context)
        return context

    async def start(self, context: RunContext, steps: int) -> RunRecord:
        """A running run."""
        record = await start(context, steps)
        assert record.job is not None
        self.groups.append(record.job.pid)
        return record

    async def close(self) -> None:
        """End everything."""
        for context in self._contexts:
            await context.executor.close()
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self.server.stop()


@pytest_asyncio.fixture(params=["builtin", "openssh"])
async def lab(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    """A project and a server, with each client in turn."""
    lab = Lab(tmp_path, str(request.param))
    yield lab
    await lab.close()


def check_finished(lab: Lab, result: WatchResult, steps: int) -> None:
    """The run succeeded and everything it made is here, whole; its secret is nowhere."""
    run_dir = lab.paths.run(result.record.id)
    assert (result.record.state, result.record.message, result.is_retrieved) == (RunState.SUCCEEDED, None, True)
    assert (run_dir / "output" / "model.bin").stat().st_size == 300_000
    assert not (run_dir / "output" / "checkpoint-9").exists()
    assert (run_dir / "job.log").read_text().count("step ") == steps
    assert f"step {steps} 16\n" in (run_dir / "job.log").read_text()
    written = [file for top in (run_dir, lab.server.remote_home) for file in top.rglob("*") if file.is_file()]
    assert not any(b"hf_never_written" in file.read_bytes() for file in written)


async def test_a_run_is_started_followed_and_brought_back(lab: Lab) -> None:
    metrics = Metrics()
    context = await lab.context(metrics)
    record = await lab.start(context, 5)
    check_finished(lab, await watch_run(context, record, artifacts=StepsJob.artifacts), 5)
    assert metrics.steps == [1, 2, 3, 4, 5]
    assert lab.warnings == []


async def test_cut_connections_and_a_server_that_restarts_lose_no_line(lab: Lab) -> None:
    metrics = Metrics()
    context = await lab.context(metrics)
    record = await lab.start(context, 40)

    async def trouble() -> None:
        for _ in range(2):
            await asyncio.sleep(0.7)
            lab.server.cut()
        await asyncio.sleep(0.5)
        lab.server.stop()
        await asyncio.sleep(0.6)
        lab.server.start()

    result, _ = await asyncio.gather(watch_run(context, record, artifacts=StepsJob.artifacts), trouble())
    check_finished(lab, result, 40)
    assert metrics.steps == list(range(1, 41))
    assert any(f"127.0.0.1:{lab.server.port}" in warning for warning in lab.warnings)
    assert all("cannot reach the job (" in warning for warning in lab.warnings)


async def test_a_run_whose_client_is_killed_is_attached_again(lab: Lab) -> None:
    metrics = Metrics()
    program = (
        "import asyncio, json, sys\n"
        "from tests.e2e.test_ssh_run import Place, start_and_follow\n"
        "asyncio.run(start_and_follow(Place(**json.loads(sys.argv[1]))))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(asdict(lab.place))],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    try:
        assert process.stdout is not None
        run_id, pid = (await asyncio.to_thread(process.stdout.readline)).decode().split()
        lab.groups.append(int(pid))
        await asyncio.sleep(0.5)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    eventually(lambda: not lab.server.sessions())
    record = load_run(lab.paths, run_id)
    assert record.state is RunState.RUNNING
    result = await watch_run(await lab.context(metrics), record, artifacts=StepsJob.artifacts)
    check_finished(lab, result, 30)
    assert metrics.steps == list(range(1, 31))


async def test_a_run_is_cancelled_over_another_connection(lab: Lab) -> None:
    context = await lab.context(Metrics())
    record = await lab.start(context, 600)
    await context.executor.close()
    result = await cancel_job(await lab.context(Metrics()), record)
    assert result.record.state is RunState.CANCELLED
    assert (lab.paths.run(record.id) / "job.log").exists()
    assert record.job is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(record.job.pid, 0)
