"""A run whose start was killed is found again, or its end is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.errors import TargetError
from overbrainer_core.executors.errors import CommandError, SshError
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState, load_run, save_run
from overbrainer_core.runs.settle import find_job, needs_settling, settle_run
from overbrainer_core.runs.start import create_run
from overbrainer_core.values.job import Container, JobHandle, JobPhase, JobState

REMOTE = "/remote/a"


@pytest.fixture
def cut(context: RunContext, target: Any) -> RunRecord:
    """A run that was being started when its process was killed."""
    record = RunRecord(id="a", target="here", created=parse_rfc3339("2026-11-02T08:00:00Z"), remote_dir=REMOTE)
    context.paths.run("a").mkdir(parents=True)
    save_run(context.paths, record)
    target.files[f"{REMOTE}/axolotl.yaml"] = b"x: 1\n"
    return record


async def test_a_job_that_nobody_recorded_is_found_by_the_process_id_it_wrote(
    context: RunContext, target: Any, cut: RunRecord, warnings: list[str]
) -> None:
    target.files[f"{REMOTE}/job.pid"] = b"4321\n"
    container = Container(engine="docker", name="overbrainer-a")
    found = await find_job(context, cut, container=container)
    assert found.job == JobHandle(directory=REMOTE, pid=4321, container=container)
    assert (found.state, found.snapshots) == (RunState.RUNNING, True)
    assert load_run(context.paths, "a") == found
    assert warnings == ["the start of run a was cut short; its job was found again (process 4321)"]
    assert not needs_settling(found)


async def test_a_job_that_was_cancelled_before_it_was_recorded_is_cancelled(
    context: RunContext, target: Any, cut: RunRecord, warnings: list[str]
) -> None:
    target.files[f"{REMOTE}/job.pid"] = b"4321\n"
    target.states = [JobState(phase=JobPhase.CANCELLED)]
    found = await settle_run(context, cut, container=None)
    assert (found.state, found.ended) == (RunState.CANCELLED, context.now())
    assert load_run(context.paths, "a") == found
    assert warnings == []


async def test_a_job_that_has_only_just_been_started_is_waited_for(
    context: RunContext, target: Any, cut: RunRecord
) -> None:
    target.files[f"{REMOTE}/job.log"] = b""
    looks = 0
    real = target.read_from

    async def read_from(path: str, offset: int, limit: int) -> bytes:
        nonlocal looks
        looks += 1
        if looks == 3:
            target.files[f"{REMOTE}/job.pid"] = b"4321\n"
        return bytes(await real(path, offset, limit))

    target.read_from = read_from
    found = await settle_run(context, cut, container=None)
    assert found.job is not None
    assert found.job.pid == 4321


@pytest.mark.parametrize("content", [b"", b"0\n", b"1\n", b"-5\n", b"abc\n", b"99999999999999999999\n"])
async def test_what_is_no_process_id_is_no_job(
    context: RunContext, target: Any, cut: RunRecord, content: bytes
) -> None:
    target.files[f"{REMOTE}/job.pid"] = content
    assert await find_job(context, cut, container=None) == cut


async def test_a_run_whose_job_never_started_is_recorded_as_failed(context: RunContext, cut: RunRecord) -> None:
    settled = await settle_run(context, cut, container=None)
    assert settled.state is RunState.FAILED
    assert settled.message == "run a has no job: it stopped before the job started"
    assert settled.ended == context.now()
    assert load_run(context.paths, "a") == settled


async def test_a_directory_that_is_gone_holds_no_job(context: RunContext, target: Any, cut: RunRecord) -> None:
    target.fail["manifest"] = CommandError("manifest", "gone")
    assert (await settle_run(context, cut, container=None)).state is RunState.FAILED


async def test_a_target_out_of_reach_changes_nothing(context: RunContext, target: Any, cut: RunRecord) -> None:
    target.fail["read job.pid"] = SshError()
    with pytest.raises(TargetError):
        await settle_run(context, cut, container=None)
    assert load_run(context.paths, "a") == cut


async def test_a_start_of_this_very_process_is_left_alone(context: RunContext) -> None:
    record = await create_run(context, project_name="demo", target="here")
    assert not needs_settling(record)
    assert await settle_run(context, record, container=None) == record
