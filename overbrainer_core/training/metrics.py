"""What does a `metrics.jsonl` say, line by line and in sum?

A line is a value of `values.metric` or it is malformed: `NaN`, infinity, a number as text, an unknown event or stage
never become a value. Reading a file keeps one read of it in memory; a torn last line is not read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from overbrainer_core.files import FileAccessError, UnsafePathError
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric

STAGES = frozenset({"train", "merge", "export", "compare"})
"""Names that a `stage` line may have."""

READ_BYTES = 1 << 20
"""Bytes of one read; a longer line is cut."""

TAIL_BYTES = 1 << 16
"""Bytes at the end of a file that hold its latest values, for listings."""

_MAX_STEP = 2**63 - 1

Line = TrainMetric | PhaseMark


class _Event(msgspec.Struct):
    event: str


class _Mark(msgspec.Struct):
    time: float
    name: str | None = None
    step: int | None = None
    total: int | None = None
    max_steps: int | None = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_metric = msgspec.json.Decoder(TrainMetric).decode
_decode_mark = msgspec.json.Decoder(_Mark).decode


def parse_line(line: str | bytes) -> Line | None:
    """The value of one line; None for a malformed one (`malformed_reason` tells why)."""
    try:
        return _parsed(line)
    except ValueError:
        return None


def malformed_reason(line: str | bytes) -> str:
    """Why a line is no record, in our own words: never a part of it."""
    try:
        _parsed(line)
    except msgspec.ValidationError:
        is_object = line.lstrip()[:1] in ("{", b"{")
        return "a field is missing or has the wrong type" if is_object else "not a JSON object"
    except msgspec.DecodeError:
        return "not a JSON object"
    except ValueError as error:
        return str(error)
    return "it is well formed"


def _parsed(line: str | bytes) -> Line:
    event = _decode_event(line).event
    if event == "log":
        metric = _decode_metric(line)
        if not 0 <= metric.step <= _MAX_STEP or not 0 <= (metric.max_steps or 0) <= _MAX_STEP:
            raise ValueError("a step count is out of range")
        return metric
    mark = _decode_mark(line)
    for count in (mark.step, mark.total, mark.max_steps):
        if not 0 <= (count or 0) <= _MAX_STEP:
            raise ValueError("a step count is out of range")
    match event:
        case "begin":
            return PhaseMark(kind=MarkKind.BEGIN, time=mark.time, max_steps=mark.max_steps)
        case "stage" if mark.name in STAGES:
            return PhaseMark(kind=MarkKind.STAGE, time=mark.time, name=mark.name)
        case "stage":
            raise ValueError("unknown stage")
        case "eval" if mark.step is not None:
            return PhaseMark(kind=MarkKind.EVAL, time=mark.time, step=mark.step, total=mark.total)
        case "end" if mark.step is not None:
            return PhaseMark(kind=MarkKind.END, time=mark.time, step=mark.step)
        case "eval" | "end":
            raise ValueError("a field is missing or has the wrong type")
        case _:
            raise ValueError("unknown event")


def is_plugin_line(line: Line) -> bool:
    """Whether the trainer wrote it: `stage` lines come from the job's shell and prove nothing about the trainer."""
    return isinstance(line, TrainMetric) or line.kind is not MarkKind.STAGE


class MetricsSummary:
    """The figures of a run so far: highest step, last training log, last evaluation, and how many lines told them."""

    __slots__ = ("eval_loss", "has_loss", "last", "malformed", "max_steps", "plugin_lines", "step")

    def __init__(self) -> None:
        self.step = 0
        self.max_steps: int | None = None
        self.last: TrainMetric | None = None
        """The latest log that had a loss."""
        self.has_loss = False
        """Whether any training log had a loss other than 0."""
        self.eval_loss: float | None = None
        self.plugin_lines = 0
        self.malformed = 0

    def apply(self, line: Line | None) -> None:
        """Add a line; None counts a malformed one."""
        if isinstance(line, TrainMetric):
            self.plugin_lines += 1
            if line.step > self.step:
                self.step = line.step
            if line.max_steps is not None:
                self.max_steps = line.max_steps
            if line.loss is not None:
                self.last = line
                self.has_loss = self.has_loss or line.loss != 0
            if line.eval_loss is not None:
                self.eval_loss = line.eval_loss
        elif line is None:
            self.malformed += 1
        elif line.kind is not MarkKind.STAGE:
            self.plugin_lines += 1
            if line.max_steps is not None:
                self.max_steps = line.max_steps

    @property
    def epoch(self) -> float | None:
        """Epoch of the last training log."""
        return self.last.epoch if self.last else None

    @property
    def loss(self) -> float | None:
        """Loss of the last training log."""
        return self.last.loss if self.last else None

    def text(self) -> str:
        """The figures in words, such as `step 40/40, epoch 3.00, loss 0.4123, eval_loss 0.5012`."""
        parts = [f"step {self.step}/{self.max_steps}" if self.max_steps else f"step {self.step}"]
        if self.epoch is not None:
            parts.append(f"epoch {self.epoch:.2f}")
        if self.loss is not None:
            parts.append(f"loss {self.loss:.4f}")
        if self.eval_loss is not None:
            parts.append(f"eval_loss {self.eval_loss:.4f}")
        return ", ".join(parts)


def iter_metrics_file(path: Path, *, start: int = 0) -> Iterator[Line | None]:
    """The values of a file from a byte offset on, None for a malformed line; a missing file has none.

    Raises:
        FileAccessError: the file cannot be read.
    """
    try:
        with open(path, "rb", opener=_nonblocking) as handle:
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise FileAccessError(path) from UnsafePathError(path, what="file")
            handle.seek(start)
            rest = b""
            while chunk := handle.read(READ_BYTES):
                lines = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
                rest = lines.pop()
                if len(rest) > READ_BYTES:
                    lines.append(rest)
                    rest = b""
                for line in lines:
                    if line:
                        yield parse_line(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileAccessError(path) from error


def _nonblocking(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)


def read_metrics_file(path: Path) -> MetricsSummary:
    """The figures of a whole file; a missing one gives those of no line.

    Raises:
        FileAccessError: the file cannot be read.
    """
    summary = MetricsSummary()
    for line in iter_metrics_file(path):
        summary.apply(line)
    return summary


def read_latest(path: Path, *, tail_bytes: int = TAIL_BYTES) -> MetricsSummary:
    """The figures that the end of a file tells, for a listing: the cost does not grow with the file.

    Raises:
        FileAccessError: the file cannot be read.
    """
    summary = MetricsSummary()
    try:
        descriptor = _nonblocking(str(path), os.O_RDONLY)
    except FileNotFoundError:
        return summary
    except OSError as error:
        raise FileAccessError(path) from error
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, tail_bytes, max(size - tail_bytes, 0))
    except OSError as error:
        raise FileAccessError(path) from error
    finally:
        os.close(descriptor)
    lines = tail.replace(b"\r", b"\n").split(b"\n")
    # the first is most likely the second half of a line, the last is not finished
    for line in lines[1 if size > tail_bytes else 0 : -1]:
        if line:
            summary.apply(parse_line(line))
    return summary
