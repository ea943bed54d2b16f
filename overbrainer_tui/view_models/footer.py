"""What does the status line say, and what has the project cost?

A status lasts ten seconds or until the next one. A warning or an error of the log becomes the status too, but never
hides the end of a task: that stays for its ten seconds. The cost is the history as read last, plus the stages that ran
here and are not in it yet, each counted once.
"""

from __future__ import annotations

import logging

from overbrainer_core.log_setup import LogEntry
from overbrainer_core.values.usage import add_costs
from overbrainer_tui.view_models.snapshots import Cost, Level, Status

STATUS_S = 10.0
"""Seconds that a status message lasts."""


class StatusLine:
    """The latest status; times are monotonic seconds."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._until = 0.0
        self._is_end = False

    def say(self, text: str, level: Level = Level.INFO, *, now: float, is_end: bool = False) -> None:
        """Show a message; `is_end` for the end of a task, a chain or a run."""
        self._status = Status(level=level, text=text)
        self._until = now + STATUS_S
        self._is_end = is_end

    def on_log(self, entry: LogEntry, *, now: float) -> None:
        """A line was logged: a warning or an error is shown, unless an end is."""
        if entry.level < logging.WARNING or (self._is_end and self.current(now) is not None):
            return
        level = Level.ERROR if entry.level >= logging.ERROR else Level.WARNING
        self.say(entry.text, level, now=now)

    def clear(self) -> None:
        """Show the hints again."""
        self._status = None

    def current(self, now: float) -> Status | None:
        """The message to show now."""
        return self._status if now < self._until else None

    @property
    def until(self) -> float | None:
        """When the message goes, None without one."""
        return self._until if self._status is not None else None


class CostModel:
    """The project's cost so far."""

    def __init__(self) -> None:
        self._base = Cost(usd=None)
        self._waiting: list[tuple[int, Cost]] = []
        self._last_ended = 0

    def task_ended(self, task: int, spent: Cost) -> None:
        """A pipeline task ended; what it spent counts until a history read after its end has it."""
        self._last_ended = task
        if spent.usd is not None or spent.is_partial:
            self._waiting.append((task, spent))

    @property
    def last_ended(self) -> int:
        """The task that ended last, to be told with the next history read."""
        return self._last_ended

    def take_history(self, total: Cost, *, after_task: int) -> None:
        """The history, read once task `after_task` had ended; an older read than the last task is dropped."""
        if after_task < self._last_ended:
            return
        self._base = total
        self._waiting = [(task, cost) for task, cost in self._waiting if task > after_task]

    def total(self, running: Cost | None = None) -> Cost | None:
        """History and stages together; None while nothing is spent or all of it is unknown."""
        parts = [self._base, *(cost for _, cost in self._waiting)]
        if running is not None:
            parts.append(running)
        usd: float | None = None
        for part in parts:
            usd = add_costs(usd, part.usd)
        if usd is None:
            return None
        return Cost(usd=usd, is_partial=any(part.is_partial for part in parts))
