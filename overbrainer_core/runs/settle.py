"""What became of a run whose start was killed before its job was recorded?

The job writes its process ID into the run directory by itself, so a job that nobody recorded is found again there.
Only the process that holds the project asks: whoever else prepares a run holds it too, and a start of this very process
is known to it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from overbrainer_core.errors import TargetError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.executors.scripts import parse_pid
from overbrainer_core.runs.context import NoJobError, RunContext
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runs.start import is_starting
from overbrainer_core.values.job import Container, JobHandle, JobPhase

PID_FILE = "job.pid"
LOG_FILE = "job.log"
"""Written just before a job starts, so that a missing process ID may still come."""

_LOOKS = 10
"""Looks for the process ID of a job that has only just been started."""

_PID_BYTES = 32
_log = logging.getLogger("overbrainer.runs")


def needs_settling(record: RunRecord) -> bool:
    """Whether the record says that a start goes on which no part of this process makes."""
    return record.state is RunState.PREPARING and record.job is None and not is_starting(record.id)


async def find_job(context: RunContext, record: RunRecord, *, container: Container | None) -> RunRecord:
    """The record with the job that a killed start left on the target, saved as running; else the record as it is.

    A job that was cancelled before it was recorded is saved as cancelled.

    Args:
        container: the container that a job of this run has.

    Raises:
        TargetError: the target cannot be reached.
        FileAccessError: the record cannot be written.
    """
    if not needs_settling(record):
        return record
    is_own = record.remote_dir.rpartition("/")[2] == record.id  # a copied record names the directory of another run
    pid = await _leader(context, record.remote_dir) if is_own else None
    if pid is None:
        return record
    job = JobHandle(directory=record.remote_dir, pid=pid, container=container)
    state = await context.executor.status(job)
    if state.phase is JobPhase.CANCELLED:  # as a start does whose record could not be written
        return await context.save(replace(record, state=RunState.CANCELLED, job=job, ended=context.end_of(record)))
    found = await context.save(replace(record, state=RunState.RUNNING, job=job, snapshots=True))
    context.warn(f"the start of run {record.id} was cut short; its job was found again (process {pid})")
    return found


async def settle_run(context: RunContext, record: RunRecord, *, container: Container | None) -> RunRecord:
    """`find_job`, and a run whose job never started is recorded as failed.

    Raises:
        TargetError: the target cannot be reached; the record stays.
        FileAccessError: the record cannot be written.
    """
    found = await find_job(context, record, container=container)
    if not needs_settling(found):
        return found
    message = str(NoJobError(record.id))
    return await context.save(replace(found, state=RunState.FAILED, message=message, ended=context.end_of(record)))


async def _leader(context: RunContext, directory: str) -> int | None:
    """The process ID that the job wrote, waited for while one may come."""
    for _ in range(_LOOKS):
        content = await context.executor.read_from(f"{directory}/{PID_FILE}", 0, _PID_BYTES)
        if content.strip():
            return _pid(content)
        if not await _was_spawned(context, directory):
            return None
        await asyncio.sleep(context.timing.poll_first_s)
    return None


async def _was_spawned(context: RunContext, directory: str) -> bool:
    try:
        return bool(await context.executor.manifest(directory, [LOG_FILE]))
    except CommandError:
        return False


def _pid(content: bytes) -> int | None:
    try:
        return parse_pid(content)
    except TargetError as error:
        _log.warning("the process ID of a job cannot be read: %s", error)
        return None
