"""Cancelling a run and what is left of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.errors import RunError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.files import FileAccessError
from overbrainer_core.runs.cancel import cancel_job, cancel_only, check_cancellable
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState, UnrecordedEndError, load_run, save_run
from overbrainer_core.values.job import JobHandle, JobPhase, JobState

REMOTE = "/remote/a"


@pytest.fixture
def record(context: RunContext, target: Any) -> RunRecord:
    """A running run, on disk and on its target."""
    record = RunRecord(
        id="a",
        target="here",
        created=parse_rfc3339("2026-11-02T08:00:00Z"),
        remote_dir=REMOTE,
        job=JobHandle(directory=REMOTE, pid=4711),
        state=RunState.RUNNING,
        snapshots=True,
    )
    context.paths.run("a").mkdir(parents=True)
    save_run(context.paths, record)
    target.files[f"{REMOTE}/job.log"] = b"bye\n"
    return record


async def test_a_cancel_records_and_retrieves(context: RunContext, record: RunRecord) -> None:
    result = await cancel_job(context, record)
    assert result.job.phase is JobPhase.CANCELLED
    assert (result.record.state, result.record.message) == (RunState.CANCELLED, None)
    assert load_run(context.paths, "a") == result.record
    assert (context.paths.run("a") / "job.log").read_bytes() == b"bye\n"


async def test_a_job_that_had_ended_keeps_its_record(context: RunContext, record: RunRecord, target: Any) -> None:
    target.states = [JobState(phase=JobPhase.EXITED, exit_code=0)]
    result = await cancel_job(context, record)
    assert (result.record, result.job.words()) == (record, "exited with code 0")
    assert load_run(context.paths, "a") == record


async def test_what_is_not_retrieved_is_noted(context: RunContext, record: RunRecord, target: Any) -> None:
    target.fail["manifest"] = CommandError("manifest", "gone")
    result = await cancel_job(context, record)
    assert result.record.message == "artifacts not retrieved: manifest failed: gone"
    assert load_run(context.paths, "a") == result.record


async def test_a_note_that_cannot_be_saved_does_not_fail_the_cancel(
    context: RunContext, record: RunRecord, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.fail["manifest"] = CommandError("manifest", "gone")
    saves = 0
    replace_file = os.replace

    def refuse_second(source: Any, destination: Any) -> None:
        nonlocal saves
        saves += 1
        if saves == 2:
            raise OSError(28, "No space left on device")
        replace_file(source, destination)

    monkeypatch.setattr(os, "replace", refuse_second)
    result = await cancel_job(context, record)
    assert result.record.state is RunState.CANCELLED
    assert load_run(context.paths, "a").message is None


async def test_c092_a_job_that_survives_is_an_error_and_keeps_its_record(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    target.fail["cancel"] = CommandError("cancel", "process group 4711 is still present after SIGKILL")
    with pytest.raises(CommandError, match="still present"):
        await cancel_job(context, record)
    assert load_run(context.paths, "a") == record


async def test_c088_a_failed_run_whose_container_lives_becomes_cancelled(
    context: RunContext, record: RunRecord
) -> None:
    failed = replace(record, state=RunState.FAILED, message="lost")
    check_cancellable(failed)
    assert (await cancel_job(context, failed)).record.state is RunState.CANCELLED


def test_a_cancelled_run_and_one_without_a_job_are_refused(record: RunRecord) -> None:
    with pytest.raises(RunError, match="run a already ended: cancelled"):
        check_cancellable(replace(record, state=RunState.CANCELLED))
    with pytest.raises(RunError, match="run a has not started"):
        check_cancellable(replace(record, job=None))


async def test_beside_another_process_nothing_is_written_here(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    assert (await cancel_only(context, record)).phase is JobPhase.CANCELLED
    assert load_run(context.paths, "a") == record
    assert [entry.name for entry in context.paths.run("a").iterdir()] == ["run.json"]
    assert "manifest" not in target.calls


async def test_beside_another_process_the_end_must_be_proved_in_time(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    async def nothing(job: JobHandle) -> None:
        """Leave the job running."""

    target.cancel = nothing
    with pytest.raises(RunError, match="still runs"):
        await cancel_only(context, record)


async def test_a_cancel_that_cannot_be_recorded_says_that_the_job_was_ended(
    context: RunContext, record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise FileAccessError("runs/a/run.json") from OSError(28, "No space left on device")

    monkeypatch.setattr("overbrainer_core.runs.context.save_run", full)
    with pytest.raises(UnrecordedEndError) as caught:
        await cancel_job(context, record)
    assert str(caught.value) == (
        "run a cancelled; its end cannot be recorded: cannot access runs/a/run.json: No space left on device"
    )
