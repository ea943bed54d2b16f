"""How does a run come to life: reserve, prepare, upload, spawn, record?

The caller shields all of it: whatever was created is on disk before anything may be cut. A start that fails leaves a
`failed` record that says why; a job that cannot be recorded is cancelled, since nobody could find it again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from overbrainer_core.errors import OverbrainerError, describe
from overbrainer_core.events.types import RunCreated
from overbrainer_core.executors.base import Spawn
from overbrainer_core.files import FileAccessError
from overbrainer_core.jobs.base import Job
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.ids import base_id, claim_run
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runtimes.base import Runtime, ScriptPlan
from overbrainer_core.values.job import JobHandle, Secret

PRIVATE_ENTRIES = ("ssh", "pod.json")
"""Top-level names of a run directory that never leave this machine."""

_log = logging.getLogger("overbrainer.runs")
_starting: set[str] = set()
"""IDs of the runs that this process is starting."""


def is_starting(run_id: str) -> bool:
    """Whether a part of this process is starting the run: its record says `preparing` and that is true."""
    return run_id in _starting


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started: a job, where its programs come from, and its secrets."""

    job: Job
    runtime: Runtime
    secrets: tuple[Secret, ...] = ()


async def create_run(
    context: RunContext, *, project_name: str, target: str, resumed_from: str | None = None
) -> RunRecord:
    """Take an ID here and on the target and record the run as `preparing`; `start_run_job` must follow.

    Raises:
        RunError, FileAccessError, ExecutorError: no ID could be taken, or the record cannot be written.
    """
    moment = context.now()
    run_id, remote_dir = await claim_run(context.paths, context.executor, base_id(project_name, moment))
    record = RunRecord(
        id=run_id,
        target=target,
        created=moment,
        remote_dir=remote_dir,
        resumed_from=resumed_from,
    )
    _starting.add(run_id)
    try:
        await context.save(record)
    except BaseException:
        _starting.discard(run_id)
        raise
    context.bus.publish(RunCreated(run_id=run_id, target=target))
    return record


async def start_run_job(context: RunContext, record: RunRecord, launch: Launch) -> RunRecord:
    """Prepare the run directory, upload it, start the job and record it as `running`.

    Raises:
        OverbrainerError: the start failed; the record says so.
    """
    try:
        return await _start(context, record, launch)
    finally:
        _starting.discard(record.id)


async def _start(context: RunContext, record: RunRecord, launch: Launch) -> RunRecord:
    try:
        handle = await _spawn(context, record, launch)
    except (OverbrainerError, OSError) as error:
        await _record_failure(context, record, error)
        if isinstance(error, OSError):
            raise FileAccessError(context.run_dir(record)) from error
        raise
    try:
        return await context.save(replace(record, state=RunState.RUNNING, job=handle, snapshots=True))
    except OverbrainerError:
        await _cancel_unrecorded(context, record, handle)
        raise


async def _spawn(context: RunContext, record: RunRecord, launch: Launch) -> JobHandle:
    job, runtime = launch.job, launch.runtime
    run_dir, remote = context.run_dir(record), record.remote_dir
    root = runtime.root(remote)
    await asyncio.to_thread(job.prepare, run_dir, root)
    await context.executor.upload(run_dir, remote, skip=PRIVATE_ENTRIES)
    plan = ScriptPlan(
        run_id=record.id,
        directory=remote,
        workdir=context.executor.workdir,
        commands=job.commands(root),
        environment=job.environment(root),
        secret_names=tuple(secret.name for secret in launch.secrets),
        metrics_file=job.metrics_file,
        stop_marker=job.stop_marker,
        caches_tools=job.caches_tools,
    )
    spawn = Spawn(
        directory=remote,
        script=runtime.script(plan),
        secrets=launch.secrets,
        container=runtime.container(record.id),
    )
    return await context.executor.spawn(spawn)


async def _record_failure(context: RunContext, record: RunRecord, error: BaseException) -> None:
    failed = replace(record, state=RunState.FAILED, message=describe(error), ended=context.end_of(record))
    try:
        await context.save(failed)
    except OverbrainerError as save_error:
        _log.error("cannot record that run %s failed: %s", record.id, describe(save_error))


async def _cancel_unrecorded(context: RunContext, record: RunRecord, handle: JobHandle) -> None:
    try:
        await context.executor.cancel(handle)
    except OverbrainerError as error:
        _log.error("cannot cancel the job of run %s, which is not recorded: %s", record.id, describe(error))
