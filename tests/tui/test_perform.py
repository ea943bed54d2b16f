"""How effects are carried out: failures are told, reads are dropped when the app is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from overbrainer_core.flows.session import open_session
from overbrainer_tui import perform, reads
from overbrainer_tui.bridge import Bridge
from overbrainer_tui.effects import (
    AttachRun,
    DetachRun,
    HistoryRead,
    InterruptStages,
    JobLogRead,
    Leave,
    MetricsRead,
    Outcome,
    PlanRefused,
    PlanTraining,
    Purpose,
    ReadHistory,
    ReadJobLog,
    ReadMetrics,
    ReadRuns,
    RunsRead,
    RunStages,
    RunTaskEnded,
    StagesEnded,
)
from overbrainer_tui.perform import Performer
from overbrainer_tui.view_models.snapshots import Cost
from tests.tui.states import write_project


class Told:
    """Outcomes and exit codes as they come."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.left: list[int] = []

    async def first(self, kind: type) -> Outcome:
        async with asyncio.timeout(10):
            while not any(isinstance(outcome, kind) for outcome in self.outcomes):
                await asyncio.sleep(0.005)
        return next(outcome for outcome in self.outcomes if isinstance(outcome, kind))


@asynccontextmanager
async def performing(root: Path) -> AsyncIterator[tuple[Performer, Told]]:
    told = Told()
    async with open_session(root, process_env={}, lock=False) as session, asyncio.TaskGroup() as group:
        bridge = Bridge(session, group, lambda *_: None, sleep=lambda _seconds: asyncio.sleep(0))
        yield Performer(session, group, bridge, tell=told.outcomes.append, leave=told.left.append), told


async def test_reads_bring_what_is_on_disk(tmp_path: Path) -> None:
    async with performing(write_project(tmp_path)) as (performer, told):
        for effect in (
            ReadRuns(ticket=4),
            ReadMetrics(run_id="r1", generation=2),
            ReadJobLog(run_id="r1", offset=0),
            ReadHistory(after_task=3),
        ):
            performer.perform(effect)
        assert await told.first(RunsRead) == RunsRead(ticket=4)
        assert await told.first(MetricsRead) == MetricsRead(run_id="r1", generation=2, data=None)
        assert await told.first(JobLogRead) == JobLogRead(run_id="r1", start=0, offset=0)
        assert await told.first(HistoryRead) == HistoryRead(after_task=3, total=Cost(usd=None))


async def test_a_read_that_fails_by_our_fault_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(reads.RunsReader, "read", fail)
    monkeypatch.setattr(reads, "read_cost", fail)
    async with performing(write_project(tmp_path)) as (performer, told):
        performer.perform(ReadRuns(ticket=1))
        performer.perform(ReadHistory(after_task=0))
        outcome = await told.first(RunsRead)
        assert isinstance(outcome, RunsRead)
        assert outcome.error is not None
        assert outcome.error.startswith("internal error: ZeroDivisionError")
        assert await told.first(HistoryRead) == HistoryRead(after_task=0, total=None)


async def test_a_follow_of_a_run_that_does_not_exist_ends_with_its_error(tmp_path: Path) -> None:
    async with performing(write_project(tmp_path)) as (performer, told):
        performer.perform(AttachRun(task=5, run_id="missing"))
        outcome = await told.first(RunTaskEnded)
        assert isinstance(outcome, RunTaskEnded)
        assert (outcome.task, outcome.is_detached) == (5, False)
        assert "missing" in (outcome.error or "")
        performer.perform(DetachRun(task=5))


async def test_a_plan_without_data_is_refused_with_its_ticket(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    (root / "data" / "train.jsonl").unlink()
    async with performing(root) as (performer, told):
        performer.perform(PlanTraining(ticket=9, purpose=Purpose.START))
        outcome = await told.first(PlanRefused)
        assert isinstance(outcome, PlanRefused)
        assert (outcome.ticket, outcome.purpose) == (9, Purpose.START)


async def test_an_interrupt_told_before_a_stage_began_still_reaches_it(tmp_path: Path) -> None:
    async with performing(write_project(tmp_path)) as (performer, told):
        performer.perform(RunStages(task=1, command="subtopics"))
        performer.perform(InterruptStages(task=1))
        outcome = await told.first(StagesEnded)
        assert outcome == StagesEnded(task=1, error="interrupted: the stage resumes on its next run")


async def test_a_fault_of_ours_in_a_stage_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(perform.Performer, "_stages", fail)
    async with performing(write_project(tmp_path)) as (performer, told):
        performer.perform(RunStages(task=1, command="split"))
        outcome = await told.first(StagesEnded)
        assert isinstance(outcome, StagesEnded)
        assert outcome.error is not None
        assert outcome.error.startswith("internal error: ZeroDivisionError: oops (test_perform.py:")


async def test_leaving_is_told_and_reads_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*_: object, is_dropped: Callable[[], bool], **__: object) -> None:
        loop.call_soon_threadsafe(started.set)
        while not is_dropped():
            pass

    monkeypatch.setattr(reads, "read_track", slow)
    async with performing(write_project(tmp_path)) as (performer, told):
        performer.perform(ReadMetrics(run_id="r1", generation=0))
        await started.wait()
        performer.perform(Leave(exit_code=3))
        performer.drop_reads()
    assert told.left == [3]
    assert told.outcomes == []
