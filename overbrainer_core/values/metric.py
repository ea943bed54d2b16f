"""What do the lines of a `metrics.jsonl` say?

`begin`, `log`, `eval` and `end` are written by the trainer, `stage` by the job's shell. A value that was
not a finite number is None.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class TrainMetric(Struct, frozen=True, kw_only=True):
    """One `log` line: values of a training step, or of an evaluation when `eval_loss` is set.

    `time` is in Unix seconds of the trainer's clock.
    """

    time: float
    step: int
    epoch: float | None = None
    max_steps: int | None = None
    loss: float | None = None
    eval_loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None


class MarkKind(StrEnum):
    """The lines that are no `log`."""

    BEGIN = "begin"
    STAGE = "stage"
    EVAL = "eval"
    END = "end"


class PhaseMark(Struct, frozen=True, kw_only=True):
    """One `begin`, `stage`, `eval` or `end` line.

    `name` only for a stage (train, merge, export, compare), `step` for `eval` (from 1, in each evaluation) and
    `end`, `total` for `eval` when known, `max_steps` for `begin` when known.
    """

    kind: MarkKind
    time: float
    name: str | None = None
    step: int | None = None
    total: int | None = None
    max_steps: int | None = None
