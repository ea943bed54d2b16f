"""What may the state ask for, and what is it told about it later?

Effects are imperatives that `perform.py` carries out with the core; outcomes are past facts that come back. Both are
plain values. A task's number joins an effect, its events and its outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from overbrainer_core.runs.record import RunRecord
from overbrainer_core.values.stage import SplitReport, Stage
from overbrainer_tui.view_models.run_track import TrackData, TrainedWith
from overbrainer_tui.view_models.snapshots import Cost, Level


class Purpose(StrEnum):
    """What a plan of a training run is made for."""

    START = "start"
    RESUME = "resume"
    CHAIN = "chain"
    """The last link of auto mode: it starts without a further question."""


# Effects


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStages:
    """Run one stage, or all four with the command `run`."""

    task: int
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptStages:
    """Interrupt the pipeline task: what it finished is kept."""

    task: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTraining:
    """Make the plan of a run; `ticket` tells a late plan from the one waited for."""

    ticket: int
    purpose: Purpose
    resume_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTraining:
    """Start the planned run and follow it."""

    task: int
    plan: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachRun:
    """Follow a run."""

    task: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    """Ask for a snapshot of a run, then follow it to its end."""

    task: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun:
    """Cancel a run's job."""

    task: int
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachRun:
    """Stop following a run: its job goes on."""

    task: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRuns:
    """List the runs."""

    ticket: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMetrics:
    """Read the local metrics file of a run."""

    run_id: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRunFiles:
    """Read what a run was started with, from its own settings and data."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJobLog:
    """Read what was added to a run's `job.log` since the offset."""

    run_id: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadHistory:
    """Read what the project has spent; `after_task` is the pipeline task that ended last."""

    after_task: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadSettings:
    """Read `overbrainer.toml` and `.env` again when they changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLogs:
    """Write lines to a new file in `.overbrainer/`."""

    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepTheme:
    """Keep the theme in the user's configuration."""

    theme: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRepository:
    """Open the repository's address in a browser."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
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
    | ExportLogs
    | KeepTheme
    | OpenRepository
    | Leave
)


# Outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReported:
    """A stage of a pipeline task ended: its summary line, and what a split wrote."""

    task: int
    stage: Stage
    summary: str
    split: SplitReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagesEnded:
    """A pipeline task ended, by `error` unless None."""

    task: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlanned:
    """A plan is ready: `plan` is the core's, `facts` what a dialog tells of it."""

    ticket: int
    purpose: Purpose
    plan: Any
    facts: PlanFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRefused:
    """No run can be started."""

    ticket: int
    purpose: Purpose
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReported:
    """A run's task reported a line."""

    task: int
    level: Level
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTaskEnded:
    """A run's task ended: `record` as it is then, `error` unless it went well, `is_detached` when the run goes on."""

    task: int
    record: RunRecord | None = None
    error: str | None = None
    is_detached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRead:
    """The runs were listed, oldest first; or they could not be."""

    ticket: int
    records: tuple[RunRecord, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRead:
    """A metrics file was read; None when there is none."""

    run_id: str
    generation: int
    data: TrackData | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilesRead:
    """What a run was started with; None when its files are not there, or cannot be read."""

    run_id: str
    trained_with: TrainedWith | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLogRead:
    """Whole lines of a `job.log`, read from `start` up to `offset`; `note` when it cannot be read."""

    run_id: str
    start: int
    offset: int
    lines: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRead:
    """What the history adds up to; None when it cannot be read."""

    after_task: int
    total: Cost | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRead:
    """The settings were read again: changed, the same, or unusable."""

    facts: ProjectFacts | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFacts:
    """What the app shows of the settings."""

    name: str
    concurrency: int
    target: str | None = None
    kind: str = ""
    model: str = ""
    settings: str = ""
    epochs: int | None = None
    merge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsExported:
    """A log export ended."""

    name: str
    count: int
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeKept:
    """The theme is kept, or could not be: then it holds until the app ends."""

    theme: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserFailed:
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
    | LogsExported
    | ThemeKept
    | BrowserFailed
)
