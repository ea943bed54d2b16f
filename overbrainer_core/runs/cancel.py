"""How is a run cancelled, and what is left of it afterwards?

The caller shields all of it. A job that had ended by itself keeps its real result.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from overbrainer_core.errors import OverbrainerError, RunError, TargetError, describe
from overbrainer_core.files import FileAccessError
from overbrainer_core.runs.context import RunContext, job_of
from overbrainer_core.runs.outcome import Verdict
from overbrainer_core.runs.record import RunRecord, RunState, UnrecordedEndError
from overbrainer_core.runs.retrieve import retrieve_run, with_note
from overbrainer_core.training.trainer import TRAINING_ARTIFACTS
from overbrainer_core.values.job import JobHandle, JobPhase, JobState

_log = logging.getLogger("overbrainer.runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelResult:
    """How the job stands now; `record` is `cancelled` only when the cancel ended it."""

    record: RunRecord
    job: JobState


def check_cancellable(record: RunRecord) -> None:
    """Refuse a run that no cancel can do anything for.

    Raises:
        RunError: it was cancelled before, or never started.
    """
    if record.state is RunState.CANCELLED:
        raise RunError(f"run {record.id} already ended: cancelled")
    if record.job is None:
        raise RunError(f"run {record.id} has not started")


async def cancel_job(context: RunContext, record: RunRecord) -> CancelResult:
    """End the job; what was recorded changes only when the cancel ended it.

    Raises:
        ExecutorError: the target cannot be reached, or the job survives.
        UnrecordedEndError: the job was ended, which cannot be recorded.
    """
    job = job_of(record)
    await context.executor.cancel(job)
    state = await context.executor.status(job)
    if state.phase is not JobPhase.CANCELLED:
        return CancelResult(record=record, job=state)
    cancelled = replace(record, state=RunState.CANCELLED, message=None, snapshot=None, ended=context.end_of(record))
    verdict = Verdict(state=RunState.CANCELLED)
    try:
        await context.save(cancelled)
    except FileAccessError as error:
        raise UnrecordedEndError(cancelled, error) from error
    try:
        await retrieve_run(context, cancelled, verdict, TRAINING_ARTIFACTS)
    except (TargetError, OSError) as error:
        _log.warning("cannot retrieve what run %s left: %s", record.id, describe(error))
        cancelled = replace(cancelled, message=with_note(verdict, describe(error)).message)
        try:
            await context.save(cancelled)
        except OverbrainerError as save_error:
            _log.warning("cannot note it in the record: %s", describe(save_error))
    return CancelResult(record=cancelled, job=state)


async def cancel_only(context: RunContext, record: RunRecord) -> JobState:
    """End the job and wait until its end is proved; writes nothing in the project.

    Raises:
        ExecutorError: the target cannot be reached, or the job survives.
        RunError: the end is not proved in time.
    """
    job = job_of(record)
    await context.executor.cancel(job)
    try:
        async with asyncio.timeout(context.timing.cancelled_wait_s):
            return await _ended_state(context, job)
    except TimeoutError as error:
        raise RunError(f"the job of run {record.id} was told to end but still runs") from error


async def _ended_state(context: RunContext, job: JobHandle) -> JobState:
    while not (state := await context.executor.status(job)).has_ended:  # noqa: ASYNC110  # a target sends no events
        await asyncio.sleep(context.timing.poll_first_s)
    return state
