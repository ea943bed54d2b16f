"""Where do the lines go that flows report in the app? To the log, and to the view of their work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable

from overbrainer_core.values.stage import Stage
from overbrainer_tui.effects import Outcome, RunReported, StageReported
from overbrainer_tui.view_models.snapshots import Level

_log = logging.getLogger("overbrainer.app")

Tell = Callable[[Outcome], None]


class StageReport:
    """Lines of stages: to the log, and each summary to its stage."""

    def __init__(self, task: int, tell: Tell) -> None:
        self._task = task
        self._tell = tell

    def result(self, line: str) -> None:
        """A summary line: it begins with its stage's name."""
        _log.info("%s", line)
        name = line.partition(":")[0]
        with contextlib.suppress(ValueError):
            self._tell(StageReported(task=self._task, stage=Stage(name), summary=line))

    def note(self, line: str) -> None:
        """A line of progress."""
        _log.info("%s", line)

    def warn(self, line: str) -> None:
        """A warning."""
        _log.warning("%s", line)


class RunReport:
    """Lines of a run's task: under its chart, and to the log."""

    def __init__(self, task: int, tell: Tell) -> None:
        self._task = task
        self._tell = tell

    def result(self, line: str) -> None:
        """A result line."""
        self._say(Level.INFO, line)

    def note(self, line: str) -> None:
        """A line of progress."""
        self._say(Level.INFO, line)

    def warn(self, line: str) -> None:
        """A warning."""
        self._say(Level.WARNING, line)

    def _say(self, level: Level, line: str) -> None:
        _log.log(logging.WARNING if level is Level.WARNING else logging.INFO, "%s", line)
        self._tell(RunReported(task=self._task, level=level, text=line.removeprefix("train: ")))
