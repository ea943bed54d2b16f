"""What is there to draw? Frozen values that views are given; no widget reads anything else.

Numbers stay numbers here: their text, width and colour are the views' business. None is "not known" and is drawn as
`-`, never as 0. Texts may come from models, logs or machines: they are data, never markup.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from overbrainer_core.values.sample import MachineSample
from overbrainer_core.values.stage import SplitReport, Stage, StageStats


class Level(StrEnum):
    """How much a message asks for; the value is its word."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Progress(StrEnum):
    """How a stage, a link of the chain or a phase stands."""

    ABSENT = "absent"
    """Not part of what ran: no glyph, no word."""
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It reached its end with failed items."""
    STOPPED = "stopped"
    """It ended early."""


class Cost(Struct, frozen=True, kw_only=True):
    """USD, `None` when nothing of it is known; `is_partial` when a part has no known price."""

    usd: float | None
    is_partial: bool = False


# Frame


class Tab(Struct, frozen=True, kw_only=True):
    """One view that exists: its digit, its name, whether it is shown and whether work runs in it."""

    key: str
    name: str
    is_selected: bool = False
    has_work: bool = False


class HeaderShown(Struct, frozen=True, kw_only=True):
    """The header: tabs in order, project name."""

    tabs: tuple[Tab, ...]
    project: str


class Hint(Struct, frozen=True, kw_only=True):
    """One key hint of the footer; refused ones are struck."""

    key: str
    label: str
    is_refused: bool = False


class Status(Struct, frozen=True, kw_only=True):
    """The latest status message."""

    level: Level
    text: str


class FooterShown(Struct, frozen=True, kw_only=True):
    """The footer; a status takes the place of the hints.

    `work` has a label for each piece of work running, in order: a spinner is drawn before the first when there is one.
    Cost and version are None while an overlay is open.
    """

    hints: tuple[Hint, ...] = ()
    status: Status | None = None
    work: tuple[str, ...] = ()
    is_locked: bool = False
    cost: Cost | None = None
    version: str | None = None
    newer_version: str | None = None


class EmptyKey(Struct, frozen=True, kw_only=True):
    """A key that an empty view names: what it does and what it needs (may be empty)."""

    key: str
    label: str
    needs: str = ""


class EmptyShown(Struct, frozen=True, kw_only=True):
    """What a view without content says: a bold sentence, a plain one, up to three keys."""

    title: str
    line: str = ""
    keys: tuple[EmptyKey, ...] = ()


class ErrorShown(Struct, frozen=True, kw_only=True):
    """What a view says when its content cannot be read: what failed, why, what is safe, the keys."""

    title: str
    reason: str = ""
    lines: tuple[str, ...] = ()
    keys: tuple[EmptyKey, ...] = ()


# Pipeline


class StageRow(Struct, frozen=True, kw_only=True):
    """One stage: counts are 0 until it started; `total` None before."""

    stage: Stage
    progress: Progress
    finished: int = 0
    total: int | None = None
    in_flight: int = 0
    retries: int = 0
    failed: int = 0

    @property
    def ratio(self) -> float:
        """The part that is finished, 0..1; a stage of 0 items counts as full."""
        if self.total is None:
            return 0.0
        return min(1.0, self.finished / self.total) if self.total else 1.0


class ChainLink(Struct, frozen=True, kw_only=True):
    """One link of auto mode: a stage or `train`; `progress` is PENDING, RUNNING, DONE or STOPPED."""

    name: str
    progress: Progress


class ItemError(Struct, frozen=True, kw_only=True):
    """A failed attempt of an item; `is_final` when the item failed for good, else it is tried again."""

    stage: Stage
    item: str
    text: str
    is_final: bool


class StageResult(Struct, frozen=True, kw_only=True):
    """What a stage reported at its end; `split` only for split; `summary` is the command line's own line."""

    stage: Stage
    progress: Progress
    stats: StageStats
    split: SplitReport | None = None
    summary: str = ""


class PipelineShown(Struct, frozen=True, kw_only=True):
    """The Pipeline view: `rows` are the four stages in order.

    `chain` is empty while no chain ran. `errors` are the newest five of `errors_total`, oldest first. `error` ended the
    task. `lost_events` were skipped by a slow screen; counts catch up when each stage ends. `empty` when nothing ran.
    """

    command: str | None
    rows: tuple[StageRow, ...]
    chain: tuple[ChainLink, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost: Cost | None = None
    errors: tuple[ItemError, ...] = ()
    errors_total: int = 0
    results: tuple[StageResult, ...] = ()
    error: str | None = None
    lost_events: int = 0
    empty: EmptyShown | None = None


# Training


class RunRow(Struct, frozen=True, kw_only=True):
    """One run of the table; `state` is the recorded word, `work` what the app does with it (`followed`, ...) or ''."""

    run_id: str
    state: str
    target: str
    work: str = ""
    is_followed: bool = False


class RunsShown(Struct, frozen=True, kw_only=True):
    """The runs table, newest first; `is_stale` when `runs/` could not be read again and the rows are older."""

    rows: tuple[RunRow, ...] = ()
    selected: int | None = None
    followed: int = 0
    is_stale: bool = False


class Points(Struct, frozen=True, kw_only=True):
    """A series: steps ascending, one value each, reduced to what a screen can show (ends and extremes are kept)."""

    steps: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


class RunSeries(Struct, frozen=True, kw_only=True):
    """The curves of a run; equal `revision`s of one run are equal curves.

    `best_eval` is the lowest evaluation loss as (step, value). `last_step` is the highest step of any log.
    """

    run_id: str
    revision: int
    loss: Points = Points()
    eval_loss: Points = Points()
    lr: Points = Points()
    grad_norm: Points = Points()
    max_steps: int | None = None
    last_step: int | None = None
    best_eval: tuple[int, float] | None = None


class CursorShown(Struct, frozen=True, kw_only=True):
    """The chart's cursor: a step of the curves and the values at it (None where a series has none there)."""

    step: int
    loss: float | None = None
    eval_loss: float | None = None
    lr: float | None = None
    grad_norm: float | None = None


class RailStep(Struct, frozen=True, kw_only=True):
    """A step of the phase rail: `setup`, `train`, `finalize`, `merge`, `retrieve`."""

    name: str
    progress: Progress


class PhaseShown(Struct, frozen=True, kw_only=True):
    """What a job does besides training steps: its whole text, and progress when it has one."""

    text: str
    short: str
    step: int | None = None
    total: int | None = None


class MessageRow(Struct, frozen=True, kw_only=True):
    """A line that a run's task reported; `level` ERROR for its final error."""

    time: datetime
    text: str
    level: Level = Level.INFO


class SelectedRun(Struct, frozen=True, kw_only=True):
    """The run under the cursor of the table.

    `activity` is `starting`, `cancelling`, `stopping`, `waiting` or '' and takes the place of the rail's running word.
    `percent` is at most 100. `phase` replaces the ETA while it is set. `has_eta` for a preparing or running run.
    `took_s` for a run that ended. Trends: -1 falling, 1 rising, 0 neither. `about` is what it was started with as
    (label, value), for where there is room. `facts` are the remaining ones as (label, value, is_warning): resumed from,
    snapshot, points missing, why it failed. `no_chart` says why there is no curve, '' when there is one.
    """

    run_id: str
    state: str
    target: str
    is_followed: bool
    activity: str = ""
    step: int | None = None
    max_steps: int | None = None
    percent: int | None = None
    progress: float | None = None
    has_eta: bool = False
    eta_s: float | None = None
    steps_per_s: float | None = None
    took_s: float | None = None
    phase: PhaseShown | None = None
    rail: tuple[RailStep, ...] = ()
    epoch: float | None = None
    epochs: float | None = None
    loss: float | None = None
    loss_trend: int = 0
    eval_loss: float | None = None
    eval_trend: int = 0
    lr: float | None = None
    grad_norm: float | None = None
    about: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str, bool], ...] = ()
    messages: tuple[MessageRow, ...] = ()
    series: RunSeries | None = None
    no_chart: str = ""
    is_fitted: bool = False
    cursor: CursorShown | None = None


class MachineShown(Struct, frozen=True, kw_only=True):
    """The samples of the selected run's machine, oldest first, 60 at most; `age_s` only when the last one is stale."""

    samples: tuple[MachineSample, ...] = ()
    is_followed: bool = False
    age_s: float | None = None


class TrainingShown(Struct, frozen=True, kw_only=True):
    """The Training view; with `empty` or `error` the table has no rows."""

    runs: RunsShown
    selected: SelectedRun | None = None
    machine: MachineShown = MachineShown()
    empty: EmptyShown | None = None
    error: ErrorShown | None = None


# Logs


class LogSource(StrEnum):
    """Whose lines the Logs view shows."""

    OWN = "own"
    JOB = "job"


class LogRow(Struct, frozen=True, kw_only=True):
    """One line; a line of a job's log has no time, level and area."""

    text: str
    time: datetime | None = None
    level: str = ""
    area: str = ""


class SearchShown(Struct, frozen=True, kw_only=True):
    """What is looked for in the log; `typed` is the line in which it is typed, with its cursor, while it is.

    `row` of the rows is the line looked at, the `at`-th of `total` that hold the text; 0 when none is looked at.
    """

    text: str
    typed: tuple[str, int] | None = None
    at: int = 0
    total: int = 0
    row: int | None = None


class LogsShown(Struct, frozen=True, kw_only=True):
    """The Logs view: `rows` end at the line at the bottom, at most as many as `log_rows` gives for the terminal.

    `level` is the lowest level shown, upper case (own lines only). `newer` lines are below. The lines are shifted left
    by `shift` cells. `note` stands in the place of the lines when there is none.
    """

    source: LogSource
    run_id: str | None = None
    level: str = "INFO"
    rows: tuple[LogRow, ...] = ()
    newer: int = 0
    is_pinned: bool = False
    shift: int = 0
    search: SearchShown | None = None
    note: str = ""


LARGE_ROWS = 28
"""From this height on a view keeps a blank row under the header and above the footer."""


def log_rows(height: int) -> int:
    """Rows of log lines on a terminal of that height: without header, footer, title and blank rows.

    A small terminal has one blank row, under the title; a large one has them above the title and below the lines.
    """
    return max(1, height - (5 if height >= LARGE_ROWS else 4))
