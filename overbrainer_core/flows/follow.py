"""How is a run followed again, stopped with a snapshot, or cancelled, from any later process?

Following may be given up at any moment and leaves the job alone; a cancel runs to its end. While another process holds
the project, the `_beside` functions act on the target only and leave the record to the holder.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.config.settings import Target
from overbrainer_core.errors import (
    ConfigError,
    InterruptedByUser,
    JobError,
    OverbrainerError,
    TargetError,
    describe,
)
from overbrainer_core.events.bus import EventBus
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.local import LocalExecutor
from overbrainer_core.flows.report import Report
from overbrainer_core.flows.session import Session
from overbrainer_core.flows.targets import connect, require_machine, runtime_of
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.attach import collect_run, finish_lines, needs_collecting
from overbrainer_core.runs.cancel import CancelResult, cancel_job, cancel_only, check_cancellable
from overbrainer_core.runs.context import NoJobError, RunContext
from overbrainer_core.runs.record import RunRecord, RunState, load_run
from overbrainer_core.runs.settle import find_job, needs_settling, settle_run
from overbrainer_core.runs.stop import check_stoppable, request_snapshot
from overbrainer_core.runs.store import list_runs
from overbrainer_core.runs.watch import watch_run
from overbrainer_core.training.metrics import MetricsSummary, read_metrics_file
from overbrainer_core.training.trainer import METRICS_FILE
from overbrainer_core.values.job import Container


class RunEndedError(JobError):
    """A run ended as `failed` or `cancelled`; `record` says how."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        if record.state is RunState.CANCELLED:
            super().__init__(f"run {record.id} was cancelled")
        else:
            super().__init__(record.message or f"run {record.id} failed")


class FollowError(TargetError):
    """The follow gave up; the job may go on."""

    def __init__(self, error: BaseException, run_id: str) -> None:
        super().__init__(f"{describe(error)}; {_attach_hint(run_id)}")


def _attach_hint(run_id: str) -> str:
    return f"follow it again with `overbrainer train attach {run_id}`"


def context_of(session: Session, executor: Executor, *, bus: EventBus, report: Report) -> RunContext:
    """What operations on a run of this session work with."""
    return RunContext(
        paths=session.paths,
        executor=executor,
        bus=bus,
        warn=report.warn,
        clock=session.clock,
        timing=session.timing,
        is_local=isinstance(executor, LocalExecutor),
    )


async def attach_run(
    session: Session, run_id: str, *, bus: EventBus, report: Report, interrupt: Interrupt
) -> RunRecord:
    """Follow a run to its end, or sum up an ended one, fetching results that did not come back the first time.

    Raises:
        ConfigError: no `[training]`, or the run's target is no longer configured.
        RunError: there is no such run, or it has no job.
        InterruptedByUser: the person detached; the job goes on.
        JobError: the run failed or was cancelled.
        OverbrainerError: the target cannot be reached.
    """
    _require_training(session)
    record = load_run(session.paths, run_id)
    if record.state.has_ended and not needs_collecting(record):
        _target_of(session, record)
        return await _ended_run(session, record, report=report, interrupt=interrupt)
    async with _connected(session, record, interrupt) as executor:
        context = context_of(session, executor, bus=bus, report=report)
        if needs_settling(record):
            record = await interrupt.race(_settled(session, context, record))
        if needs_collecting(record):
            record = await interrupt.race(collect_run(context, record))
        return await follow_to_end(context, record, report=report, interrupt=interrupt)


async def stop_run(session: Session, run_id: str, *, bus: EventBus, report: Report, interrupt: Interrupt) -> RunRecord:
    """Ask a running run for a snapshot and follow it to its end; a job that does not obey in time is cancelled.

    Raises:
        RunError: the run cannot be stopped; nothing was written.
        OverbrainerError: as `attach_run`.
    """
    _require_training(session)
    record = await _with_job(session, load_run(session.paths, run_id), bus=bus, report=report)
    check_stoppable(record)
    async with _connected(session, record, interrupt) as executor:
        context = context_of(session, executor, bus=bus, report=report)
        await request_snapshot(context, record)
        report.result(_requested_line(run_id))
        return await follow_to_end(context, record, report=report, interrupt=interrupt, asked=True)


async def cancel_run(session: Session, run_id: str, *, bus: EventBus, report: Report) -> RunRecord:
    """Cancel a run, or what is left of it on its target; never cut.

    Raises:
        RunError: the run was cancelled before or never started.
        ConfigError: no `[training]`, or the run's target is no longer configured.
        OverbrainerError: the target cannot be reached, or the job survives.
    """
    record = await _with_job(session, load_run(session.paths, run_id), bus=bus, report=report)
    check_cancellable(record)
    _require_training(session, "cancel needs [training] to retrieve the run's artifacts: ")
    if record.state.has_ended:
        report.note(f"train: run {run_id} already ended: {record.state}; stopping any job left on the target")
    async with _connected(session, record) as executor:
        context = context_of(session, executor, bus=bus, report=report)
        result = await run_to_end(cancel_job(context, record), name="cancel")
    report.result(_cancel_line(result))
    return result.record


async def request_stop_beside(session: Session, run_id: str, *, holder: int | None, report: Report) -> None:
    """Ask for a snapshot while another process holds the project; that one collects it when it follows the run.

    Raises:
        RunError: the run cannot be stopped; nothing was written.
        OverbrainerError: the target cannot be reached.
    """
    record = load_run(session.paths, run_id)
    check_stoppable(record)
    async with _connected(session, record) as executor, _silent_bus() as bus:
        context = context_of(session, executor, bus=bus, report=report)
        await request_snapshot(context, record)
    report.result(_requested_line(run_id))
    report.result(
        f"train: {_holder_words(holder)} is using this project: if it follows run {run_id}, it collects the snapshot; "
        f"if not, collect it with `overbrainer train attach {run_id}`"
    )


async def cancel_beside(session: Session, run_id: str, *, holder: int | None, report: Report) -> None:
    """Cancel a run's job while another process holds the project; that one records the end when it follows the run.

    Raises:
        RunError: the run was cancelled before or never started.
        OverbrainerError: the target cannot be reached, or the job survives.
    """
    record = load_run(session.paths, run_id)
    check_cancellable(record)
    async with _connected(session, record) as executor, _silent_bus() as bus:
        context = context_of(session, executor, bus=bus, report=report)
        state = await run_to_end(cancel_only(context, record), name="cancel")
    report.result(_cancel_line(CancelResult(record=record, job=state), is_recorded=False))
    report.note(
        f"train: {_holder_words(holder)} is using this project: if it follows run {run_id}, it records the end; "
        f"if not, collect it with `overbrainer train attach {run_id}`"
    )


async def _with_job(session: Session, record: RunRecord, *, bus: EventBus, report: Report) -> RunRecord:
    """The record with the job that a killed start left behind, if it did."""
    if not session.is_locked or not needs_settling(record):
        return record
    async with _connected(session, record) as executor:
        context = context_of(session, executor, bus=bus, report=report)
        return await run_to_end(find_job(context, record, container=_container(session, record)), name="find the job")


async def _settled(session: Session, context: RunContext, record: RunRecord) -> RunRecord:
    """The record as it stands once a start that was killed is taken into account.

    Raises:
        NoJobError: the job never started; it is recorded.
    """
    if session.is_locked:
        container = _container(session, record)
        record = await run_to_end(settle_run(context, record, container=container), name="settle")
    if record.job is None:
        raise NoJobError(record.id)
    return record


async def settle_cut_starts(session: Session, context: RunContext, target: str) -> None:
    """Settle the runs of a target whose start was killed; one that goes on is told, none that cannot be looked at."""
    if not session.is_locked:
        return
    for record in await asyncio.to_thread(list_runs, session.paths):
        if record.target == target and needs_settling(record):
            try:
                settled = await settle_run(context, record, container=_container(session, record))
            except OverbrainerError as error:
                context.warn(f"cannot tell what became of run {record.id}: {describe(error)}")
                continue
            if settled.state is RunState.RUNNING:
                context.warn(f"run {record.id} may still run; {_attach_hint(record.id)}")


def _container(session: Session, record: RunRecord) -> Container | None:
    target = _target_of(session, record)
    return runtime_of(require_machine(target)).container(record.id)


async def follow_to_end(
    context: RunContext, record: RunRecord, *, report: Report, interrupt: Interrupt, asked: bool = False
) -> RunRecord:
    """Follow a run that has a job, hand over its result lines, and raise for a failed or cancelled one.

    Raises:
        InterruptedByUser: the person detached; the job goes on.
        JobError: the run failed or was cancelled.
        FollowError: the job cannot be reached, or its results did not come back.
    """
    try:
        result = await interrupt.race(watch_run(context, record, asked=asked))
    except InterruptedByUser:
        raise InterruptedByUser(_detached_words(record)) from None
    except NoJobError:
        raise
    except OverbrainerError as error:
        raise FollowError(error, record.id) from error
    return _tell_end(context.paths, result.record, result.summary, report)


async def _ended_run(session: Session, record: RunRecord, *, report: Report, interrupt: Interrupt) -> RunRecord:
    """Sum up a run of which nothing is left on its target, which may be gone by now.

    Raises:
        JobError: the run failed or was cancelled.
    """
    metrics = session.paths.run(record.id) / METRICS_FILE
    try:
        summary = await interrupt.race(asyncio.to_thread(read_metrics_file, metrics))
    except InterruptedByUser:
        raise InterruptedByUser(_detached_words(record)) from None
    return _tell_end(session.paths, record, summary, report)


def _tell_end(paths: ProjectPaths, record: RunRecord, summary: MetricsSummary, report: Report) -> RunRecord:
    """Hand over the result lines of an ended run; its record, unless it failed or was cancelled."""
    for line in finish_lines(paths, record, summary):
        report.result(line)
    if record.state in (RunState.FAILED, RunState.CANCELLED):
        raise RunEndedError(record)
    return record


def _detached_words(record: RunRecord) -> str:
    if record.state.has_ended and record.job is not None:
        return f"interrupted: run {record.id} already ended: {record.state}"
    if record.job is None:
        return f"interrupted: run {record.id} has no job"
    return f"interrupted: run {record.id} keeps running on target `{record.target}`; {_attach_hint(record.id)}"


def _requested_line(run_id: str) -> str:
    return (
        f"train: snapshot of run {run_id} requested: its job saves a checkpoint at the end of its current step, "
        "then stops"
    )


def _cancel_line(result: CancelResult, *, is_recorded: bool = True) -> str:
    record, job = result.record, result.job
    is_cancelled = record.state is RunState.CANCELLED if is_recorded else job.words() == "cancelled"
    if is_cancelled:
        note = f" ({record.message})" if is_recorded and record.message else ""
        return f"train: run {record.id} cancelled{note}"
    return (
        f"train: the job of run {record.id} had already ended ({job.words()}): "
        f"collect it with `overbrainer train attach {record.id}`"
    )


def _holder_words(holder: int | None) -> str:
    return f"overbrainer (pid {holder})" if holder is not None else "another overbrainer"


def _require_training(session: Session, prefix: str = "") -> None:
    if session.settings.training is None:
        raise ConfigError(f"{prefix}no [training] section in overbrainer.toml")


def _target_of(session: Session, record: RunRecord) -> Target:
    target = session.settings.targets.get(record.target)
    if target is None:
        raise ConfigError(f"target `{record.target}` of run {record.id} is no longer in overbrainer.toml")
    return target


@asynccontextmanager
async def _connected(
    session: Session, record: RunRecord, interrupt: Interrupt | None = None
) -> AsyncIterator[Executor]:
    """The machine of a run; an interrupt gives up before it is reached, where the caller can be cut."""
    connecting = connect(session, _target_of(session, record))
    try:
        executor = await (connecting if interrupt is None else interrupt.race(connecting))
    except InterruptedByUser:
        raise InterruptedByUser(_detached_words(record)) from None
    try:
        yield executor
    finally:
        await run_to_end(executor.close(), name="close the target")


@asynccontextmanager
async def _silent_bus() -> AsyncIterator[EventBus]:
    bus = EventBus()
    try:
        yield bus
    finally:
        bus.close()
