"""What is known of one run beyond its record: curves, phase, pace, machine samples, reported lines.

`TrackData` is built from metric lines, by events or by reading the metrics file in one go (in a thread); `RunTrack`
keeps it with what only events bring. A read that began before the run was followed anew is out of date, as its
generation tells.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime

from msgspec import Struct

from overbrainer_core.training.pace import Pace
from overbrainer_core.training.phases import PhaseTracker
from overbrainer_core.values.job import JobState
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_core.values.sample import MachineSample
from overbrainer_tui.view_models.series import RunCurves
from overbrainer_tui.view_models.snapshots import Level, MessageRow

SAMPLES_KEPT = 60
"""Machine samples of a run: ten minutes."""

STALE_S = 20.0
"""Age in seconds from which the last sample is no longer of now."""

AGE_TICK_S = 10.0
"""Steps in which the age of a stale sample is told below a minute; from there in minutes."""

MESSAGES_KEPT = 3
"""Reported lines shown."""


class TrainedWith(Struct, frozen=True, kw_only=True):
    """What a run was started with, by its own files; None where they do not say. `adapter` is `full` without one."""

    base_model: str | None = None
    adapter: str = "full"
    epochs: float | None = None
    train_examples: int | None = None
    eval_examples: int | None = None


class TrackData:
    """What the lines of a metrics file add up to."""

    def __init__(self, run_id: str) -> None:
        self.curves = RunCurves(run_id)
        self.phases = PhaseTracker()
        self.pace = Pace()
        self.has_merge = False
        self.has_lines = False

    def apply(self, line: TrainMetric | PhaseMark | None) -> None:
        """Add a line; a malformed one (None) changes nothing."""
        if line is None:
            return
        self.has_lines = True
        self.phases.apply(line)
        if isinstance(line, TrainMetric):
            self.curves.add(line)
            self.pace.apply(line)
            return
        if line.max_steps is not None and line.kind is MarkKind.BEGIN:
            self.curves.max_steps = line.max_steps
        if line.kind is MarkKind.STAGE and line.name == "merge":
            self.has_merge = True


class RunTrack:
    """One run as events and its metrics file tell it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.data = TrackData(run_id)
        self.generation = 0
        self.is_read = False
        """Whether the metrics file was read, or needs no reading: it is read once."""
        self.job: JobState | None = None
        self.samples: deque[MachineSample] = deque(maxlen=SAMPLES_KEPT)
        self.lost = 0
        self.has_no_file = False
        self.trained_with: TrainedWith | None = None
        self.is_reading_files = False
        """Whether `trained_with` is being read, or has been looked for in vain after the run's end."""
        self._messages: deque[MessageRow] = deque(maxlen=MESSAGES_KEPT)
        self._error: MessageRow | None = None

    def watch(self) -> None:
        """The run is followed from here on: old points are dropped, the metrics replay from the first."""
        self.generation += 1
        self.data = TrackData(self.run_id)
        self.is_read = True
        self.job = None
        self.lost = 0
        self.has_no_file = False

    def begin_task(self) -> None:
        """A task on the run begins: the lines of the one before are dropped."""
        self._messages.clear()
        self._error = None

    def take_read(self, data: TrackData | None, generation: int) -> None:
        """The metrics file was read; None when there is none."""
        if generation != self.generation:
            return
        self.is_read = True
        if data is None or not data.has_lines:
            self.has_no_file = True
            return
        if (data.curves.last_step or 0) >= (self.data.curves.last_step or 0):
            self.data = data
        self.lost = 0

    def report(self, line: MessageRow) -> None:
        """The run's task reported a line."""
        self._messages.append(line)

    def fail(self, text: str, at: datetime) -> None:
        """The run's task ended by an error."""
        self._error = MessageRow(time=at, text=text, level=Level.ERROR)

    @property
    def messages(self) -> tuple[MessageRow, ...]:
        """The newest reported lines, then the final error."""
        return (*self._messages, self._error) if self._error is not None else tuple(self._messages)

    def stale_age_s(self, now: datetime) -> float | None:
        """The age of the last sample when it is stale, in steps so that it does not change at every look."""
        if not self.samples:
            return None
        age = (now - self.samples[-1].at).total_seconds()
        if age <= STALE_S:
            return None
        tick = AGE_TICK_S if age < 60 else 60.0
        return age // tick * tick

    def points_missing(self, *, is_followed: bool) -> str | None:
        """The note about events that a slow screen lost."""
        if not self.lost:
            return None
        noun = "point" if self.lost == 1 else "points"
        if is_followed:
            return f"{self.lost} {noun} missing until the run ends"
        return f"{self.lost} {noun} missing (no local metrics file to read them from)" if self.has_no_file else None
