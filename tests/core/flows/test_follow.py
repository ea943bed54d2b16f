"""Following, stopping and cancelling a run from later processes, beside a holder too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.config.settings import SshTarget
from overbrainer_core.errors import ConfigError, InterruptedByUser, JobError, RunError
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.follow import (
    FollowError,
    attach_run,
    cancel_beside,
    cancel_run,
    request_stop_beside,
    stop_run,
)
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session, open_session
from overbrainer_core.flows.train import plan_start, start_run
from overbrainer_core.runs.context import NoJobError
from overbrainer_core.runs.record import RunRecord, RunState, load_run, save_run
from overbrainer_core.runs.store import list_runs
from overbrainer_core.runs.timing import RunTiming
from tests.peers.sshd import free_port
from tests.peers.trainers import project_environment, set_mode, write_project

FAST = RunTiming(poll_first_s=0.01, poll_max_s=0.05, local_watch_s=0.01, failures_allowed=2, foreign_request_s=0.05)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with the stand-in of axolotl, which waits for a snapshot request."""
    directory = tmp_path / "project"
    directory.mkdir()
    write_project(directory)
    set_mode(directory, "wait")
    return directory


@pytest.fixture
async def session(root: Path) -> AsyncIterator[Session]:
    async with open_session(root, process_env=project_environment(), timing=FAST) as opened:
        yield opened


@pytest.fixture
async def run(session: Session) -> AsyncIterator[RunRecord]:
    """A running run that nobody follows; its job is ended with the test."""
    interrupt = Interrupt()
    plan = await plan_start(session)
    following = asyncio.create_task(
        start_run(session, plan, bus=EventBus(), report=CollectedReport(), interrupt=interrupt)
    )
    while not list(session.paths.root.glob("runs/*/metrics.jsonl")):
        await asyncio.sleep(0.01)
    interrupt.trigger("detach")
    with pytest.raises(InterruptedByUser):
        await following
    (record,) = list_runs(session.paths)
    yield record
    record = load_run(session.paths, record.id)
    if record.state is RunState.RUNNING:
        await cancel_run(session, record.id, bus=EventBus(), report=CollectedReport())


async def test_stop_asks_follows_and_tells_how_to_resume(session: Session, run: RunRecord) -> None:
    report = CollectedReport()
    record = await stop_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert record.state is RunState.STOPPED
    assert report.results == [
        f"train: snapshot of run {run.id} requested: its job saves a checkpoint at the end of its current step, "
        "then stops",
        f"train: run {run.id} stopped; step 1/3, epoch 0.50, loss 1.5000",
        f"train: run {run.id} stopped at step 1 (requested): snapshot in runs/{run.id}/output/checkpoint-1; "
        f"resume with `overbrainer train --resume-from {run.id}`",
        f"train: runs/{run.id}/output also holds the partial model at step 1, not a finished one",
    ]


async def test_attach_can_be_given_up_and_taken_up_again(session: Session, run: RunRecord, root: Path) -> None:
    interrupt = Interrupt()
    following = asyncio.create_task(
        attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=interrupt)
    )
    await asyncio.sleep(0.05)
    interrupt.trigger("detach")
    with pytest.raises(InterruptedByUser, match="keeps running on target `here`"):
        await following
    assert load_run(session.paths, run.id) == run
    (root / "runs" / run.id / "snapshot.request").write_text("cost")
    record = await attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    assert record.snapshot is not None
    assert record.snapshot.reason == "cost"


async def test_cancel_ends_the_job_and_a_second_one_is_refused(session: Session, run: RunRecord) -> None:
    report = CollectedReport()
    record = await cancel_run(session, run.id, bus=EventBus(), report=report)
    assert record.state is RunState.CANCELLED
    assert report.results == [f"train: run {run.id} cancelled"]
    with pytest.raises(RunError, match=f"run {run.id} already ended: cancelled"):
        await cancel_run(session, run.id, bus=EventBus(), report=report)
    with pytest.raises(JobError, match=f"^run {run.id} was cancelled$"):
        await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())


async def test_a_cancel_after_the_jobs_own_end_says_so(session: Session, run: RunRecord, root: Path) -> None:
    (root / "runs" / run.id / "snapshot.request").write_text("requested")
    while not (root / "runs" / run.id / "exit_code").exists():
        await asyncio.sleep(0.01)
    report = CollectedReport()
    await cancel_run(session, run.id, bus=EventBus(), report=report)
    assert report.results == [
        f"train: the job of run {run.id} had already ended (exited with code 0): "
        f"collect it with `overbrainer train attach {run.id}`"
    ]
    assert load_run(session.paths, run.id).state is RunState.RUNNING
    record = await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert record.state is RunState.STOPPED
    again = CollectedReport()
    await cancel_run(session, run.id, bus=EventBus(), report=again)
    assert again.notes == [f"train: run {run.id} already ended: stopped; stopping any job left on the target"]
    assert load_run(session.paths, run.id) == record


async def test_beside_a_holder_a_stop_only_asks(session: Session, run: RunRecord, root: Path) -> None:
    async with open_session(root, process_env=project_environment(), timing=FAST, lock=False) as other:
        report = CollectedReport()
        await request_stop_beside(other, run.id, holder=4711, report=report)
    assert report.results[1] == (
        f"train: overbrainer (pid 4711) is using this project: if it follows run {run.id}, it collects the snapshot; "
        f"if not, collect it with `overbrainer train attach {run.id}`"
    )
    assert (root / "runs" / run.id / "snapshot.request").read_text() == "requested"
    assert load_run(session.paths, run.id) == run
    record = await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert record.state is RunState.STOPPED


async def test_beside_a_holder_a_cancel_ends_the_job_and_the_holder_records_it(
    session: Session, run: RunRecord, root: Path
) -> None:
    following = asyncio.create_task(
        attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    )
    async with open_session(root, process_env=project_environment(), timing=FAST, lock=False) as other:
        report = CollectedReport()
        await cancel_beside(other, run.id, holder=None, report=report)
    assert report.results == [f"train: run {run.id} cancelled"]
    assert report.notes == [
        f"train: another overbrainer is using this project: if it follows run {run.id}, it records the end; "
        f"if not, collect it with `overbrainer train attach {run.id}`"
    ]
    with pytest.raises(JobError, match="was cancelled"):
        await following
    assert load_run(session.paths, run.id).state is RunState.CANCELLED


async def test_an_ended_run_is_summed_up_although_its_target_is_out_of_reach(session: Session, run: RunRecord) -> None:
    await cancel_run(session, run.id, bus=EventBus(), report=CollectedReport())
    unreachable = SshTarget(name="here", runtime="native", host=f"ssh://nobody@127.0.0.1:{free_port()}")
    session.settings = replace(session.settings, targets={"here": unreachable})
    report = CollectedReport()
    with pytest.raises(JobError, match=f"^run {run.id} was cancelled$"):
        await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert report.results[0].startswith(f"train: run {run.id} cancelled; step 1/3")
    interrupt = Interrupt()
    interrupt.trigger()
    with pytest.raises(InterruptedByUser, match=f"^interrupted: run {run.id} already ended: cancelled$"):
        await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=interrupt)


async def test_an_interrupt_while_the_target_is_reached_leaves_the_run_alone(session: Session, run: RunRecord) -> None:
    interrupt = Interrupt()
    interrupt.trigger()
    with pytest.raises(InterruptedByUser, match=f"^interrupted: run {run.id} keeps running on target `here`; follow"):
        await attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=interrupt)
    assert load_run(session.paths, run.id) == run


async def test_a_run_whose_target_is_gone_from_the_settings_is_refused(session: Session, run: RunRecord) -> None:
    save_run(session.paths, replace(run, target="gone"))
    with pytest.raises(ConfigError, match=f"^target `gone` of run {run.id} is no longer in overbrainer.toml$"):
        await attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    save_run(session.paths, run)


async def test_without_training_settings_attach_and_cancel_are_refused(session: Session, run: RunRecord) -> None:
    settings = session.settings
    session.settings = replace(settings, training=None)
    with pytest.raises(ConfigError, match=r"^no \[training\] section"):
        await attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    with pytest.raises(
        ConfigError, match=r"^cancel needs \[training\] to retrieve the run's artifacts: no \[training\]"
    ):
        await cancel_run(session, run.id, bus=EventBus(), report=CollectedReport())
    session.settings = settings


async def test_a_run_without_a_job_can_only_be_told_about(session: Session, run: RunRecord) -> None:
    other = replace(run, id="early_1", job=None, state=RunState.PREPARING, snapshots=False)
    session.paths.run("early_1").mkdir()
    save_run(session.paths, other)
    report = CollectedReport()
    with pytest.raises(RunError, match="run early_1 has not started: there is no job to snapshot yet"):
        await stop_run(session, "early_1", bus=EventBus(), report=report, interrupt=Interrupt())
    with pytest.raises(RunError, match="run early_1 has not started"):
        await cancel_run(session, "early_1", bus=EventBus(), report=report)
    assert load_run(session.paths, "early_1").state is RunState.PREPARING
    with pytest.raises(NoJobError):
        await attach_run(session, "early_1", bus=EventBus(), report=report, interrupt=Interrupt())
    assert load_run(session.paths, "early_1").state is RunState.FAILED
    interrupt = Interrupt()
    interrupt.trigger()
    with pytest.raises(InterruptedByUser, match=r"^interrupted: run early_1 has no job$"):
        await attach_run(session, "early_1", bus=EventBus(), report=report, interrupt=interrupt)
    assert report.results == []


async def test_a_follow_that_gives_up_says_how_to_follow_again(
    session: Session, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = run.job
    assert job is not None
    report = CollectedReport()
    metrics = session.paths.run(run.id) / "metrics.jsonl"
    kept = metrics.read_bytes()
    metrics.unlink()
    metrics.mkdir()
    with pytest.raises(FollowError) as error:
        await attach_run(session, run.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert str(error.value).endswith(f"; follow it again with `overbrainer train attach {run.id}`")
    assert len(report.warnings) == 2
    assert report.warnings[0].startswith("cannot reach the job (1/2): cannot access ")
    metrics.rmdir()
    metrics.write_bytes(kept)
    assert load_run(session.paths, run.id) == run


async def test_collecting_again_removes_the_note(session: Session, run: RunRecord, root: Path) -> None:
    await cancel_run(session, run.id, bus=EventBus(), report=CollectedReport())
    cancelled = load_run(session.paths, run.id)
    save_run(session.paths, replace(cancelled, message="artifacts not retrieved: x"))
    with pytest.raises(JobError):
        await attach_run(session, run.id, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    assert load_run(session.paths, run.id).message is None
