"""Snapshot requests and the limits that follow them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.errors import RunError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runs.stop import check_stoppable, hold_to_request, request_snapshot
from overbrainer_core.values.job import JobHandle, JobPhase, JobState

REMOTE = "/remote/a"
PROOF = b'{"checkpoint": "output/checkpoint-2", "step": 2}'
RECORD = RunRecord(
    id="a",
    target="here",
    created=parse_rfc3339("2026-11-02T08:00:00Z"),
    remote_dir=REMOTE,
    job=JobHandle(directory=REMOTE, pid=4711),
    state=RunState.RUNNING,
    snapshots=True,
)


def test_a_running_run_can_be_stopped() -> None:
    check_stoppable(RECORD)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": RunState.SUCCEEDED}, "run a already ended: succeeded"),
        ({"job": None}, "run a has not started: there is no job to snapshot yet"),
        ({"state": RunState.PREPARING}, "run a has not started: there is no job to snapshot yet"),
        ({"snapshots": False}, "comes from before 0.5.0 and cannot save a snapshot"),
    ],
)
def test_what_cannot_save_a_snapshot_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError, match=message):
        check_stoppable(replace(RECORD, **changes))


def test_an_old_job_is_sent_to_cancel() -> None:
    with pytest.raises(RunError, match="overbrainer train cancel a"):
        check_stoppable(replace(RECORD, snapshots=False))


async def test_a_request_is_one_word_without_a_line_end(context: RunContext, target: Any) -> None:
    await request_snapshot(context, RECORD)
    assert target.files[f"{REMOTE}/snapshot.request"] == b"requested"
    await request_snapshot(context, RECORD, reason="cost")
    assert target.files[f"{REMOTE}/snapshot.request"] == b"cost"


async def test_a_run_that_is_not_running_gets_no_request(context: RunContext, target: Any) -> None:
    with pytest.raises(RunError, match=r"run a is not running \(failed\): there is nothing to snapshot"):
        await request_snapshot(context, replace(RECORD, state=RunState.FAILED))
    assert target.files == {}


async def test_c090_a_job_without_a_proof_is_cancelled_after_the_first_limit(
    context: RunContext, target: Any, warnings: list[str]
) -> None:
    context = replace(context, timing=replace(context.timing, proof_limit_s=0.01))
    await hold_to_request(context, RECORD, asked=True)
    assert target.calls.count("cancel") == 1
    assert warnings == ["no snapshot 0 min after it was asked for: the job was cancelled"]


async def test_a_job_with_a_proof_is_cancelled_only_after_the_second_limit(
    context: RunContext, target: Any, warnings: list[str]
) -> None:
    target.files[f"{REMOTE}/snapshot.json"] = PROOF
    await hold_to_request(context, RECORD, asked=True)
    assert target.calls == ["read snapshot.json", "status", "status", "cancel"]
    assert warnings == ["the job saved its snapshot but did not end: it was cancelled"]


async def test_an_ended_job_is_left_alone(context: RunContext, target: Any, warnings: list[str]) -> None:
    target.states = [JobState(phase=JobPhase.EXITED, exit_code=0)]
    await hold_to_request(context, RECORD, asked=True)
    assert "cancel" not in target.calls
    assert warnings == []


async def test_a_failed_look_or_cancel_is_only_a_warning(context: RunContext, target: Any, warnings: list[str]) -> None:
    target.fail["cancel"] = CommandError("cancel", "no")
    await hold_to_request(context, RECORD, asked=True)
    target.files[f"{REMOTE}/snapshot.json"] = PROOF
    await hold_to_request(context, RECORD, asked=True)
    assert warnings == [
        "cannot cancel a job that gave no snapshot: cancel failed: no",
        "cannot cancel a job that did not end: cancel failed: no",
    ]


async def test_a_request_of_somebody_else_starts_the_limits_once_it_is_seen(
    context: RunContext, target: Any, warnings: list[str]
) -> None:
    target.fail["read snapshot.request"] = [CommandError("read", "timed out"), None, None]

    def request(offset: int) -> None:
        target.files[f"{REMOTE}/snapshot.request"] = b"x"

    read = target.read_from
    looks = 0

    async def read_from(path: str, offset: int, limit: int) -> bytes:
        nonlocal looks
        if path.endswith("snapshot.request"):
            assert limit == 1
            looks += 1
            if looks == 3:
                request(offset)
        return bytes(await read(path, offset, limit))

    target.read_from = read_from
    await hold_to_request(context, RECORD, asked=False)
    assert looks == 3
    assert target.calls.count("cancel") == 1
    assert len(warnings) == 1
