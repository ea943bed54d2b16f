"""What does the app do with which run? One task per run: a start, an attach, a stop or a cancel.

A second task on a run waits: the first is detached, and the second starts when it has ended. A start whose job has not
begun is never cut; it is detached only once its job began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from overbrainer_tui.view_models.snapshots import MessageRow


class RunTaskKind(StrEnum):
    """What a task does with its run."""

    START = "start"
    ATTACH = "attach"
    STOP = "stop"
    CANCEL = "cancel"


@dataclass(slots=True, kw_only=True)
class RunTask:
    """One task; `run_id` of a start is None until the run is created, `has_begun` from its job's first status on.

    `is_leaving`: it was told to detach. `following` is the task that waits for this one to end. `early` are lines that
    it reported before its run was known.
    """

    number: int
    kind: RunTaskKind
    target: str = ""
    run_id: str | None = None
    has_begun: bool = False
    is_leaving: bool = False
    following: RunTaskKind | None = None
    early: list[MessageRow] = field(default_factory=list)

    @property
    def is_starting(self) -> bool:
        """Whether it starts a job that has not begun: nothing may cut it."""
        return self.kind is RunTaskKind.START and not self.has_begun

    @property
    def word(self) -> str:
        """What the runs table calls it."""
        if self.following is RunTaskKind.CANCEL or self.kind is RunTaskKind.CANCEL:
            return "cancelling"
        if self.following is RunTaskKind.STOP or self.kind is RunTaskKind.STOP:
            return "stopping"
        return "starting" if self.is_starting else "followed"

    @property
    def is_following(self) -> bool:
        """Whether events of the run arrive by it."""
        return self.kind is not RunTaskKind.CANCEL and not self.is_starting


class RunTasks:
    """The tasks that run now."""

    def __init__(self) -> None:
        self._tasks: dict[int, RunTask] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[RunTask]:
        return iter(self._tasks.values())

    def add(self, task: RunTask) -> None:
        """A task begins."""
        self._tasks[task.number] = task

    def get(self, number: int) -> RunTask | None:
        """The task of that number, if it still runs."""
        return self._tasks.get(number)

    def remove(self, number: int) -> RunTask | None:
        """A task ended; it, if it was known."""
        return self._tasks.pop(number, None)

    def of_run(self, run_id: str) -> RunTask | None:
        """The task on a run."""
        return next((task for task in self._tasks.values() if task.run_id == run_id), None)

    @property
    def starting(self) -> RunTask | None:
        """The start whose job has not begun, if there is one: the data lock holds meanwhile."""
        return next((task for task in self._tasks.values() if task.is_starting), None)
