"""What would quitting stop, detach or wait for, and what is said once the terminal is given back?

A quit that was confirmed waits until the work has ended; `n` or Esc takes it back, a signal cannot be taken back. Notes
are kept in the order they arose; one about work that was taken up again is dropped.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from overbrainer_tui.view_models.overlay import DialogRow, RowTone
from overbrainer_tui.view_models.pipeline import PipelineModel
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind, RunTasks


class QuitPhase(StrEnum):
    """How the app is being left."""

    NONE = "none"
    WAITING = "waiting"
    """A person confirmed: `n` takes it back."""
    SIGNALLED = "signalled"
    BROKEN = "broken"
    """The terminal failed: nothing is drawn any more."""


class _Note(Struct, frozen=True):
    text: str
    subject: str


class QuitModel:
    """Whether the app is being left, and the notes for afterwards."""

    def __init__(self) -> None:
        self.phase = QuitPhase.NONE
        self.has_left = False
        self.exit_code = 0
        self.interrupted: str | None = None
        """The command whose task this quit interrupted."""
        self.detached: set[str] = set()
        """The runs this quit detached."""
        self._notes: list[_Note] = []

    @property
    def is_leaving(self) -> bool:
        """Whether the app waits for work to end."""
        return self.phase is not QuitPhase.NONE

    def note(self, text: str, *, subject: str) -> None:
        """Keep a line for after the exit; `subject` is the run or the command it is about."""
        self._notes.append(_Note(text, subject))

    def take_up(self, subject: str) -> None:
        """Work on the subject goes on: notes about it are dropped."""
        self._notes = [note for note in self._notes if note.subject != subject]

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes, in the order they arose."""
        return tuple(note.text for note in self._notes)

    def stay(self) -> str:
        """Take a confirmed quit back; what is said, with what cannot be undone."""
        self.phase = QuitPhase.NONE
        text = "not quitting"
        if self.interrupted is not None:
            text += f"; {self.interrupted} still stops"
        if self.detached:
            count = len(self.detached)
            text += f"; {count} {'run' if count == 1 else 'runs'} still detached"
        self.interrupted = None
        self.detached.clear()
        return text


def quit_rows(pipeline: PipelineModel, tasks: RunTasks, *, is_exporting: bool) -> tuple[DialogRow, ...]:
    """One paragraph for each piece of work; none when nothing runs."""
    paragraphs: list[list[DialogRow]] = []
    if pipeline.is_running:
        paragraphs.append(_stage(pipeline))
    paragraphs += [_run(task) for task in tasks]
    if is_exporting:
        paragraphs.append(
            [DialogRow(label="logs", value="are being written; quitting waits for it", tone=RowTone.HEADING)]
        )
    rows: list[DialogRow] = []
    for paragraph in paragraphs:
        rows += [*([DialogRow()] if rows else []), *paragraph]
    return tuple(rows)


def _stage(pipeline: PipelineModel) -> list[DialogRow]:
    stage = pipeline.running_stage
    command = pipeline.command or ""
    rest = f"It stops now; the next {command} resumes it. Requests in flight are lost, already paid."
    if stage is None:
        return [DialogRow(label=command, value="begins", tone=RowTone.HEADING), DialogRow(value=rest, label=" ")]
    finished, total = pipeline.progress_of(stage)
    count = f"{finished}/{total if total is not None else '-'}"
    in_flight = pipeline.in_flight(stage)
    noun = "request" if in_flight == 1 else "requests"
    return [
        DialogRow(label=stage.value, value=count, remark=f"{in_flight} {noun} in flight", tone=RowTone.HEADING),
        DialogRow(label=" ", value=rest),
    ]


def short_run(run_id: str) -> str:
    """A run's ID as a label: its last six characters."""
    return run_id if len(run_id) <= 11 else f"…{run_id[-6:]}"


def _run(task: RunTask) -> list[DialogRow]:
    label = short_run(task.run_id) if task.run_id is not None else "new run"
    attach = DialogRow(label=" ", value="overbrainer train attach follows it again.", tone=RowTone.NOTE)
    if task.word == "cancelling":
        return [DialogRow(label=label, value="is being cancelled; quitting waits for it", tone=RowTone.HEADING)]
    if task.is_starting:
        return [
            DialogRow(
                label=label,
                value="has not begun; quitting waits until its job started, then leaves it running",
                tone=RowTone.HEADING,
            ),
            attach,
        ]
    if task.kind is RunTaskKind.STOP:
        return [DialogRow(label=label, value="keeps running until its snapshot is saved", tone=RowTone.HEADING), attach]
    where = f" on {task.target}" if task.target else ""
    return [DialogRow(label=label, value=f"keeps training{where}", tone=RowTone.HEADING), attach]


def waiting_for(pipeline: PipelineModel, tasks: RunTasks, *, is_exporting: bool) -> tuple[str, ...]:
    """What an exit waits for, one phrase each."""
    found: list[str] = []
    if pipeline.is_running:
        found.append(f"{pipeline.command} to stop")
    for task in tasks:
        name = f"run {task.run_id}" if task.run_id is not None else "a new run"
        if task.word == "cancelling":
            found.append(f"{name} to be cancelled")
        elif task.is_starting:
            found.append(f"{name} to start")
        else:
            found.append(f"{name} to detach")
    if is_exporting:
        found.append("the log export")
    return tuple(found)
