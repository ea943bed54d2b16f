"""How do the stages stand? Folds the events of one pipeline task after the other into rows, errors and results.

One task runs at a time; it owns the rows it touches. Running one stage keeps the finished rows of the others, `run`
starts all of them afresh. `finished` never passes `total`; a retried item counts once and leaves the count when it is
settled or the task ends. The chain of auto mode is kept here too: it is the row under the stages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from overbrainer_core.events.types import (
    Event,
    ItemDone,
    ItemFailed,
    LimitChanged,
    StageFinished,
    StageStarted,
)
from overbrainer_core.values.stage import SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.view_models.snapshots import (
    ChainLink,
    Cost,
    EmptyKey,
    EmptyShown,
    ItemError,
    PipelineShown,
    Progress,
    StageResult,
    StageRow,
)

ERRORS_KEPT = 5
"""Item failures shown: the newest."""

RUN = "run"
"""The command that runs every stage."""

TRAIN = "train"
"""The last link of a chain."""


def short_id(text: str) -> str:
    """An item's ID in at most nine characters: `51aa…0c3e`."""
    return text if len(text) <= 9 else f"{text[:4]}…{text[-4:]}"


@dataclass(slots=True)
class _Row:
    """What is known of one stage."""

    stage: Stage
    progress: Progress = Progress.ABSENT
    finished: int = 0
    total: int | None = None
    failed: int = 0
    retried: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    has_unpriced: bool = False
    at_once: int | None = None

    def settle(self, item: str) -> None:
        """An item is done or failed for good."""
        self.retried.discard(item)
        self.finished += 1
        if self.total is not None:
            self.finished = min(self.finished, self.total)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Add an item's tokens and cost."""
        self.usage = self.usage + usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        elif usage.input_tokens or usage.output_tokens:
            self.has_unpriced = True

    def take_totals(self, stats: StageStats) -> None:
        """The stage's own totals replace what its items added up to."""
        self.usage = stats.usage
        self.cost = stats.cost
        self.has_unpriced = stats.cost is None and bool(stats.usage.input_tokens or stats.usage.output_tokens)
        self.failed = stats.failed


class PipelineModel:
    """The Pipeline view's state; `concurrency` is the setting in force when the task started."""

    def __init__(self) -> None:
        self._rows = {stage: _Row(stage) for stage in Stage}
        self._results: dict[Stage, StageResult] = {}
        self._reports: dict[Stage, tuple[str, SplitReport | None]] = {}
        self._errors: deque[ItemError] = deque(maxlen=ERRORS_KEPT)
        self._errors_total = 0
        self._concurrency = 1
        self._error: str | None = None
        self._lost = 0
        self.task: int | None = None
        self._started: set[Stage] = set()
        self.command: str | None = None
        self.is_running = False
        self.chain: tuple[ChainLink, ...] = ()

    # A task

    def start(self, task: int, command: str, *, concurrency: int, later: Sequence[Stage] = ()) -> None:
        """A task begins: `command` is a stage's name or `run`; a chain will run the `later` stages after it."""
        if command == RUN:
            self.begin_afresh()
            later = tuple(Stage)
        for stage in later:
            self._rows[stage] = _Row(stage, Progress.PENDING)
        self.task = task
        self.command = command
        self.is_running = True
        self._concurrency = max(1, concurrency)
        self._errors.clear()
        self._errors_total = 0
        self._error = None
        self._lost = 0
        self._started.clear()

    def begin_afresh(self) -> None:
        """Every row is as if nothing had run: before `run` and before a chain."""
        self._rows = {stage: _Row(stage) for stage in Stage}
        self._results.clear()
        self._reports.clear()

    def apply(self, task: int, event: Event) -> None:
        """Fold an event; those of another task are ignored, late ones of the last task still count."""
        if task != self.task:
            return
        match event:
            case StageStarted():
                self._rows[event.stage] = _Row(
                    event.stage, Progress.RUNNING if self.is_running else Progress.STOPPED, total=event.total
                )
                self._results.pop(event.stage, None)
                self._started.add(event.stage)
            case ItemDone():
                row = self._row(event.stage)
                row.settle(event.id)
                if event.usage is not None:
                    row.spend(event.usage, event.cost)
            case ItemFailed():
                self._fail(event)
            case LimitChanged():
                self._row(event.stage).at_once = event.at_once
            case StageFinished():
                self._finish_stage(event)
            case _:
                pass

    def _row(self, stage: Stage) -> _Row:
        """The stage's row, which runs now: its start may have been lost by a slow screen."""
        row = self._rows[stage]
        if stage not in self._started:
            row = self._rows[stage] = _Row(stage, Progress.RUNNING if self.is_running else Progress.STOPPED)
            self._started.add(stage)
        return row

    def _fail(self, event: ItemFailed) -> None:
        row = self._row(event.stage)
        if event.retryable:
            row.retried.add(event.id)
        else:
            row.settle(event.id)
            row.failed += 1
        self._errors_total += 1
        self._errors.append(
            ItemError(stage=event.stage, item=short_id(event.id), text=event.error, is_final=not event.retryable)
        )

    def _finish_stage(self, event: StageFinished) -> None:
        row = self._row(event.stage)
        row.progress = Progress.FAILED if event.stats.failed else Progress.DONE
        row.retried.clear()
        row.take_totals(event.stats)
        settled = event.stats.done + event.stats.skipped + event.stats.failed + event.stats.excluded
        if row.total is None:
            row.total = settled
        row.finished = min(row.total, max(row.finished, settled))
        self._results[event.stage] = StageResult(stage=event.stage, progress=row.progress, stats=event.stats)

    def lose(self, task: int, count: int) -> None:
        """The screen was too slow for `count` events."""
        if task == self.task:
            self._lost += count

    def catch_up(self, task: int, stage: Stage, finished: int) -> None:
        """Items of the stage finished so far, counted where nothing is lost."""
        if task != self.task:
            return
        row = self._row(stage)
        row.finished = max(row.finished, finished if row.total is None else min(finished, row.total))

    def report(self, task: int, stage: Stage, *, summary: str, split: SplitReport | None) -> None:
        """The stage's line for the results, and what a split wrote; its end may be folded only later."""
        if task == self.task:
            before = self._reports.get(stage)
            self._reports[stage] = (summary, split or (before[1] if before is not None else None))

    def _result(self, result: StageResult) -> StageResult:
        summary, split = self._reports.get(result.stage, ("", None))
        return replace(result, summary=summary, split=split)

    def end(self, task: int, error: str | None = None) -> None:
        """The task ended, by `error` unless None: nothing is in flight or retried any more."""
        if task != self.task:
            return
        self.is_running = False
        self._error = error
        for row in self._rows.values():
            row.retried.clear()
            if row.progress is Progress.RUNNING:
                row.progress = Progress.STOPPED
            elif row.progress is Progress.PENDING:
                row.progress = Progress.ABSENT

    # Figures

    @property
    def running_stage(self) -> Stage | None:
        """The stage that runs now."""
        return next((row.stage for row in self._rows.values() if row.progress is Progress.RUNNING), None)

    def progress_of(self, stage: Stage) -> tuple[int, int | None]:
        """(finished, total) of a stage."""
        row = self._rows[stage]
        return row.finished, row.total

    def in_flight(self, stage: Stage) -> int:
        """Requests of the stage in flight, as its concurrency and what is left allow."""
        row = self._rows[stage]
        if row.progress is not Progress.RUNNING or not self.is_running or stage is Stage.SPLIT:
            return 0
        limit = 1 if stage is Stage.SUBTOPICS else min(self._concurrency, row.at_once or self._concurrency)
        return limit if row.total is None else min(limit, row.total - row.finished)

    @property
    def work_label(self) -> str | None:
        """`answers 214/320`, the command before its first stage starts, None when nothing runs."""
        if not self.is_running:
            return None
        stage = self.running_stage
        if stage is None:
            return self.command
        finished, total = self.progress_of(stage)
        return f"{stage.value} {finished}/{total if total is not None else '-'}"

    @property
    def task_cost(self) -> Cost:
        """What the stages of the last task cost so far."""
        return self._spent(self._started)

    @property
    def running_cost(self) -> Cost | None:
        """What the running task cost so far, None when none runs."""
        return self.task_cost if self.is_running else None

    def _spent(self, stages: Iterable[Stage]) -> Cost:
        known: float | None = None
        is_partial = False
        for row in (self._rows[stage] for stage in stages):
            if row.cost is not None:
                known = (known or 0.0) + row.cost
            is_partial = is_partial or row.has_unpriced
        return Cost(usd=known, is_partial=is_partial)

    # Drawing

    def snapshot(self) -> PipelineShown:
        """What the view draws."""
        has_tokens = any(row.usage.input_tokens or row.usage.output_tokens for row in self._rows.values())
        spent = self._spent(Stage)
        return PipelineShown(
            command=self.command,
            rows=tuple(self._shown(row) for row in self._rows.values()),
            chain=self.chain,
            tokens_in=sum(row.usage.input_tokens for row in self._rows.values()),
            tokens_out=sum(row.usage.output_tokens for row in self._rows.values()),
            cost=spent if has_tokens or spent.usd is not None else None,
            errors=tuple(self._errors),
            errors_total=self._errors_total,
            results=tuple(self._result(self._results[stage]) for stage in Stage if stage in self._results),
            error=self._error,
            lost_events=self._lost,
            empty=_EMPTY if self.command is None and not self.chain else None,
        )

    def _shown(self, row: _Row) -> StageRow:
        return StageRow(
            stage=row.stage,
            progress=row.progress,
            finished=row.finished,
            total=row.total,
            in_flight=self.in_flight(row.stage),
            retries=len(row.retried),
            failed=row.failed,
        )


_EMPTY = EmptyShown(
    title="Nothing ran yet in this window",
    line="What is on disk is kept: r runs a stage, which resumes where it was.",
    keys=(
        EmptyKey(key="r", label="run a stage", needs="asks which"),
        EmptyKey(key="A", label="run all of it, then train", needs="asks first"),
    ),
)
