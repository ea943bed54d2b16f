"""Which messages do the events of a bus become in the app? One class per event, with the task that it belongs to.

The bridge has folded the event into the models before its message is posted: a message only says that something there
changed. Newer messages of bursts take the place of older ones in the queue; ends are never replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.message import Message

from overbrainer_core.events import types as events
from overbrainer_tui.terminal_keys import Pointer


class BusMessage(Message, bubble=False):
    """An event of a task's bus."""

    is_folded: ClassVar[bool] = False

    def __init__(self, task: int, event: events.Event) -> None:
        super().__init__()
        self.task = task
        self.event = event

    def can_replace(self, message: Message) -> bool:
        """Whether this one, newer, stands for another that waits."""
        return self.is_folded and type(message) is type(self) and message.task == self.task


class StageStarted(BusMessage):
    """A stage began."""


class StageModel(BusMessage):
    """The model of a stage is known."""


class ItemDone(BusMessage):
    """Items were done."""

    is_folded = True


class ItemFailed(BusMessage):
    """Attempts failed."""

    is_folded = True


class LimitChanged(BusMessage):
    """A provider takes fewer requests, or more again."""


class StageFinished(BusMessage):
    """A stage reached its end."""


class RunCreated(BusMessage):
    """A run exists."""


class RunWatched(BusMessage):
    """A run is followed."""


class Metric(BusMessage):
    """A run logged metrics."""

    is_folded = True


class Mark(BusMessage):
    """A run went on to another phase, or further in one."""

    is_folded = True


class JobStatus(BusMessage):
    """A job's state is known."""


class System(BusMessage):
    """A machine was looked at."""

    is_folded = True


MESSAGE_OF: Mapping[type, type[BusMessage]] = {
    events.StageStarted: StageStarted,
    events.StageModel: StageModel,
    events.ItemDone: ItemDone,
    events.ItemFailed: ItemFailed,
    events.LimitChanged: LimitChanged,
    events.StageFinished: StageFinished,
    events.RunCreated: RunCreated,
    events.RunWatched: RunWatched,
    events.Metric: Metric,
    events.Mark: Mark,
    events.JobStatus: JobStatus,
    events.System: System,
}
"""The message of each event."""


class Changed(Message, bubble=False):
    """Something else than an event changed the state: a key, an outcome, a tick."""

    def can_replace(self, message: Message) -> bool:
        """One is enough."""
        return isinstance(message, Changed)


class Pointed(Message, bubble=False):
    """The mouse did something."""

    def __init__(self, pointer: Pointer) -> None:
        super().__init__()
        self.pointer = pointer
