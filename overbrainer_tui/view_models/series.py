"""How are the curves of a run kept, however long it is?

Points arrive one by one with ascending steps. A curve holds at most `BUCKETS` buckets of consecutive steps; each keeps
its first, lowest, highest and last point, so that ends and spikes survive. When it is full, neighbours are merged and a
bucket covers twice the steps: memory and drawing are bounded by the screen, not by the run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque

from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui.view_models.snapshots import CursorShown, Points, RunSeries

BUCKETS = 1024
"""Buckets of a curve: more than twice the dot columns of a wide terminal."""

TREND_LOGS = 8
"""Training logs on each side that tell whether the loss falls or rises."""

Point = tuple[int, float]


class _Bucket:
    """Consecutive steps of a curve: the first, lowest, highest and last point."""

    __slots__ = ("first", "high", "last", "low", "step", "value")

    def __init__(self, step: int, value: float) -> None:
        self.step = step
        self.value = value
        self.first = self.low = self.high = (step, value)

    def add(self, step: int, value: float) -> None:
        """Add a point whose step is not below the last; the same step again replaces it."""
        if step == self.step and self.first[0] == step:
            self.first = self.low = self.high = (step, value)
        elif step == self.step:
            point = (step, value)
            others = [found for found in (self.first, self.low, self.high) if found[0] != step]
            self.low = min(*others, point, key=_value_of)
            self.high = max(*others, point, key=_value_of)
        elif value < self.low[1]:
            self.low = (step, value)
        elif value > self.high[1]:
            self.high = (step, value)
        self.step = step
        self.value = value

    def merge(self, other: _Bucket) -> None:
        """Take in the bucket after this one."""
        self.low = min(self.low, other.low, key=_value_of)
        self.high = max(self.high, other.high, key=_value_of)
        self.step, self.value = other.step, other.value

    def points(self) -> list[Point]:
        """The points kept, each once, steps ascending."""
        return sorted({self.first, self.low, self.high, (self.step, self.value)})


def _value_of(point: Point) -> float:
    return point[1]


class Curve:
    """One curve, reduced as it grows."""

    def __init__(self) -> None:
        self._buckets: list[_Bucket] = []
        self._end = 0
        self._width = 1
        self._points: Points | None = None

    def add(self, step: int, value: float) -> None:
        """Add a point; a step seen last is replaced, a lower one is left out."""
        self._points = None
        if step < self._end:
            if self._buckets and step >= self._buckets[-1].step:
                self._buckets[-1].add(step, value)
            return
        self._buckets.append(_Bucket(step, value))
        self._end = (step // self._width + 1) * self._width
        if len(self._buckets) > BUCKETS:
            self._merge()

    def _merge(self) -> None:
        self._width *= 2
        merged: list[_Bucket] = []
        for bucket in self._buckets:
            if merged and merged[-1].first[0] // self._width == bucket.first[0] // self._width:
                merged[-1].merge(bucket)
            else:
                merged.append(bucket)
        self._buckets = merged
        self._end = (merged[-1].first[0] // self._width + 1) * self._width

    @property
    def last(self) -> Point | None:
        """The newest point."""
        return (self._buckets[-1].step, self._buckets[-1].value) if self._buckets else None

    def points(self) -> Points:
        """The points kept, steps ascending."""
        if self._points is None:
            kept = [point for bucket in self._buckets for point in bucket.points()]
            self._points = Points(steps=tuple(step for step, _ in kept), values=tuple(value for _, value in kept))
        return self._points

    def at(self, step: int) -> float | None:
        """The value at the step, or at the nearest step before it; None before the first."""
        points = self.points()
        index = bisect_right(points.steps, step)
        return points.values[index - 1] if index else None


class RunCurves:
    """The curves and newest values of one run, fed with its metrics in order."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.loss = Curve()
        self.eval_loss = Curve()
        self.lr = Curve()
        self.grad_norm = Curve()
        self.max_steps: int | None = None
        self.last_step: int | None = None
        self.epoch: float | None = None
        self._best_eval: Point | None = None
        self._recent: deque[float] = deque(maxlen=2 * TREND_LOGS)
        self._evals: deque[float] = deque(maxlen=3)
        self._revision = 0
        self._shown: RunSeries | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no metric arrived."""
        return self.last_step is None

    def add(self, metric: TrainMetric) -> None:
        """Fold one metric."""
        step = metric.step
        self._revision += 1
        self.last_step = step if self.last_step is None else max(self.last_step, step)
        if metric.max_steps is not None:
            self.max_steps = metric.max_steps
        if metric.epoch is not None:
            self.epoch = metric.epoch
        if metric.loss is not None:
            self.loss.add(step, metric.loss)
            self._recent.append(metric.loss)
        if metric.eval_loss is not None:
            self.eval_loss.add(step, metric.eval_loss)
            self._evals.append(metric.eval_loss)
            if self._best_eval is None or metric.eval_loss < self._best_eval[1]:
                self._best_eval = (step, metric.eval_loss)
        if metric.learning_rate is not None:
            self.lr.add(step, metric.learning_rate)
        if metric.grad_norm is not None:
            self.grad_norm.add(step, metric.grad_norm)

    @property
    def loss_trend(self) -> int:
        """-1 when the newest logs lie below those before them, 1 above, 0 when it cannot be told."""
        if len(self._recent) < 2 * TREND_LOGS:
            return 0
        recent = list(self._recent)
        before, now = sum(recent[:TREND_LOGS]), sum(recent[TREND_LOGS:])
        return (now > before) - (now < before)

    @property
    def eval_trend(self) -> int:
        """-1 when the last evaluation was better than the one before, 1 when two in a row were worse, else 0."""
        evals = list(self._evals)
        if len(evals) >= 2 and evals[-1] < evals[-2]:
            return -1
        if len(evals) == 3 and evals[0] < evals[1] < evals[2]:
            return 1
        return 0

    def series(self) -> RunSeries:
        """The curves as drawn; the same value until a metric arrives."""
        if self._shown is None or self._shown.revision != self._revision:
            self._shown = RunSeries(
                run_id=self.run_id,
                revision=self._revision,
                loss=self.loss.points(),
                eval_loss=self.eval_loss.points(),
                lr=self.lr.points(),
                grad_norm=self.grad_norm.points(),
                max_steps=self.max_steps,
                last_step=self.last_step,
                best_eval=self._best_eval,
            )
        return self._shown

    def cursor_at(self, step: int) -> CursorShown:
        """The values of every curve at a step."""
        return CursorShown(
            step=step,
            loss=self.loss.at(step),
            eval_loss=self.eval_loss.at(step),
            lr=self.lr.at(step),
            grad_norm=self.grad_norm.at(step),
        )

    def step_beside(self, step: int | None, by: int) -> int | None:
        """The step of the loss curve `by` points further, None without a curve; from None the last point."""
        steps = self.loss.points().steps or self.eval_loss.points().steps
        if not steps:
            return None
        if step is None:
            return steps[-1]
        nearest = min(range(len(steps)), key=lambda index: abs(steps[index] - step))
        return steps[max(0, min(len(steps) - 1, nearest + by))]
