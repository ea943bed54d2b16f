"""A target in memory for the tests of runs: it keeps files as bytes and fails when told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event
from overbrainer_core.executors.base import ManifestEntry, Spawn
from overbrainer_core.executors.errors import CommandError, ExecutorError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.transfers.manifest import build_manifest
from overbrainer_core.values.job import JobHandle, JobPhase, JobState

RUNNING = JobState(phase=JobPhase.RUNNING)
FAST = RunTiming(
    poll_first_s=0.001,
    poll_max_s=0.004,
    local_watch_s=0.001,
    foreign_request_s=0.005,
    proof_limit_s=0.03,
    end_limit_s=0.03,
    sample_interval_s=0.005,
    sample_timeout_s=0.02,
    check_timeout_s=5,
    cancelled_wait_s=0.05,
)


class MemoryTarget:
    """An executor whose machine is a dictionary of files below `/remote`, and a list of states to answer with."""

    workdir = "/remote"

    def __init__(self, store: Path) -> None:
        self.store = store
        self.files: dict[str, bytes] = {}
        self.states: list[JobState] = [RUNNING]
        self.fail: dict[str, ExecutorError | list[ExecutorError | None]] = {}
        self.calls: list[str] = []
        self.taken: set[str] = set()
        self.owners: list[str] = []
        self.on_claim: Callable[[str], bool] | None = None
        self.on_status: Callable[[int], None] | None = None
        self.spawned: list[Spawn] = []
        self.closed = False

    def _call(self, name: str) -> None:
        self.calls.append(name)
        failure = self.fail.get(name)
        if isinstance(failure, list):
            failure = failure.pop(0) if failure else None
        if failure is not None:
            raise failure

    async def claim(self, directory: str, owner: str) -> bool:
        self._call("claim")
        self.owners = [owner, *(o for o in self.owners if o != owner)]
        run_id = directory.removeprefix("/remote/")
        if self.on_claim is not None:
            return self.on_claim(run_id)
        return run_id not in self.taken

    async def upload(self, local: Path, remote: str, *, skip: Collection[str] = ()) -> None:
        self._call("upload")
        for path in sorted(local.rglob("*")):
            name = str(path.relative_to(local))
            if path.is_file() and name.split("/")[0] not in skip:
                self.files[f"{remote}/{name}"] = path.read_bytes()

    async def spawn(self, job: Spawn) -> JobHandle:
        self._call("spawn")
        self.spawned.append(job)
        return JobHandle(directory=job.directory, pid=4711, container=job.container)

    async def read_from(self, path: str, offset: int, limit: int) -> bytes:
        self._call(f"read {path.rsplit('/', 1)[1]}")
        return self.files.get(path, b"")[offset : offset + limit]

    async def status(self, job: JobHandle) -> JobState:
        self._call("status")
        if self.on_status is not None:
            self.on_status(self.calls.count("status"))
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    async def cancel(self, job: JobHandle) -> None:
        self._call("cancel")
        await asyncio.sleep(0)
        if not self.states[-1].has_ended:
            self.states = [JobState(phase=JobPhase.CANCELLED)]

    async def manifest(
        self, directory: str, entries: Sequence[str], *, exclude: Sequence[str] = ()
    ) -> tuple[ManifestEntry, ...]:
        self._call("manifest")
        return build_manifest(self._materialized(directory), entries, exclude)

    async def download(self, remote: str, local: Path, entries: Sequence[str], *, exclude: Sequence[str] = ()) -> None:
        self._call("download")
        source = self._materialized(remote)
        for entry in build_manifest(source, entries, exclude):
            target = local / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((source / entry.path).read_bytes())

    def _materialized(self, directory: str) -> Path:
        names = [name for name in self.files if name.startswith(f"{directory}/")]
        if not names:
            raise CommandError("manifest", f'"{directory}" does not exist')
        for name in names:
            path = self.store / name.removeprefix("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.files[name])
        return self.store / directory.removeprefix("/")

    async def probe(self, script: str) -> bytes:
        self._call("probe")
        return b"@loadavg\n1.0 1.0 1.0 1/1 1\n@nproc\n2\n"

    async def put_file(self, path: str, text: str) -> None:
        self._call("put_file")
        self.files[path] = text.encode()

    async def close(self) -> None:
        self.closed = True


class Recorder:
    """An observer that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def on_close(self) -> None:
        """Nothing follows."""


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    return ProjectPaths(tmp_path / "project")


@pytest.fixture(autouse=True)
def project_directory(paths: ProjectPaths) -> None:
    paths.root.mkdir(exist_ok=True)


@pytest.fixture
def make_target(tmp_path: Path) -> Callable[[], MemoryTarget]:
    """Makes targets in memory."""
    return lambda: MemoryTarget(tmp_path / "target")


@pytest.fixture
def target(make_target: Callable[[], MemoryTarget]) -> MemoryTarget:
    return make_target()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def warnings() -> list[str]:
    """The warnings that a context was given."""
    return []


@pytest.fixture
def context(
    paths: ProjectPaths, target: MemoryTarget, recorder: Recorder, warnings: list[str], fake_clock: Any
) -> RunContext:
    """A context around the target in memory, with waits of milliseconds."""
    return RunContext(
        paths=paths,
        executor=target,
        bus=EventBus([recorder]),
        warn=warnings.append,
        clock=fake_clock,
        timing=FAST,
    )
