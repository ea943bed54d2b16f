"""How fast does a training go, and when will it be done?

By the trainer's own clock, between the first and the latest training log (one with a loss) of this job: lines that
arrive late, evaluations in between and steps done before a resume change nothing.
"""

from __future__ import annotations

from overbrainer_core.values.metric import TrainMetric

LONGEST_S = 100 * 365 * 86400.0
"""A longer time left comes from a clock that jumped between two lines."""


class Pace:
    """Steps per second and time left of one job."""

    __slots__ = ("_first", "_latest", "_max_steps", "_step")

    def __init__(self) -> None:
        self._first: TrainMetric | None = None
        self._latest: TrainMetric | None = None
        self._max_steps: int | None = None
        self._step = 0

    def apply(self, metric: TrainMetric) -> None:
        """Add a log; a second one of the same step changes nothing."""
        self._step = max(self._step, metric.step)
        if metric.max_steps is not None:
            self._max_steps = metric.max_steps
        if metric.loss is None:
            return
        if self._first is None:
            self._first = metric
        if self._latest is None or metric.step > self._latest.step:
            self._latest = metric

    @property
    def steps_per_s(self) -> float | None:
        """Steps per second; None before two training logs that are apart in both step and time."""
        if self._first is None or self._latest is None:
            return None
        steps = self._latest.step - self._first.step
        seconds = self._latest.time - self._first.time
        return steps / seconds if steps > 0 and seconds > 0 else None

    @property
    def eta_s(self) -> float | None:
        """Seconds until the last step; None while the pace or the last step is not known, or beyond all sense."""
        rate = self.steps_per_s
        if rate is None or not self._max_steps:
            return None
        seconds = max(self._max_steps - self._step, 0) / rate
        return seconds if seconds <= LONGEST_S else None
