"""What may the state ask for, and what is it told about it later?

Effects are imperatives that `perform.py` carries out with the core; outcomes are past facts that come back. Both are
plain values. A task's number joins an effect, its events and its outcomes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from overbrainer_core.runs.record import RunRecord
from overbrainer_core.values.stage import SplitReport, Stage
from overbrainer_tui.view_models.run_track import TrackData, TrainedWith
from overbrainer_tui.view_models.snapshots import Cost, Level
from overbrainer_tui.view_models.spending import CostFacts


class Purpose(StrEnum):
    """What a plan of a training run is made for."""

    START = "start"
    RESUME = "resume"
    CHAIN = "chain"
    """The last link of auto mode: it starts without a further question."""


# Effects


class RunStages(Struct, frozen=True, kw_only=True):
    """Run one stage, or all four with the command `run`."""

    task: int
    command: str


class InterruptStages(Struct, frozen=True, kw_only=True):
    """Interrupt the pipeline task: what it finished is kept."""

    task: int


class PlanTraining(Struct, frozen=True, kw_only=True):
    """Make the plan of a run; `ticket` tells a late plan from the one waited for."""

    ticket: int
    purpose: Purpose
    resume_from: str | None = None


class StartTraining(Struct, frozen=True, kw_only=True):
    """Start the planned run and follow it."""

    task: int
    plan: Any


class AttachRun(Struct, frozen=True, kw_only=True):
    """Follow a run."""

    task: int
    run_id: str


class StopRun(Struct, frozen=True, kw_only=True):
    """Ask for a snapshot of a run, then follow it to its end."""

    task: int
    run_id: str


class CancelRun(Struct, frozen=True, kw_only=True):
    """Cancel a run's job."""

    task: int
    run_id: str


class DetachRun(Struct, frozen=True, kw_only=True):
    """Stop following a run: its job goes on."""

    task: int


class ReadRuns(Struct, frozen=True, kw_only=True):
    """List the runs."""

    ticket: int


class ReadMetrics(Struct, frozen=True, kw_only=True):
    """Read the local metrics file of a run."""

    run_id: str
    generation: int


class ReadRunFiles(Struct, frozen=True, kw_only=True):
    """Read what a run was started with, from its own settings and data."""

    run_id: str


class ReadJobLog(Struct, frozen=True, kw_only=True):
    """Read what was added to a run's `job.log` since the offset."""

    run_id: str
    offset: int


class ReadHistory(Struct, frozen=True, kw_only=True):
    """Read what the project has spent; `after_task` is the pipeline task that ended last."""

    after_task: int


class ReloadSettings(Struct, frozen=True, kw_only=True):
    """Read `overbrainer.toml` and `.env` again when they changed."""


class WatchSettings(Struct, frozen=True, kw_only=True):
    """Follow the edits of `overbrainer.toml` and `.env` until the app is left."""


class EstimateCost(Struct, frozen=True, kw_only=True):
    """Estimate what a stage costs, or all of them; `ticket` tells the opening of a question from a later one."""

    ticket: int
    name: str


class ExportLogs(Struct, frozen=True, kw_only=True):
    """Write lines to a new file in `.overbrainer/`."""

    name: str
    lines: tuple[str, ...]


class KeepTheme(Struct, frozen=True, kw_only=True):
    """Keep the theme in the user's configuration."""

    theme: str


class OpenRepository(Struct, frozen=True, kw_only=True):
    """Open the repository's address in a browser."""

    url: str


class Leave(Struct, frozen=True, kw_only=True):
    """Leave the app."""

    exit_code: int


Effect = (
    RunStages
    | InterruptStages
    | PlanTraining
    | StartTraining
    | AttachRun
    | StopRun
    | CancelRun
    | DetachRun
    | ReadRuns
    | ReadMetrics
    | ReadRunFiles
    | ReadJobLog
    | ReadHistory
    | ReloadSettings
    | WatchSettings
    | EstimateCost
    | ExportLogs
    | KeepTheme
    | OpenRepository
    | Leave
)


# Outcomes


class StageReported(Struct, frozen=True, kw_only=True):
    """A stage of a pipeline task ended: its summary line, and what a split wrote."""

    task: int
    stage: Stage
    summary: str
    split: SplitReport | None = None


class StagesEnded(Struct, frozen=True, kw_only=True):
    """A pipeline task ended, by `error` unless None."""

    task: int
    error: str | None = None


class TrainingPlanned(Struct, frozen=True, kw_only=True):
    """A plan is ready: `plan` is the core's, `facts` what a dialog tells of it."""

    ticket: int
    purpose: Purpose
    plan: Any
    facts: PlanFacts


class PlanFacts(Struct, frozen=True, kw_only=True):
    """What a start dialog tells: no host, no key.

    `model` holds base model, adapter, epochs and learning rate; `resume` the stopped run, its step and its checkpoint.
    """

    target: str
    kind: str
    model: str
    settings: str
    train_examples: int | None = None
    eval_examples: int | None = None
    warnings: tuple[str, ...] = ()
    resume: tuple[str, int, str] | None = None


class PlanRefused(Struct, frozen=True, kw_only=True):
    """No run can be started."""

    ticket: int
    purpose: Purpose
    reason: str


class RunReported(Struct, frozen=True, kw_only=True):
    """A run's task reported a line."""

    task: int
    level: Level
    text: str


class RunTaskEnded(Struct, frozen=True, kw_only=True):
    """A run's task ended: `record` as it is then, `error` unless it went well, `is_detached` when the run goes on."""

    task: int
    record: RunRecord | None = None
    error: str | None = None
    is_detached: bool = False


class RunsRead(Struct, frozen=True, kw_only=True):
    """The runs were listed, oldest first; or they could not be."""

    ticket: int
    records: tuple[RunRecord, ...] = ()
    error: str | None = None


class MetricsRead(Struct, frozen=True, kw_only=True):
    """A metrics file was read; None when there is none."""

    run_id: str
    generation: int
    data: TrackData | None


class RunFilesRead(Struct, frozen=True, kw_only=True):
    """What a run was started with; None when its files are not there, or cannot be read."""

    run_id: str
    trained_with: TrainedWith | None


class JobLogRead(Struct, frozen=True, kw_only=True):
    """Whole lines of a `job.log`, read from `start` up to `offset`; `note` when it cannot be read."""

    run_id: str
    start: int
    offset: int
    lines: tuple[str, ...] = ()
    note: str = ""


class HistoryRead(Struct, frozen=True, kw_only=True):
    """What the history adds up to; None when it cannot be read."""

    after_task: int
    total: Cost | None


class SettingsRead(Struct, frozen=True, kw_only=True):
    """The settings were read again: these are in force, or they are unusable and the ones before stay."""

    facts: ProjectFacts | None = None
    error: str | None = None


class ProjectFacts(Struct, frozen=True, kw_only=True):
    """What the app shows of the settings; `is_played` when every model is the demo's."""

    name: str
    concurrency: int
    is_played: bool = False
    target: str | None = None
    kind: str = ""
    model: str = ""
    settings: str = ""
    epochs: int | None = None
    merge: bool = False


class CostEstimated(Struct, frozen=True, kw_only=True):
    """What a stage, or all of them, are expected to cost."""

    ticket: int
    name: str
    facts: CostFacts


class LogsExported(Struct, frozen=True, kw_only=True):
    """A log export ended."""

    name: str
    count: int
    error: str | None = None


class ThemeKept(Struct, frozen=True, kw_only=True):
    """The theme is kept, or could not be: then it holds until the app ends."""

    theme: str
    error: str | None = None


class BrowserFailed(Struct, frozen=True, kw_only=True):
    """No browser could be started, or it said that it failed."""

    url: str


Outcome = (
    StageReported
    | StagesEnded
    | TrainingPlanned
    | PlanRefused
    | RunReported
    | RunTaskEnded
    | RunsRead
    | MetricsRead
    | RunFilesRead
    | JobLogRead
    | HistoryRead
    | SettingsRead
    | CostEstimated
    | LogsExported
    | ThemeKept
    | BrowserFailed
)
