"""How is a job followed to its end: lines, status, machine samples, failures, drain, outcome, results?

The first look is at once, the next ones follow closely while lines come and rarely while nothing does. A look that
fails is forgiven a few times in a row; giving up leaves the job and the record alone, for another follow.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path

from overbrainer_core.aio.beside import beside
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.errors import OverbrainerError, TargetError, describe
from overbrainer_core.events.types import JobStatus, Mark, Metric, RunWatched, System
from overbrainer_core.executors.lines import tail
from overbrainer_core.files import FileAccessError, open_state
from overbrainer_core.jobs.base import Artifacts
from overbrainer_core.runs.context import RunContext, job_of
from overbrainer_core.runs.outcome import Verdict, advice_of, decide, telling_line, with_proof
from overbrainer_core.runs.record import RunRecord, RunState, UnrecordedEndError
from overbrainer_core.runs.retrieve import JOB_LOG, MissingOutputError, has_note, retrieve_run, with_note
from overbrainer_core.runs.stop import hold_to_request, read_proof
from overbrainer_core.system.probe import ProbeState, machine_script, parse_probe
from overbrainer_core.training.metrics import MetricsSummary, malformed_reason, parse_line, read_metrics_file
from overbrainer_core.training.trainer import METRICS_FILE, TRAINING_ARTIFACTS
from overbrainer_core.values.job import JobHandle, JobPhase, JobState
from overbrainer_core.values.metric import TrainMetric

BATCH_LINES = 512
"""Lines published before other tasks get a turn: less than a subscriber keeps."""

LOOK_READS = 64
"""Reads of one look: a job that writes faster than it can be read must not keep its state from being seen."""

MALFORMED_TOLD = 20
"""Malformed lines that are told one by one; the others are counted."""

LOG_TAIL_BYTES = 64 * 1024
"""Bytes at the end of `job.log` in which the reason of a failure is looked for."""

FULL_DISK_BYTES = 64 * 1024
"""A disk with less room counts as full: little more than what the end of a job gives back."""

_log = logging.getLogger("overbrainer.runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """How a follow ended; `is_retrieved` when every file the target had came back whole."""

    record: RunRecord
    summary: MetricsSummary
    is_retrieved: bool


class _Lines:
    """The metric lines of a job, published as they come."""

    def __init__(self, context: RunContext, run_id: str, path: str) -> None:
        self._bus = context.bus
        self._run_id = run_id
        self._reader = tail(context.executor, path)
        self.summary = MetricsSummary()

    async def read_new(self, *, most: int | None = None) -> int:
        """Publish what is there, or what that many reads bring; how many reads brought something."""
        for count in itertools.count():
            if count == most:
                break
            before = self._reader.offset
            lines = await self._reader.read_lines()
            for start in range(0, len(lines), BATCH_LINES):
                self._publish(lines[start : start + BATCH_LINES])
                await asyncio.sleep(0)
            if self._reader.offset == before:
                break
        return count

    def _publish(self, lines: list[str]) -> None:
        publish, apply, run_id = self._bus.publish, self.summary.apply, self._run_id
        for text in lines:
            line = parse_line(text)
            apply(line)
            if isinstance(line, TrainMetric):
                publish(Metric(run_id=run_id, metric=line))
            elif line is not None:
                publish(Mark(run_id=run_id, mark=line))
            elif self.summary.malformed <= MALFORMED_TOLD:
                _log.warning("skipping a malformed metrics line: %s", malformed_reason(text))

    def tell_the_rest(self) -> None:
        """Say how many malformed lines were not told one by one."""
        more = self.summary.malformed - MALFORMED_TOLD
        if more > 0:
            _log.warning("skipped %d more malformed metrics line(s)", more)


class _Budget:
    """Failed looks in a row that are forgiven."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._failures = 0

    def renew(self) -> None:
        """A look succeeded."""
        self._failures = 0

    async def spend(self, error: OverbrainerError) -> None:
        """Forgive a failed look and wait, or raise it when there were too many."""
        self._failures += 1
        allowed = self._context.timing.failures_allowed
        if self._failures > allowed:
            raise error
        self._context.warn(f"cannot reach the job ({self._failures}/{allowed}): {describe(error)}")
        await asyncio.sleep(self._context.timing.poll_max_s)


async def watch_run(
    context: RunContext,
    record: RunRecord,
    *,
    artifacts: Artifacts = TRAINING_ARTIFACTS,
    needs_metrics: bool = True,
    asked: bool = False,
) -> WatchResult:
    """Follow a running run to its end, bring its results back and record the end; an ended one is only summed up.

    Args:
        asked: whether this process asked for the snapshot, so that its limits count from now.

    Raises:
        NoJobError: the job never started.
        OverbrainerError: the job cannot be reached, or its results did not come back; it is still recorded `running`.
    """
    if record.state.has_ended:
        summary = await asyncio.to_thread(read_metrics_file, context.run_dir(record) / METRICS_FILE)
        return WatchResult(record=record, summary=summary, is_retrieved=_was_retrieved(context, record))
    job = job_of(record)
    context.bus.publish(RunWatched(run_id=record.id))
    lines = _Lines(context, record.id, f"{job.directory}/{METRICS_FILE}")
    works = [_sample_machine(context, record.id, job.directory)]
    if record.snapshots:
        works.append(hold_to_request(context, record, asked=asked))
    async with beside(*works):
        state = await _follow(context, record, lines)
    lines.tell_the_rest()
    verdict = await _verdict(context, record, state, summary=lines.summary, needs_metrics=needs_metrics)
    record, is_retrieved = await _finish(context, record, verdict, artifacts)
    return WatchResult(record=record, summary=lines.summary, is_retrieved=is_retrieved)


async def _follow(context: RunContext, record: RunRecord, lines: _Lines) -> JobState:
    """Look until the job has ended, then read the rest of its lines."""
    job, timing = job_of(record), context.timing
    budget = _Budget(context)
    told: JobState | None = None
    wait_s = timing.poll_first_s
    loop, ask_at = asyncio.get_running_loop(), 0.0
    while True:
        seen = _files_stamp(context, job)
        # asking starts a program: a local job that only writes lines is asked no more often than a quiet one
        known = told if _tells_no_end(seen) and loop.time() < ask_at else None
        try:
            reads = await lines.read_new(most=LOOK_READS)
            state = known or await context.executor.status(job)
        except OverbrainerError as error:
            await budget.spend(error)
            continue
        if known is None:
            ask_at = loop.time() + timing.poll_max_s
        budget.renew()
        if state != told:
            told = state
            context.bus.publish(JobStatus(run_id=record.id, state=state))
        if state.has_ended:
            break
        if reads == LOOK_READS:
            continue
        wait_s = timing.poll_first_s if reads else wait_s
        await _pause(context, job, wait_s, seen=seen)
        wait_s = timing.next_poll_s(wait_s)
    while True:
        try:
            await lines.read_new()
            return state
        except OverbrainerError as error:
            await budget.spend(error)


_FilesStamp = tuple[int, bool, bool]


def _files_stamp(context: RunContext, job: JobHandle) -> _FilesStamp | None:
    """What changes in a local run directory when there is something to see: lines, an end; None on another machine."""
    if not context.is_local:
        return None
    directory = Path(job.directory)
    try:
        size = os.stat(directory / METRICS_FILE).st_size
    except OSError:
        size = 0
    return size, os.path.lexists(directory / "exit_code"), os.path.lexists(directory / "cancelled")


def _tells_no_end(seen: _FilesStamp | None) -> bool:
    """Whether the files of a local job were seen, and no end of it among them."""
    return seen is not None and not (seen[1] or seen[2])


async def _pause(context: RunContext, job: JobHandle, seconds: float, *, seen: _FilesStamp | None) -> None:
    """Wait until the next look is due, or until the files of a local job changed."""
    if seen is None:
        await asyncio.sleep(seconds)
        return
    step_s = context.timing.local_watch_s
    while seconds > 0:
        await asyncio.sleep(min(step_s, seconds))
        seconds -= step_s
        if _files_stamp(context, job) != seen:
            return


async def _sample_machine(context: RunContext, run_id: str, directory: str) -> None:
    """Publish a sample of the target machine now and then; a sample that fails or takes too long is left out."""
    timing = context.timing
    script = machine_script(directory)
    previous: ProbeState | None = None
    while True:
        try:
            async with asyncio.timeout(timing.sample_timeout_s):
                output = await context.executor.probe(script)
            sample, previous = parse_probe(output, previous, at=context.clock.now())
            context.bus.publish(System(run_id=run_id, sample=sample))
        except (OverbrainerError, TimeoutError, ValueError) as error:
            _log.debug("no machine sample: %s", describe(error))
        await asyncio.sleep(timing.sample_interval_s)


async def _verdict(
    context: RunContext, record: RunRecord, state: JobState, *, summary: MetricsSummary, needs_metrics: bool
) -> Verdict:
    has_plugin = (context.run_dir(record) / "plugin").is_dir()
    verdict = decide(
        state,
        run_id=record.id,
        has_metrics=summary.plugin_lines > 0,
        needs_metrics=needs_metrics,
        has_plugin=has_plugin,
    )
    if verdict.state in (RunState.SUCCEEDED, RunState.CANCELLED):
        verdict = with_proof(verdict, await read_proof(context, job_of(record)))
    if state.phase is JobPhase.LOST and job_of(record).container is not None:
        advice = f"its container may still run: `overbrainer train cancel {record.id}` stops it"
        verdict = replace(verdict, advice=advice)
    note = state.living_group_note()
    if note is not None and verdict.message is not None:
        verdict = replace(verdict, message=f"{verdict.message}; {note}")
    elif note is not None:
        context.warn(f"run {record.id} has ended, but {note}")
    if summary.last is not None and not summary.has_loss:
        context.warn(
            f"the loss of run {record.id} is 0 from its first step: nothing was learnt; "
            "check that the chat template trains the assistant's turns"
        )
    return verdict


async def _finish(
    context: RunContext, record: RunRecord, verdict: Verdict, artifacts: Artifacts
) -> tuple[RunRecord, bool]:
    """Bring the results back and record the end; a success whose results do not come stays `running`."""
    is_retrieved = True
    try:
        await retrieve_run(context, record, verdict, artifacts)
        verdict = await _with_reason(context, record, verdict)
    except MissingOutputError as error:
        verdict = await _with_reason(context, record, Verdict(state=RunState.FAILED, message=str(error)))
    except (TargetError, OSError) as error:
        if verdict.state in (RunState.SUCCEEDED, RunState.STOPPED):
            raise _retrieval_error(error) from error
        verdict = with_note(verdict, describe(error))
        is_retrieved = False
    ended = _ended(context, record, verdict)
    try:
        return await run_to_end(context.save(ended), name="record the end"), is_retrieved
    except FileAccessError as error:
        raise UnrecordedEndError(ended, error) from error


def _retrieval_error(error: BaseException) -> TargetError:
    return error if isinstance(error, TargetError) else TargetError(f"cannot retrieve the results: {describe(error)}")


def _ended(context: RunContext, record: RunRecord, verdict: Verdict) -> RunRecord:
    return replace(
        record,
        state=verdict.state,
        message=verdict.message,
        snapshot=verdict.snapshot if verdict.state is RunState.STOPPED else None,
        ended=context.end_of(record),
    )


async def _with_reason(context: RunContext, record: RunRecord, verdict: Verdict) -> Verdict:
    """A failed verdict with the line of `job.log` that says why, and what to do about it."""
    if verdict.state is not RunState.FAILED or verdict.message is None:
        return verdict
    log = await asyncio.to_thread(_log_tail, context.run_dir(record) / JOB_LOG)
    line, advice = telling_line(log), verdict.advice or advice_of(log) or _full_disk(context.run_dir(record))
    message = f"{verdict.message}: {line}" if line else verdict.message
    return replace(verdict, message=f"{message}; {advice}" if advice else message)


def _full_disk(run_dir: Path) -> str | None:
    """That the disk of the run directory is full, which a job cannot write into a log on the same disk."""
    try:
        found = os.statvfs(run_dir)
    except OSError:
        return None
    return "the disk of runs/ is full" if found.f_bavail * found.f_frsize < FULL_DISK_BYTES else None


def _log_tail(path: Path) -> bytes:
    try:
        descriptor = open_state(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as handle:
            handle.seek(max(os.fstat(handle.fileno()).st_size - LOG_TAIL_BYTES, 0))
            return handle.read(LOG_TAIL_BYTES)
    except (OSError, OverbrainerError):
        return b""


def _was_retrieved(context: RunContext, record: RunRecord) -> bool:
    """Whether the results of an ended run are all here, as far as its record and its directory tell."""
    run_dir = context.run_dir(record)
    if has_note(record.message) or not (run_dir / JOB_LOG).exists():
        return False
    return record.snapshot is None or (run_dir / record.snapshot.checkpoint).is_dir()
