"""Progress lines: tenths, folded retries, pace, one training line in ten seconds, the latest of each look."""

from __future__ import annotations

import asyncio
import logging

import pytest

from overbrainer_core.events.types import (
    ItemDone,
    ItemFailed,
    JobStatus,
    Mark,
    Metric,
    StageFinished,
    StageStarted,
)
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.cli.progress import Progress, metric_line, ticking
from tests.conftest import FakeClock

ANSWERS = Stage.ANSWERS


@pytest.fixture(autouse=True)
def every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="overbrainer")


@pytest.fixture
def progress(fake_clock: FakeClock) -> Progress:
    return Progress(fake_clock.monotonic)


def done(number: int, *, worked: bool = True) -> ItemDone:
    """A finished item."""
    usage = Usage(input_tokens=1, output_tokens=1) if worked else None
    return ItemDone(stage=ANSWERS, id=str(number), usage=usage, cost=0.001 if worked else None)


def retry(number: int) -> ItemFailed:
    """An attempt that will be made again."""
    return ItemFailed(stage=ANSWERS, id=f"q{number}", error="HTTP 429: slow; retrying in 1.0s", retryable=True)


def test_a_stage_tells_its_start_every_tenth_and_its_end(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=40))
    for number in range(40):
        progress.on_event(done(number))
    progress.on_event(StageFinished(stage=ANSWERS, stats=StageStats(done=40)))
    assert caplog.messages == [
        "answers: 40 to process",
        *[f"answers: {count}/40" for count in range(4, 41, 4)],
        "answers: finished",
    ]


def test_a_short_stage_tells_every_item_and_an_empty_one_no_fraction(
    progress: Progress, caplog: pytest.LogCaptureFixture
) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=3))
    for number in range(4):
        progress.on_event(done(number))
    progress.on_event(StageFinished(stage=ANSWERS, stats=StageStats()))
    progress.on_event(StageStarted(stage=Stage.SPLIT, total=0))
    progress.on_event(StageFinished(stage=Stage.SPLIT, stats=StageStats()))
    fractions = [line for line in caplog.messages if "/" in line]
    assert fractions[:3] == ["answers: 1/3", "answers: 2/3", "answers: 3/3"]
    assert not any("4/3" in line for line in caplog.messages)
    assert caplog.messages[-2:] == ["split: 0 to process", "split: finished"]


def test_retries_that_follow_each_other_are_one_line_that_counts_them(
    progress: Progress, fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=100))
    for number in range(50):
        progress.on_event(retry(number))
    fake_clock.advance(2.5)
    progress.tick()
    warnings = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [
        "answers: q0: HTTP 429: slow; retrying in 1.0s",
        "answers: retrying 49 requests; newest: q49: HTTP 429: slow; retrying in 1.0s",
    ]


def test_no_retry_is_kept_back_when_the_stage_ends(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=100))
    progress.on_event(retry(1))
    progress.on_event(retry(2))
    progress.on_close()
    assert caplog.messages[-1] == "answers: q2: HTTP 429: slow; retrying in 1.0s"


def test_a_final_failure_is_an_error_and_counted(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=1))
    progress.on_event(ItemFailed(stage=ANSWERS, id="q1", error="HTTP 400: no", retryable=False))
    assert caplog.records[1].levelno == logging.ERROR
    assert caplog.messages[1:] == ["answers: q1 failed: HTTP 400: no", "answers: 1/1"]


def test_a_long_stage_tells_its_rate_time_left_and_cost(
    progress: Progress, fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=1000))
    for number in range(50):
        progress.on_event(done(number))
    fake_clock.advance(25)
    progress.tick()
    assert caplog.messages[-1] == "answers: 50/1000, 2.0/s, about 7m55s left, $0.0500 so far"
    progress.tick()
    assert caplog.messages.count(caplog.messages[-1]) == 1


def test_items_found_on_disk_do_not_count_in_the_rate(
    progress: Progress, fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    progress.on_event(StageStarted(stage=ANSWERS, total=1000))
    for number in range(50):
        progress.on_event(done(number, worked=False))
    fake_clock.advance(11)
    progress.tick()
    assert caplog.messages[-1] == "answers: 50/1000"


def metric(step: int, **values: float) -> Metric:
    """A log line of a run."""
    return Metric(run_id="r", metric=TrainMetric(time=float(step), step=step, max_steps=100, **values))


def status(phase: JobPhase, code: int | None = None) -> JobStatus:
    """A job's state."""
    return JobStatus(run_id="r", state=JobState(phase=phase, exit_code=code))


def test_the_past_of_a_run_is_one_line_of_each_kind(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    for step in range(1, 61):
        progress.on_event(metric(step, loss=1.0 / step))
        progress.on_event(metric(step, eval_loss=2.0 / step))
    progress.on_event(status(JobPhase.RUNNING))
    assert caplog.messages == [
        "train: job running",
        "train: step 60/100 (60%), loss 0.0167",
        "train: step 60/100 (60%), eval_loss 0.0333",
    ]


async def test_one_training_line_in_ten_seconds_and_every_evaluation(
    progress: Progress, fake_clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    progress.on_event(status(JobPhase.RUNNING))
    for step in range(1, 5):
        progress.on_event(metric(step, loss=1.0))
        await asyncio.sleep(0.06)
    assert [line for line in caplog.messages if "step" in line] == ["train: step 1/100 (1%), loss 1.0000"]
    progress.on_event(metric(5, eval_loss=0.5))
    await asyncio.sleep(0.06)
    assert caplog.messages[-1] == "train: step 5/100 (5%), eval_loss 0.5000"
    fake_clock.advance(10)
    progress.on_event(metric(6, loss=0.9))
    await asyncio.sleep(0.06)
    assert caplog.messages[-1] == "train: step 6/100 (6%), loss 0.9000"


async def test_phases_and_the_end_of_the_job_are_told(progress: Progress, caplog: pytest.LogCaptureFixture) -> None:
    progress.on_event(status(JobPhase.RUNNING))
    progress.on_event(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.EVAL, time=1.0, step=1, total=100)))
    await asyncio.sleep(0.06)
    progress.on_event(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.EVAL, time=1.0, step=30, total=100)))
    await asyncio.sleep(0.06)
    progress.on_event(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.STAGE, time=2.0, name="merge")))
    await asyncio.sleep(0.06)
    progress.on_event(status(JobPhase.EXITED, 0))
    assert caplog.messages == [
        "train: job running",
        "train: evaluating 1/100",
        "train: evaluating 30/100",
        "train: merging adapter",
        "train: job exited with code 0",
        "train: retrieving results",
    ]


def test_a_metric_line_leaves_out_what_is_absent() -> None:
    full = TrainMetric(time=1.0, step=12, epoch=0.5, max_steps=40, loss=1.23456, learning_rate=2e-4, grad_norm=0.812)
    assert metric_line(full) == "step 12/40 (30%), epoch 0.50, loss 1.2346, lr 2.00e-4, grad_norm 0.8120"
    assert metric_line(TrainMetric(time=1.0, step=3)) == "step 3"
    assert metric_line(TrainMetric(time=1.0, step=50, max_steps=40)) == "step 50/40 (100%)"


async def test_ticking_ends_with_its_block(progress: Progress) -> None:
    async with ticking(progress):
        await asyncio.sleep(0)
    async with ticking(None):
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1
