"""Which runs are there, which one is looked at, and what is known of it?

The list is read from disk (by somebody else); the selection stays on the same run whatever the list says. Hidden failed
runs stay hidden until the app restarts. Events fold into the track of their run; stale reads are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from overbrainer_core.events.types import Event, JobStatus, Mark, Metric, RunCreated, RunWatched, System
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_tui.view_models.run_shown import RunFacts, selected_run
from overbrainer_tui.view_models.run_tasks import RunTask, RunTasks
from overbrainer_tui.view_models.run_track import RunTrack, TrackData, TrainedWith
from overbrainer_tui.view_models.snapshots import (
    EmptyKey,
    EmptyShown,
    ErrorShown,
    MachineShown,
    RunRow,
    RunsShown,
    SelectedRun,
    TrainingShown,
)


class TrainingSetup(Struct, frozen=True, kw_only=True):
    """What the settings say about training: the target's name, None without `[training]`."""

    target: str | None = None
    base_model: str = ""
    epochs: int | None = None
    merge: bool = False


class TrainingModel:
    """The Training view's state."""

    def __init__(self, setup: TrainingSetup | None = None) -> None:
        self.setup = setup or TrainingSetup()
        self.tasks = RunTasks()
        self._records: list[RunRecord] = []
        self._tracks: dict[str, RunTrack] = {}
        self._hidden: set[str] = set()
        self._selected: str | None = None
        self._wanted: str | None = None
        self._error: str | None = None
        self._is_read = False
        self._cursor: int | None = None
        self.pointed: int | None = None
        """The step that the mouse put the chart's cursor on; the cursor goes when the mouse leaves the chart."""
        self._is_fitted = False

    # The list

    def take_runs(self, records: Sequence[RunRecord]) -> None:
        """The runs as listed, oldest first."""
        self._records = list(reversed(records))
        self._is_read = True
        self._error = None
        if self._wanted is not None and self.record(self._wanted) is not None:
            self._selected, self._wanted = self._wanted, None
            self._drop_cursor()
        self._keep_selection()

    def fail_runs(self, reason: str) -> None:
        """`runs/` could not be listed: the earlier runs stay."""
        self._error = reason

    def _keep_selection(self) -> None:
        shown = self.shown_records
        if all(record.id != self._selected for record in shown):
            self._selected = shown[0].id if shown else None
            self._drop_cursor()

    @property
    def shown_records(self) -> list[RunRecord]:
        """The records of the table, newest first."""
        return [record for record in self._records if record.id not in self._hidden]

    @property
    def all_records(self) -> Sequence[RunRecord]:
        """Every record, newest first."""
        return self._records

    def record(self, run_id: str) -> RunRecord | None:
        """The record of a run as listed last."""
        return next((record for record in self._records if record.id == run_id), None)

    @property
    def selected(self) -> RunRecord | None:
        """The record under the cursor of the table."""
        return self.record(self._selected) if self._selected is not None else None

    def select(self, run_id: str) -> None:
        """Put the cursor on a run, as soon as it is listed."""
        if self.record(run_id) is None:
            self._wanted = run_id
        elif run_id != self._selected:
            self._selected = run_id
            self._drop_cursor()

    def move(self, by: int) -> None:
        """Move the cursor of the table; no wrap."""
        shown = [record.id for record in self.shown_records]
        if self._selected in shown:
            index = max(0, min(len(shown) - 1, shown.index(self._selected) + by))
            self.select(shown[index])

    @property
    def clearable(self) -> list[RunRecord]:
        """The failed runs shown that no task is on."""
        return [
            record
            for record in self.shown_records
            if record.state is RunState.FAILED and self.tasks.of_run(record.id) is None
        ]

    def hide(self, run_ids: Sequence[str]) -> None:
        """Hide runs until the app restarts."""
        self._hidden.update(run_ids)
        self._keep_selection()

    # Events and reads

    def track(self, run_id: str) -> RunTrack:
        """What is known of a run."""
        if run_id not in self._tracks:
            self._tracks[run_id] = RunTrack(run_id)
        return self._tracks[run_id]

    def apply(self, task: int, event: Event) -> None:
        """Fold an event of a task, the last ones after its end included."""
        match event:
            case RunCreated():
                owner = self.tasks.get(task)
                if owner is not None:
                    owner.run_id = event.run_id
                    for line in owner.early:
                        self.track(event.run_id).report(line)
                    owner.early.clear()
                self.select(event.run_id)
            case RunWatched():
                if event.job is None:
                    self.track(event.run_id).watch()
            case Metric():
                self.track(event.run_id).data.apply(event.metric)
            case Mark():
                self.track(event.run_id).data.apply(event.mark)
            case JobStatus():
                self.track(event.run_id).job = event.state
                owner = self.tasks.get(task)
                if owner is not None:
                    owner.has_begun = True
            case System():
                self.track(event.run_id).samples.append(event.sample)
            case _:
                pass

    def lose(self, run_id: str, count: int) -> None:
        """The screen was too slow for `count` events of a run."""
        self.track(run_id).lost += count

    @property
    def unread(self) -> tuple[str, int] | None:
        """The selected run and its generation when its metrics file is to be read: once, and never while followed."""
        record = self.selected
        if record is None or self.tasks.of_run(record.id) is not None:
            return None
        track = self.track(record.id)
        return None if track.is_read else (record.id, track.generation)

    def mark_read(self, run_id: str) -> int:
        """A read of the run's metrics begins; its generation."""
        track = self.track(run_id)
        track.is_read = True
        return track.generation

    @property
    def unread_files(self) -> str | None:
        """The selected run when what it was started with is to be read: again and again until its files are there."""
        record = self.selected
        if record is None:
            return None
        track = self.track(record.id)
        return None if track.is_reading_files or track.trained_with is not None else record.id

    def take_files(self, run_id: str, trained_with: TrainedWith | None) -> None:
        """The files of a run were read; None when it has none yet."""
        track = self.track(run_id)
        record = self.record(run_id)
        track.trained_with = trained_with
        track.is_reading_files = trained_with is None and record is not None and record.state.has_ended

    def take_metrics(self, run_id: str, data: TrackData | None, generation: int) -> None:
        """A run's metrics file was read."""
        self.track(run_id).take_read(data, generation)

    # The chart

    def on_key(self, key: str) -> bool:
        """Move in the table or on the chart; False when the key does neither."""
        match key:
            case "k" | "up":
                self.move(-1)
            case "j" | "down":
                self.move(1)
            case "pageup":
                self.move(-10)
            case "pagedown":
                self.move(10)
            case "home":
                self.move(-len(self._records))
            case "end":
                self.move(len(self._records))
            case "," | ".":
                self._move_cursor(-1 if key == "," else 1)
            case "escape":
                self._drop_cursor()
            case "z":
                self._is_fitted = not self._is_fitted
            case _:
                return False
        return True

    @property
    def has_curve(self) -> bool:
        """Whether the selected run has points."""
        return self._selected is not None and not self.track(self._selected).data.curves.is_empty

    def point(self, step: int | None) -> None:
        """The mouse is over that step of the chart; None when it has left it."""
        if step is not None:
            self._cursor = self.pointed = step
        elif self.pointed is not None:
            self._drop_cursor()

    def _drop_cursor(self) -> None:
        self._cursor = self.pointed = None

    def _move_cursor(self, by: int) -> None:
        if self._selected is not None:
            curves = self.track(self._selected).data.curves
            self._cursor = curves.step_beside(self._cursor, 0 if self._cursor is None else by)
            self.pointed = None

    # Drawing

    @property
    def label(self) -> str | None:
        """The footer's work label."""
        count = len(self.tasks)
        return None if not count else "1 training task" if count == 1 else f"{count} training tasks"

    def snapshot(self, now: datetime) -> TrainingShown:
        """What the view draws."""
        shown = self.shown_records
        if not shown:
            return self._without_runs()
        index = next((at for at, record in enumerate(shown) if record.id == self._selected), None)
        runs = RunsShown(
            rows=tuple(self._row(record) for record in shown),
            selected=index,
            followed=sum(1 for task in self.tasks if task.is_following),
            is_stale=self._error is not None,
        )
        selected = self.selected
        if selected is None:
            return TrainingShown(runs=runs)
        return TrainingShown(runs=runs, selected=self._selected_run(selected), machine=self._machine(selected, now))

    def _row(self, record: RunRecord) -> RunRow:
        task = self.tasks.of_run(record.id)
        return RunRow(
            run_id=record.id,
            state=record.state.value,
            target=record.target,
            work=task.word if task else "",
            is_followed=task is not None and task.is_following,
        )

    def _selected_run(self, record: RunRecord) -> SelectedRun:
        facts = RunFacts(
            record=record,
            track=self.track(record.id),
            task=self._task_of(record.id),
            epochs=self.setup.epochs,
            has_merge=self.setup.merge,
        )
        return selected_run(facts, cursor=self._cursor, is_fitted=self._is_fitted)

    def _task_of(self, run_id: str) -> RunTask | None:
        return self.tasks.of_run(run_id)

    def _machine(self, record: RunRecord, now: datetime) -> MachineShown:
        track = self.track(record.id)
        task = self._task_of(record.id)
        return MachineShown(
            samples=tuple(track.samples),
            is_followed=task is not None and task.is_following,
            age_s=track.stale_age_s(now),
        )

    def _without_runs(self) -> TrainingShown:
        if self._error is not None and not self._records:
            return TrainingShown(
                runs=RunsShown(),
                error=ErrorShown(
                    title=f"cannot list the runs: {self._error}",
                    lines=("Nothing was changed.",),
                    keys=(EmptyKey(key="R", label="reloads"),),
                ),
            )
        if not self._is_read:
            return TrainingShown(runs=RunsShown())
        return TrainingShown(runs=RunsShown(is_stale=self._error is not None), empty=self._empty())

    def _empty(self) -> EmptyShown:
        if self._records:
            return EmptyShown(
                title="No run to show", line="Failed runs are cleared until the app restarts; their files are kept."
            )
        if self.setup.target is None:
            return EmptyShown(title="No runs yet", line="Add a [training] section to overbrainer.toml first.")
        return EmptyShown(
            title="No runs yet",
            line=f"t starts one on {self.setup.target}, after asking.",
            keys=(
                EmptyKey(key="r", label="write questions and answers"),
                EmptyKey(key="t", label=f"train {self.setup.base_model} on them", needs="needs a train split"),
            ),
        )
