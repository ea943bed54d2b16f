"""Following a job to its end: order of events, failures, drain, results, record."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.events.types import JobStatus, Metric, RunWatched, System
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.runs.context import NoJobError, RunContext
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot, load_run, save_run
from overbrainer_core.runs.watch import WatchResult, watch_run
from overbrainer_core.values.job import Container, JobHandle, JobPhase, JobState

REMOTE = "/remote/a"
RUNNING = JobState(phase=JobPhase.RUNNING)
DONE = JobState(phase=JobPhase.EXITED, exit_code=0)
PROOF = b'{"checkpoint": "output/checkpoint-2", "step": 2, "reason": "requested"}'


@pytest.fixture
def record(context: RunContext) -> RunRecord:
    """A running run with its directory."""
    record = RunRecord(
        id="a",
        target="here",
        created=parse_rfc3339("2026-11-02T08:00:00Z"),
        remote_dir=REMOTE,
        job=JobHandle(directory=REMOTE, pid=4711),
        state=RunState.RUNNING,
        snapshots=True,
    )
    (context.paths.run("a") / "plugin").mkdir(parents=True)
    save_run(context.paths, record)
    return record


def log(step: int, **values: object) -> bytes:
    """A log line."""
    return (
        json.dumps({"event": "log", "time": step, "step": step, "loss": 1.5, "max_steps": 9, **values}).encode() + b"\n"
    )


def finished(target: Any, metrics: bytes = log(1), **files: bytes) -> None:
    """A target whose job is done."""
    target.states = [DONE]
    target.files |= {
        f"{REMOTE}/metrics.jsonl": metrics,
        f"{REMOTE}/job.log": b"bye\n",
        f"{REMOTE}/output/model.bin": b"weights",
        f"{REMOTE}/output/checkpoint-2/state": b"state",
    }
    target.files |= {f"{REMOTE}/{name}": content for name, content in files.items()}


def kinds(recorder: Any) -> list[str]:
    """The variants of the events, samples left out."""
    return [type(event).__name__ for event in recorder.events if not isinstance(event, System)]


async def test_a_success_publishes_in_order_and_brings_everything_back(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    stage = b'{"event":"stage","name":"train","time":1}\n'
    finished(target, stage + log(1) + log(2))
    target.states = [RUNNING, RUNNING, DONE]
    result = await watch_run(context, record)
    assert kinds(recorder) == ["RunWatched", "Mark", "Metric", "Metric", "JobStatus", "JobStatus"]
    assert {event.run_id for event in recorder.events} == {"a"}
    assert recorder.events[0] == RunWatched(run_id="a")
    assert recorder.events[-1] == JobStatus(run_id="a", state=DONE) or isinstance(recorder.events[-1], System)
    assert (result.record.state, result.record.message, result.is_retrieved) == (RunState.SUCCEEDED, None, True)
    assert result.record.ended == context.clock.now()
    assert load_run(context.paths, "a") == result.record
    run_dir = context.paths.run("a")
    assert (run_dir / "output" / "model.bin").read_bytes() == b"weights"
    assert (run_dir / "job.log").read_bytes() == b"bye\n"
    assert not (run_dir / "output" / "checkpoint-2").exists()
    assert result.summary.text() == "step 2/9, loss 1.5000"


async def test_a_job_that_had_ended_publishes_only_its_end(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    finished(target)
    await watch_run(context, record)
    assert [event for event in recorder.events if isinstance(event, JobStatus)] == [JobStatus(run_id="a", state=DONE)]


async def test_a_stopped_job_brings_its_checkpoint_back(context: RunContext, record: RunRecord, target: Any) -> None:
    finished(target, **{"snapshot.json": PROOF})
    result = await watch_run(context, record)
    assert result.record.state is RunState.STOPPED
    assert result.record.snapshot == Snapshot(checkpoint="output/checkpoint-2", step=2, reason="requested")
    run_dir = context.paths.run("a")
    assert (run_dir / "output" / "checkpoint-2" / "state").read_bytes() == b"state"
    assert (run_dir / "snapshot.json").read_bytes() == PROOF


async def test_a_cancelled_job_with_a_proof_is_stopped(context: RunContext, record: RunRecord, target: Any) -> None:
    finished(target, **{"snapshot.json": PROOF})
    target.states = [JobState(phase=JobPhase.CANCELLED)]
    assert (await watch_run(context, record)).record.state is RunState.STOPPED


async def test_a_failed_job_says_why_by_the_last_telling_line(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target)
    target.files[f"{REMOTE}/job.log"] = b"start\nValueError: eval dataset split is too small for sample_packing\nend\n"
    target.states = [JobState(phase=JobPhase.EXITED, exit_code=1)]
    result = await watch_run(context, record)
    assert result.record.state is RunState.FAILED
    assert result.record.message == (
        "the job exited with code 1 (see runs/a/job.log): "
        "ValueError: eval dataset split is too small for sample_packing"
    )


async def test_a_group_that_lives_on_is_named(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    finished(target)
    target.states = [JobState(phase=JobPhase.LOST, living_group=4711)]
    message = (await watch_run(context, record)).record.message
    assert message is not None
    assert "process group 4711 is still alive" in message
    again = replace(record, id="a")
    target.states = [replace(DONE, living_group=4711)]
    assert (await watch_run(context, again)).record.state is RunState.SUCCEEDED
    assert "process group 4711 is still alive" in warnings[0]


async def test_a_lost_job_of_a_container_tells_how_to_stop_what_may_go_on(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target)
    target.states = [JobState(phase=JobPhase.LOST)]
    container = Container(engine="docker", name="overbrainer-a")
    record = replace(record, job=JobHandle(directory=REMOTE, pid=4711, container=container))
    message = (await watch_run(context, record)).record.message
    assert message == (
        "the job stopped without an exit code (see runs/a/job.log): bye; "
        "its container may still run: `overbrainer train cancel a` stops it"
    )


async def test_a_success_without_a_plugin_line_failed(context: RunContext, record: RunRecord, target: Any) -> None:
    finished(target, b'{"event":"stage","name":"train","time":1}\n')
    message = (await watch_run(context, record)).record.message
    assert message == (
        "the job wrote no metrics: the overbrainer metrics plugin was not loaded (see runs/a/job.log): bye"
    )
    (context.paths.run("a") / "plugin").rmdir()
    message = (await watch_run(context, record)).record.message
    assert message == "the job wrote no metrics (see runs/a/job.log): bye"


async def test_a_success_without_output_failed_for_good(context: RunContext, record: RunRecord, target: Any) -> None:
    finished(target)
    del target.files[f"{REMOTE}/output/model.bin"]
    result = await watch_run(context, record)
    assert (result.record.state, result.is_retrieved) == (RunState.FAILED, True)
    assert result.record.message == "the job succeeded but left no output (see runs/a/job.log): bye"


async def test_a_snapshot_without_its_checkpoint_failed_for_good(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target, **{"snapshot.json": PROOF})
    del target.files[f"{REMOTE}/output/checkpoint-2/state"]
    result = await watch_run(context, record)
    assert (result.record.state, result.record.snapshot) == (RunState.FAILED, None)
    assert str(result.record.message).startswith(
        "the job stopped with a snapshot but left no file in output/checkpoint-2 (see runs/a/job.log)"
    )


async def test_an_invalid_proof_fails_a_success(context: RunContext, record: RunRecord, target: Any) -> None:
    finished(target, **{"snapshot.json": b"{"})
    message = (await watch_run(context, record)).record.message
    assert str(message).startswith("the job stopped with a snapshot, but snapshot.json is not valid (line 1, column 2)")


async def test_a_success_that_is_not_retrieved_stays_running(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target)
    target.fail["download"] = CommandError("download", "connection lost")
    with pytest.raises(CommandError):
        await watch_run(context, record)
    assert load_run(context.paths, "a") == record
    target.fail.clear()
    assert (await watch_run(context, load_run(context.paths, "a"))).record.state is RunState.SUCCEEDED


async def test_a_stray_local_file_keeps_failing_until_it_is_removed(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target)
    stray = context.paths.run("a") / "output" / "stray"
    stray.parent.mkdir()
    stray.write_text("mine")
    with pytest.raises(Exception, match='"output/stray" is not on the target'):
        await watch_run(context, record)
    assert stray.exists()
    stray.unlink()
    assert (await watch_run(context, record)).record.state is RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (JobState(phase=JobPhase.CANCELLED), "artifacts not retrieved: download failed: connection lost"),
        (
            JobState(phase=JobPhase.EXITED, exit_code=3),
            "the job exited with code 3 (see runs/a/job.log) "
            "(artifacts not retrieved: download failed: connection lost)",
        ),
    ],
)
async def test_a_failed_run_that_is_not_retrieved_ends_with_a_note(
    context: RunContext, record: RunRecord, target: Any, state: JobState, message: str
) -> None:
    finished(target)
    target.states = [state]
    target.fail["download"] = CommandError("download", "connection lost")
    result = await watch_run(context, record)
    assert (result.record.message, result.is_retrieved) == (message, False)


async def test_failed_looks_are_forgiven_five_times_in_a_row(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    finished(target)
    failure = CommandError("status", "timed out")
    target.fail["status"] = [*[failure] * 5, None, *[failure] * 5]
    target.states = [RUNNING, DONE]
    assert (await watch_run(context, record)).record.state is RunState.SUCCEEDED
    assert warnings[:2] == [
        "cannot reach the job (1/5): status failed: timed out",
        "cannot reach the job (2/5): status failed: timed out",
    ]
    assert len(warnings) == 10


async def test_the_sixth_failed_look_ends_the_watch_and_leaves_the_record(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    target.fail["status"] = CommandError("status", "timed out")
    with pytest.raises(CommandError):
        await watch_run(context, record)
    assert len(warnings) == 5
    assert load_run(context.paths, "a") == record


async def test_the_drain_spends_what_the_loop_left_of_the_budget(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    finished(target)
    failure = CommandError("read", "timed out")

    def break_reads(count: int) -> None:
        target.fail["read metrics.jsonl"] = [failure] * 5

    target.on_status = break_reads
    assert (await watch_run(context, record)).record.state is RunState.SUCCEEDED
    assert len(warnings) == 5


async def test_a_file_larger_than_one_read_is_drained_completely(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    lines = b"".join(log(step) for step in range(1, 30_001))
    assert len(lines) > 2 * (1 << 20)
    finished(target, lines + b'{"event":"log","time":1,"step":99')
    result = await watch_run(context, record)
    metrics = [event.metric.step for event in recorder.events if isinstance(event, Metric)]
    assert metrics == list(range(1, 30_001))
    assert result.summary.step == 30_000


async def test_other_tasks_get_turns_while_a_long_past_is_published(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target, b"".join(log(step) for step in range(1, 20_001)))
    seen: list[int] = []
    subscription = context.bus.subscribe()

    async def read() -> None:
        seen.extend([event.metric.step async for event in subscription if isinstance(event, Metric)])

    reader = asyncio.create_task(read())
    await watch_run(context, record)
    context.bus.close()
    await reader
    assert seen == list(range(1, 20_001))


async def test_c099_malformed_lines_are_warned_counted_and_passed_over(
    context: RunContext, record: RunRecord, target: Any, caplog: pytest.LogCaptureFixture
) -> None:
    finished(target, log(1) + b"61%| secret words\n" + log(2) + b"[]\n" * 30)
    with caplog.at_level(logging.WARNING, "overbrainer"):
        result = await watch_run(context, record)
    assert (result.summary.step, result.summary.malformed) == (2, 31)
    assert caplog.messages[0] == "skipping a malformed metrics line: not a JSON object"
    assert caplog.messages[-1] == "skipped 11 more malformed metrics line(s)"
    assert len(caplog.messages) == 21
    assert "secret" not in caplog.text


async def test_c094_a_loss_of_zero_from_the_start_succeeds_with_a_warning(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    finished(target, log(1, loss=0.0, grad_norm=None) + log(2, loss=0.0, grad_norm=None))
    result = await watch_run(context, record)
    assert result.record.state is RunState.SUCCEEDED
    assert result.summary.text() == "step 2/9, loss 0.0000"
    assert "is 0 from its first step" in warnings[0]


async def test_the_machine_is_sampled_and_a_bad_sample_changes_nothing(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    finished(target)
    target.states = [*[RUNNING] * 12, DONE]
    target.fail["probe"] = [None, CommandError("probe", "no shell"), None]
    result = await watch_run(context, record)
    assert result.record.state is RunState.SUCCEEDED
    samples = [event for event in recorder.events if isinstance(event, System)]
    assert samples
    assert samples[0].sample.cpu is not None


async def test_a_hung_sample_and_a_hung_look_for_a_request_do_not_hold_the_follow(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    finished(target)

    async def hang(*arguments: object) -> bytes:
        await asyncio.sleep(3600)
        return b""

    read = target.read_from

    async def read_from(path: str, offset: int, limit: int) -> bytes:
        if path.endswith("snapshot.request"):
            return await hang()
        return bytes(await read(path, offset, limit))

    target.probe = hang
    target.read_from = read_from
    result = await asyncio.wait_for(watch_run(context, record), 5)
    assert result.record.state is RunState.SUCCEEDED


async def test_an_ended_run_is_summed_up_without_its_target(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    run_dir = context.paths.run("a")
    (run_dir / "metrics.jsonl").write_bytes(log(7))
    ended = replace(record, state=RunState.SUCCEEDED)
    result = await watch_run(context, ended)
    assert (result.summary.text(), result.is_retrieved) == ("step 7/9, loss 1.5000", False)
    (run_dir / "job.log").write_text("")
    assert (await watch_run(context, ended)).is_retrieved
    noted = replace(ended, message="x (artifacts not retrieved: y)")
    assert not (await watch_run(context, noted)).is_retrieved
    snapshot = Snapshot(checkpoint="output/checkpoint-2", step=2, reason="cost")
    stopped = replace(ended, state=RunState.STOPPED, snapshot=snapshot)
    assert not (await watch_run(context, stopped)).is_retrieved
    (run_dir / "output" / "checkpoint-2").mkdir(parents=True)
    assert (await watch_run(context, stopped)).is_retrieved
    assert target.calls == []
    assert recorder.events == []


async def test_a_run_without_a_job_cannot_be_watched(context: RunContext, record: RunRecord) -> None:
    with pytest.raises(NoJobError, match="run a has no job: it stopped before the job started"):
        await watch_run(context, replace(record, job=None, state=RunState.PREPARING))


async def test_a_cancelled_watch_leaves_job_and_record(context: RunContext, record: RunRecord, target: Any) -> None:
    watch: asyncio.Task[WatchResult] = asyncio.create_task(watch_run(context, record))
    await asyncio.sleep(0.02)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch
    assert load_run(context.paths, "a") == record
    assert "cancel" not in target.calls


async def test_polls_grow_while_nothing_comes_and_restart_with_a_line(
    context: RunContext, record: RunRecord, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(target, b"")
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    def write(count: int) -> None:
        if count == 5:
            target.files[f"{REMOTE}/metrics.jsonl"] = log(1)

    target.on_status = write
    target.states = [*[RUNNING] * 8, DONE]
    monkeypatch.setattr("overbrainer_core.runs.watch.asyncio.sleep", note)
    await watch_run(
        replace(context, timing=replace(context.timing, sample_interval_s=77.0)), replace(record, snapshots=False)
    )
    polls = [seconds for seconds in waits if seconds not in (0, 77.0)]
    first, top = context.timing.poll_first_s, context.timing.poll_max_s
    assert polls[0] == first
    assert polls[4] == top
    assert polls[5] == first
    assert max(polls) == top


async def test_a_local_job_that_only_writes_lines_is_seldom_asked_and_its_end_is_seen_at_once(
    context: RunContext, record: RunRecord, target: Any, recorder: Any, tmp_path: Path
) -> None:
    directory = tmp_path / "job"
    directory.mkdir()
    metrics = directory / "metrics.jsonl"
    metrics.write_bytes(b"")
    timing = replace(context.timing, poll_first_s=0.002, local_watch_s=0.001, poll_max_s=60)
    context = replace(context, is_local=True, timing=timing)
    job = JobHandle(directory=str(directory), pid=4711)
    record = replace(record, remote_dir=str(directory), job=job)
    target.states = [RUNNING]
    asked: list[int] = []
    status = target.status

    async def counted(job: JobHandle) -> JobState:
        asked.append(len(recorder.events))
        found: JobState = await status(job)
        return found

    async def write() -> None:
        for step in range(1, 6):
            content = metrics.read_bytes() + log(step)
            target.files[f"{directory}/metrics.jsonl"] = content
            metrics.write_bytes(content)
            while not any(isinstance(event, Metric) and event.metric.step == step for event in recorder.events):
                await asyncio.sleep(0.001)
        target.states = [DONE]
        target.files[f"{directory}/output/model.bin"] = b"weights"
        target.files[f"{directory}/job.log"] = b""
        (directory / "exit_code").write_text("0\n")

    target.status = counted
    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        result = await watch_run(context, record)
    assert result.record.state is RunState.SUCCEEDED
    assert len(asked) == 2


async def test_a_job_that_writes_faster_than_it_is_read_shows_its_state_and_can_end(
    context: RunContext, record: RunRecord, target: Any, recorder: Any
) -> None:
    finished(target, log(1))
    line = log(2)
    real, spared = target.read_from, 0

    async def flooded(path: str, offset: int, limit: int) -> bytes:
        nonlocal spared
        if not path.endswith("/metrics.jsonl") or spared > 200:
            return bytes(await real(path, offset, limit))
        spared += 1
        await asyncio.sleep(0)
        target.files[f"{REMOTE}/metrics.jsonl"] += line
        return bytes(await real(path, offset, limit))

    target.read_from = flooded
    target.states = [RUNNING, RUNNING, DONE]
    await watch_run(context, record)
    first_state = kinds(recorder).index("JobStatus")
    assert kinds(recorder)[first_state:].count("Metric") > 100
    assert kinds(recorder).count("Metric") == 202
