"""What is above the views: which one is shown, what lies over it, the status, the tasks, the locks, the quit?

Plain values, no Textual, no file, no clock: keys and outcomes come in (through `keys.py` and `outcomes.py`), effects go
out. The time is what `at` was told last; what is drawn is asked from `header`, `footer` and the view models.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from enum import StrEnum

from overbrainer_core.log_setup import LogEntry
from overbrainer_tui.effects import Effect, EstimateCost, ProjectFacts, Purpose, ReadJobLog, ReadMetrics, ReadRuns
from overbrainer_tui.view_models.auto import AutoChain
from overbrainer_tui.view_models.footer import CostModel, StatusLine
from overbrainer_tui.view_models.logs import LogsModel
from overbrainer_tui.view_models.overlay import Overlay
from overbrainer_tui.view_models.pipeline import PipelineModel
from overbrainer_tui.view_models.quit import QuitModel
from overbrainer_tui.view_models.snapshots import Cost, FooterShown, HeaderShown, Hint, Level, LogSource, Tab
from overbrainer_tui.view_models.spending import SpendingModel
from overbrainer_tui.view_models.training import TrainingModel, TrainingSetup

MIN_WIDTH = 80
MIN_HEIGHT = 24

LOOK_S = 2.0
"""Seconds between two reads of the runs or of a job's log, while they are shown."""


QUIET_S = 1.0
"""Seconds without a lost event after which a run's metrics file is read to make good what was lost."""

_LOG_LEVELS = {Level.INFO: logging.INFO, Level.WARNING: logging.WARNING, Level.ERROR: logging.ERROR}


class View(StrEnum):
    """The views; the value is the name on the tab."""

    PIPELINE = "Pipeline"
    TRAINING = "Training"
    LOGS = "Logs"


VIEW_KEYS = {"3": View.PIPELINE, "4": View.TRAINING, "5": View.LOGS}
"""The digit of each view, in the order of the tabs."""


class AppState:
    """The state of the app; `is_readonly` refuses everything that starts, stops or cancels."""

    def __init__(
        self,
        project: ProjectFacts,
        *,
        version: str,
        repository: str = "",
        is_readonly: bool = False,
        demo_directory: str | None = None,
    ) -> None:
        self.project = project
        self.version = version
        self.repository = repository
        self.is_readonly = is_readonly
        self.demo_directory = demo_directory
        self.newer_version: str | None = None
        self.theme = "dark"
        self.is_theme_forced = False
        self.view = View.PIPELINE
        self.overlay: Overlay | None = None
        self.width, self.height = MIN_WIDTH, MIN_HEIGHT
        self.mono = 0.0
        self.now = datetime.fromtimestamp(0, UTC)
        self.status = StatusLine()
        self.cost = CostModel()
        self.pipeline = PipelineModel()
        self.training = TrainingModel(training_setup(project))
        self.logs = LogsModel()
        self.quit = QuitModel()
        self.spending = SpendingModel()
        self.chain: AutoChain | None = None
        self.preparing: Purpose | None = None
        self.ticket = 0
        self.is_exporting = False
        self._last_task = 0
        self._runs_ticket = 0
        self._is_reading_runs = False
        self._reads_runs_again = False
        self._is_reading_log = False
        self._look_at: float | None = None
        self._recover_at: dict[str, float] = {}

    # Time and size

    def at(self, mono: float, now: datetime) -> None:
        """The time is now: monotonic seconds, and the wall's."""
        self.mono, self.now = mono, now

    def resize(self, width: int, height: int) -> None:
        """The terminal has this size."""
        self.width, self.height = width, height
        self.logs.resize(height)

    @property
    def is_too_small(self) -> bool:
        """Whether nothing but two lines fits."""
        return self.width < MIN_WIDTH or self.height < MIN_HEIGHT

    @property
    def is_typing(self) -> bool:
        """Whether keys go into a search of the log."""
        return self.view is View.LOGS and self.logs.search_input is not None

    def next_number(self) -> int:
        """A number for a new task."""
        self._last_task += 1
        return self._last_task

    def say(self, text: str, level: Level = Level.INFO, *, is_end: bool = False) -> None:
        """Show a status message; in full it is a line of the log too."""
        self.status.say(text, level, now=self.mono, is_end=is_end)
        entry = LogEntry(number=0, time=self.now, level=_LOG_LEVELS[level], area="app", text=text)
        self.logs.add(entry)

    # Locks

    @property
    def lock_reason(self) -> str | None:
        """Why the data lock holds, None when it does not."""
        if self.pipeline.is_running:
            stage = self.pipeline.running_stage
            return f"{stage.value if stage else self.pipeline.command} is running"
        starting = self.training.tasks.starting
        if starting is not None:
            return f"run {starting.run_id} is starting" if starting.run_id else "a new run is starting"
        if self.chain is not None and self.chain.is_running and not self.chain.is_training:
            return "auto mode is running"
        return "a new run is starting" if self.preparing is Purpose.CHAIN else None

    def refusal(self, what: str) -> str | None:
        """Why no new `stage` or `run` can start, None when one can."""
        if self.is_readonly:
            return "refused: opened with --readonly; nothing can be started"
        if self.quit.is_leaving:
            return f"refused: quitting; no {what} starts"
        reason = self.lock_reason
        return f"refused: {reason}; one task at a time" if reason is not None else None

    @property
    def is_played(self) -> bool:
        """Whether the models are the demo's: prices are shown, and nothing is paid."""
        return self.project.is_played or self.demo_directory is not None

    def estimate(self, name: str) -> list[Effect]:
        """Estimate what a stage, or all of them, cost: once while a question is open, and never what is played."""
        if self.is_played or not self.spending.ask(name):
            return []
        return [EstimateCost(ticket=self.spending.ticket, name=name)]

    @property
    def has_work(self) -> bool:
        """Whether leaving would stop, detach or wait for something."""
        return self.pipeline.is_running or bool(len(self.training.tasks)) or self.is_exporting

    # Views and reads

    def show(self, view: View) -> list[Effect]:
        """Show a view: what it shows is read now, and then every two seconds."""
        if view is self.view:
            return []
        self.view = view
        return self.look()

    def look(self) -> list[Effect]:
        """Read what the view shows, and plan the next look."""
        self._look_at = None
        if self.view is View.TRAINING:
            self._look_at = self.mono + LOOK_S
            return self.read_runs()
        if self.view is View.LOGS and self.logs.source is LogSource.JOB:
            self._look_at = self.mono + LOOK_S
            return self.read_job_log()
        return []

    def read_runs(self) -> list[Effect]:
        """List the runs: one read at a time, one more waits."""
        if self._is_reading_runs:
            self._reads_runs_again = True
            return []
        self._is_reading_runs = True
        self._runs_ticket += 1
        return [ReadRuns(ticket=self._runs_ticket)]

    def runs_read(self, ticket: int) -> tuple[bool, list[Effect]]:
        """A listing ended: whether it is the one waited for, and the read that waited behind it."""
        if ticket != self._runs_ticket:
            return False, []
        self._is_reading_runs = False
        again, self._reads_runs_again = self._reads_runs_again, False
        return True, self.read_runs() if again else []

    def read_job_log(self) -> list[Effect]:
        """Read what was added to the job's log, one read at a time."""
        run_id = self.logs.job_run
        if run_id is None or self._is_reading_log:
            return []
        self._is_reading_log = True
        return [ReadJobLog(run_id=run_id, offset=self.logs.job_offset)]

    def job_log_read(self) -> None:
        """A read of a job's log ended."""
        self._is_reading_log = False

    def read_metrics_later(self, run_id: str) -> None:
        """Read a run's metrics file once its events come slowly again: a read during a burst would be in vain."""
        self._recover_at[run_id] = self.mono + QUIET_S

    def tick(self) -> list[Effect]:
        """What is due now."""
        effects: list[Effect] = []
        for run_id in [run_id for run_id, at in self._recover_at.items() if self.mono >= at]:
            del self._recover_at[run_id]
            effects.append(ReadMetrics(run_id=run_id, generation=self.training.mark_read(run_id)))
        if self._look_at is not None and self.mono >= self._look_at:
            effects += self.look()
        return effects

    def next_tick_s(self) -> float | None:
        """Seconds until something is due; None while nothing is: then no timer runs."""
        due = [max(at, self.mono) for at in (self._look_at, *self._recover_at.values()) if at is not None]
        if self.status.until is not None and self.status.until > self.mono:
            due.append(self.status.until)
        return min(due) - self.mono if due else None

    # Drawing

    def header(self) -> HeaderShown:
        """The header: a view has work while a task of its kind runs."""
        work = {View.PIPELINE: self.pipeline.is_running, View.TRAINING: bool(len(self.training.tasks))}
        tabs = tuple(
            Tab(key=key, name=view.value, is_selected=view is self.view, has_work=work.get(view, False))
            for key, view in VIEW_KEYS.items()
        )
        return HeaderShown(tabs=tabs, project=self.project.name)

    def footer(self, hints: tuple[Hint, ...]) -> FooterShown:
        """The footer with these hints."""
        is_plain = self.overlay is None
        return FooterShown(
            hints=hints,
            status=self.status.current(self.mono) if is_plain else None,
            work=self.work_labels(),
            is_locked=self.lock_reason is not None,
            cost=self.total_cost() if is_plain else None,
            version=self.version if is_plain else None,
            newer_version=self.newer_version if is_plain else None,
        )

    def total_cost(self) -> Cost | None:
        """What the project cost so far."""
        return self.cost.total(self.pipeline.running_cost)

    def work_labels(self) -> tuple[str, ...]:
        """A label for each piece of work running, in order."""
        labels = [
            "quitting: waiting" if self.quit.is_leaving else None,
            self.pipeline.work_label,
            "preparing a run" if self.preparing is not None else None,
            self.training.label,
        ]
        return tuple(label for label in labels if label is not None)


def training_setup(project: ProjectFacts) -> TrainingSetup:
    """What the Training view needs of the settings."""
    return TrainingSetup(target=project.target, base_model=project.model, epochs=project.epochs, merge=project.merge)
