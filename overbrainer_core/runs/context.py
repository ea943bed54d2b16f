"""What does every operation on a run work with?"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from overbrainer_core.clock import Clock
from overbrainer_core.errors import RunError
from overbrainer_core.events.bus import EventBus
from overbrainer_core.executors.base import Executor
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, save_run
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.values.job import JobHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The project, the target and the listeners of one run.

    `is_local` when the target is this machine: then a run directory is usually its own target. `warn` takes a line
    that asks for the person's attention.
    """

    paths: ProjectPaths
    executor: Executor
    bus: EventBus
    warn: Callable[[str], None]
    clock: Clock
    timing: RunTiming
    is_local: bool = False

    def run_dir(self, record: RunRecord) -> Path:
        """The run directory of this project."""
        return self.paths.run(record.id)

    def now(self) -> datetime:
        """The wall time to the second, as records keep it."""
        return self.clock.now().replace(microsecond=0)

    def end_of(self, record: RunRecord) -> datetime:
        """When a run ends that ends now: never before it was created, whatever became of the clock."""
        return max(self.now(), record.created)

    def is_in_place(self, record: RunRecord) -> bool:
        """Whether the run directory on the target is the one of this project: nothing is copied, nothing compared."""
        return self.is_local and os.path.realpath(record.remote_dir) == os.path.realpath(self.run_dir(record))

    async def save(self, record: RunRecord) -> RunRecord:
        """Write the record off the event loop; returns it."""
        await asyncio.to_thread(save_run, self.paths, record)
        return record


class NoJobError(RunError):
    """The run has no job to follow."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} has no job: it stopped before the job started")


def job_of(record: RunRecord) -> JobHandle:
    """The run's job.

    Raises:
        NoJobError: it never started.
    """
    if record.job is None:
        raise NoJobError(record.id)
    return record.job


def log_hint(run_id: str) -> str:
    """Where to read more about a run's job."""
    return f"see runs/{run_id}/job.log"
