"""How is a job asked for a snapshot, and how long is it waited for?

The request is a small file that the trainer looks for after each step. Whoever follows the run holds the job to the
limits, whether it asked itself or saw somebody else's request. Everything here acts beside the follow and never ends,
fails or delays it.
"""

from __future__ import annotations

import asyncio
import logging

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.errors import OverbrainerError, RunError, describe
from overbrainer_core.runs.context import RunContext, job_of
from overbrainer_core.runs.outcome import InvalidProofError, parse_proof
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.values.job import JobHandle, JobPhase

REQUEST = "snapshot.request"
PROOF = "snapshot.json"
PROOF_BYTES = 64 * 1024
"""Bytes read of a proof."""

_log = logging.getLogger("overbrainer.runs")


def check_stoppable(record: RunRecord) -> None:
    """Refuse a run that cannot save a snapshot, before anything is written.

    Raises:
        RunError: it has ended, has not started, or its job knows no requests.
    """
    if record.state.has_ended:
        raise RunError(f"run {record.id} already ended: {record.state}")
    if record.state is RunState.PREPARING or record.job is None:
        raise RunError(f"run {record.id} has not started: there is no job to snapshot yet")
    if not record.snapshots:
        raise RunError(
            f"the job of run {record.id} comes from before 0.5.0 and cannot save a snapshot: "
            f"wait for its end, or use `overbrainer train cancel {record.id}`"
        )


async def request_snapshot(context: RunContext, record: RunRecord, *, reason: str = "requested") -> None:
    """Ask the job for a snapshot; asking again only changes the reason.

    Raises:
        RunError: the run is not running.
        ExecutorError: the target cannot be reached.
    """
    job = job_of(record)
    if record.state is not RunState.RUNNING:
        raise RunError(f"run {record.id} is not running ({record.state}): there is nothing to snapshot")
    await context.executor.put_file(f"{job.directory}/{REQUEST}", reason)


async def read_proof(context: RunContext, job: JobHandle) -> bytes:
    """The snapshot proof on the target; empty when there is none."""
    return await context.executor.read_from(f"{job.directory}/{PROOF}", 0, PROOF_BYTES)


async def hold_to_request(context: RunContext, record: RunRecord, *, asked: bool) -> None:
    """Wait for a request (unless it was ours) and hold the job to the limits that follow it."""
    job = job_of(record)
    if not asked:
        await _foreign_request(context, job)
    await _hold_to_limits(context, job)


async def _foreign_request(context: RunContext, job: JobHandle) -> None:
    """Return once somebody asked for a snapshot."""
    path = f"{job.directory}/{REQUEST}"
    while True:
        try:
            if await context.executor.read_from(path, 0, 1):
                return
        except OverbrainerError as error:
            _log.debug("cannot look for a snapshot request: %s", describe(error))
        await asyncio.sleep(context.timing.foreign_request_s)


async def _hold_to_limits(context: RunContext, job: JobHandle) -> None:
    timing = context.timing
    await asyncio.sleep(timing.proof_limit_s)
    try:
        has_proof = _proves(await read_proof(context, job))
        if (await context.executor.status(job)).phase is not JobPhase.RUNNING:
            return
        if not has_proof:
            await run_to_end(context.executor.cancel(job), name="cancel")
            minutes = f"{timing.proof_limit_s / 60:.0f} min"
            context.warn(f"no snapshot {minutes} after it was asked for: the job was cancelled")
            return
    except OverbrainerError as error:
        context.warn(f"cannot cancel a job that gave no snapshot: {describe(error)}")
        return
    await asyncio.sleep(timing.end_limit_s)
    try:
        if (await context.executor.status(job)).phase is JobPhase.RUNNING:
            await run_to_end(context.executor.cancel(job), name="cancel")
            context.warn("the job saved its snapshot but did not end: it was cancelled")
    except OverbrainerError as error:
        context.warn(f"cannot cancel a job that did not end: {describe(error)}")


def _proves(content: bytes) -> bool:
    try:
        return parse_proof(content) is not None
    except InvalidProofError:
        return False
