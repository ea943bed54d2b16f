"""Which progress lines does a command write to standard error while events arrive?

An observer, so that no event is missed and the last line stands before the command's result. Stages tell their
start, every tenth, retries (those that follow each other folded into one line that counts them), failures, and
every ten seconds their rate, time left and cost. Runs tell the job's state, phases, a training line every ten
seconds and every evaluation; of one look at a run only the latest line of a kind.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from overbrainer_core.aio.beside import beside
from overbrainer_core.events.types import (
    Event,
    ItemDone,
    ItemFailed,
    JobStatus,
    Mark,
    Metric,
    StageFinished,
    StageStarted,
)
from overbrainer_core.training.phases import PhaseKind, PhaseTracker
from overbrainer_core.values.job import JobPhase
from overbrainer_core.values.metric import TrainMetric
from overbrainer_core.values.usage import add_costs

PACE_S = 10.0
"""Seconds between two lines about the pace of a stage, or about training steps."""

FOLD_S = 2.0
"""Seconds for which retries of a stage are counted before the next line tells them."""

_log = logging.getLogger("overbrainer.cli")


@dataclass(slots=True)
class _StageProgress:
    name: str
    total: int
    started: float
    last_line: float
    finished: int = 0
    worked: int = 0
    next_tenth: int = 1
    cost: float | None = None
    retries: int = 0
    retry_told: float = float("-inf")
    newest_retry: str = ""
    failed_ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _RunProgress:
    tracker: PhaseTracker = field(default_factory=PhaseTracker)
    is_live: bool = False
    phase: str = "training"
    tenth: int = -1
    last_step_line: float = float("-inf")
    pending_train: TrainMetric | None = None
    pending_eval: TrainMetric | None = None


class Progress:
    """Turns the events of one command into log lines."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._stage: _StageProgress | None = None
        self._run = _RunProgress()
        self._flush_due = False

    def on_event(self, event: Event) -> None:
        """Take one event."""
        match event:
            case StageStarted() | ItemDone() | ItemFailed() | StageFinished():
                self._on_stage_event(event)
            case Metric(metric=metric):
                self._run.tracker.apply(metric)
                if metric.eval_loss is not None:
                    self._run.pending_eval = metric
                elif metric.loss is not None:
                    self._run.pending_train = metric
                self._schedule()
            case Mark(mark=mark):
                self._run.tracker.apply(mark)
                self._schedule()
            case JobStatus(state=state):
                self._on_job_status(state.words(), has_ended=state.phase is not JobPhase.RUNNING)
            case _:
                pass

    def on_close(self) -> None:
        """The command's bus closed: tell what is still held back."""
        self._flush_run()
        self._tell_retries()
        self._stage = None

    def tick(self) -> None:
        """Called every second: lines that are due because time passed."""
        now = self._monotonic()
        stage = self._stage
        if stage is None:
            return
        if stage.retries and now - stage.retry_told >= FOLD_S:
            self._tell_retries()
        if now - stage.last_line >= PACE_S and stage.finished < stage.total:
            self._tell_pace(stage, now)

    def _on_stage_event(self, event: StageStarted | ItemDone | ItemFailed | StageFinished) -> None:
        match event:
            case StageStarted(stage=name, total=total):
                now = self._monotonic()
                self._stage = _StageProgress(name=name, total=total, started=now, last_line=now)
                _log.info("%s: %d to process", name, total)
            case ItemDone(stage=name, id=item, usage=usage, cost=cost):
                _log.debug("%s: %s done", name, item)
                if self._stage is not None:
                    self._stage.cost = add_costs(self._stage.cost, cost)
                    self._stage.worked += usage is not None
                self._count()
            case ItemFailed(stage=name, id=item, error=error, retryable=True):
                self._on_retry(f"{name}: {item}: {error}")
            case ItemFailed(stage=name, id=item, error=error):
                _log.error("%s: %s failed: %s", name, item, error)
                self._count()
            case StageFinished(stage=name):
                self._tell_retries()
                self._stage = None
                _log.info("%s: finished", name)

    def _count(self) -> None:
        stage = self._stage
        if stage is None:
            return
        stage.finished = min(stage.finished + 1, stage.total)
        if stage.finished * 10 >= stage.next_tenth * stage.total:
            stage.next_tenth = stage.finished * 10 // stage.total + 1
            stage.last_line = self._monotonic()
            _log.info("%s: %d/%d", stage.name, stage.finished, stage.total)

    def _on_retry(self, line: str) -> None:
        stage = self._stage
        if stage is None or self._monotonic() - stage.retry_told >= PACE_S:
            if stage is not None:
                self._tell_retries()
                stage.retry_told = self._monotonic()
            _log.warning("%s", line)
            return
        stage.retries += 1
        stage.newest_retry = line

    def _tell_retries(self) -> None:
        stage = self._stage
        if stage is None or not stage.retries:
            return
        if stage.retries == 1:
            _log.warning("%s", stage.newest_retry)
        else:
            newest = stage.newest_retry.removeprefix(f"{stage.name}: ")
            _log.warning("%s: retrying %d requests; newest: %s", stage.name, stage.retries, newest)
        stage.retries = 0
        stage.retry_told = self._monotonic()

    def _tell_pace(self, stage: _StageProgress, now: float) -> None:
        stage.last_line = now
        elapsed = now - stage.started
        parts = [f"{stage.name}: {stage.finished}/{stage.total}"]
        if stage.worked and elapsed > 0:
            rate = stage.worked / elapsed
            parts.append(f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min")
            parts.append(f"about {_duration((stage.total - stage.finished) / rate)} left")
        if stage.cost is not None:
            parts.append(f"${stage.cost:.4f} so far")
        _log.info("%s", ", ".join(parts))

    def _schedule(self) -> None:
        if self._flush_due or not self._run.is_live:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._flush_run()
            return
        self._flush_due = True
        loop.call_later(0.05, self._flush_run)

    def _on_job_status(self, words: str, *, has_ended: bool) -> None:
        if has_ended:
            self._flush_run()
        _log.info("train: job %s", words)
        if has_ended:
            _log.info("train: retrieving results")
        if not self._run.is_live:
            self._run.is_live = True
            self._flush_run()

    def _flush_run(self) -> None:
        self._flush_due = False
        run = self._run
        if not run.is_live:
            return
        self._tell_phase(run)
        now = self._monotonic()
        evaluated, run.pending_eval = run.pending_eval, None
        if run.pending_train is not None and now - run.last_step_line >= PACE_S:
            _log.info("train: %s", metric_line(run.pending_train))
            run.last_step_line = now
            run.pending_train = None
        if evaluated is not None:
            _log.info("train: %s", metric_line(evaluated))
            run.last_step_line = now

    def _tell_phase(self, run: _RunProgress) -> None:
        phase = run.tracker.phase()
        tenth = phase.step * 10 // phase.total if phase.step and phase.total else -1
        key = phase.kind.value
        if key == run.phase and tenth <= run.tenth:
            return
        changed = key != run.phase
        run.phase, run.tenth = key, tenth
        if key == PhaseKind.TRAINING:
            return  # the evaluation's own line says that training goes on
        if changed or tenth > 0:
            _log.info("train: %s", phase.text)


def metric_line(metric: TrainMetric) -> str:
    """A metric as progress lines tell it, absent values left out."""
    if metric.max_steps:
        percent = min(metric.step * 100 // metric.max_steps, 100)
        parts = [f"step {metric.step}/{metric.max_steps} ({percent}%)"]
    else:
        parts = [f"step {metric.step}"]
    if metric.epoch is not None:
        parts.append(f"epoch {metric.epoch:.2f}")
    if metric.loss is not None:
        parts.append(f"loss {metric.loss:.4f}")
    if metric.eval_loss is not None:
        parts.append(f"eval_loss {metric.eval_loss:.4f}")
    if metric.learning_rate is not None:
        parts.append(f"lr {_scientific(metric.learning_rate)}")
    if metric.grad_norm is not None:
        parts.append(f"grad_norm {metric.grad_norm:.4f}")
    return ", ".join(parts)


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


@contextlib.asynccontextmanager
async def ticking(progress: Progress | None) -> AsyncIterator[None]:
    """Call `tick` every second while the block runs."""
    if progress is None:
        yield
        return

    async def tick() -> None:
        while True:
            await asyncio.sleep(1.0)
            progress.tick()

    async with beside(tick()):
        yield
