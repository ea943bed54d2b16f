"""How is every event kept as a JSON line for other programs?

One object a line: `time` (RFC 3339 UTC with milliseconds), `event` (the variant's name), then its fields at the
top level; absent values are left out. Writing never slows or fails the work: a fault warns once, and lines that the
reader of a pipe is too slow for are counted.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import sys
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from overbrainer_core.clock import Clock, SystemClock
from overbrainer_core.events.types import Event, JobStatus, Mark, Metric, System

_log = logging.getLogger("overbrainer.events")


def event_document(event: Event, moment: datetime) -> dict[str, Any]:
    """The event as the object of its line."""
    stamp = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
    document: dict[str, Any] = {"time": stamp, "event": type(event).__name__}
    document.update(_plain(_event_fields(event)))
    return document


def _event_fields(event: Event) -> dict[str, Any]:
    match event:
        case Metric(run_id=run_id, metric=metric):
            return {"run_id": run_id, **structs.asdict(metric)}
        case Mark(run_id=run_id, mark=mark):
            values = structs.asdict(mark)
            return {"run_id": run_id, "mark": values.pop("kind"), **values}
        case JobStatus(run_id=run_id, state=state):
            return {"run_id": run_id, "status": state.phase, "code": state.exit_code}
        case System(run_id=run_id, sample=sample):
            return {"run_id": run_id, **structs.asdict(sample)}
        case _:
            return structs.asdict(event)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return _plain(structs.asdict(value))
    if isinstance(value, dict):
        # `time` of a metric line is the trainer's clock: it keeps its own name beside the line's time.
        return {
            ("trainer_time" if key == "time" else key): _plain(item) for key, item in value.items() if item is not None
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


class EventLog:
    """Observer that appends events to a file (mode 600), or to standard error for `-`."""

    def __init__(self, destination: str, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._name = destination
        self._descriptor: int | None = None
        self._owned = destination != "-"
        self._is_file = False
        self._rest = b""
        self._begun = 0
        self._lost = 0
        try:
            self._descriptor = self._open()
        except OSError as error:
            self._give_up(error)

    def _open(self) -> int:
        if not self._owned:
            return sys.stderr.fileno()
        # A FIFO without a reader would hold the command for ever, and one with a slow reader would slow it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(Path(self._name), flags, 0o600)
        self._is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return descriptor

    def on_event(self, event: Event) -> None:
        """Append the event's line with one write; a full pipe loses it."""
        if self._descriptor is None:
            return
        line = json.dumps(event_document(event, self._clock.now()), ensure_ascii=False) + "\n"
        try:
            self._write_rest(self._descriptor)
            if self._rest:
                self._lost += 1
                return
            encoded = line.encode("utf-8", errors="replace")
            self._begun = os.write(self._descriptor, encoded)
            self._rest = encoded[self._begun :]
            if self._rest and self._is_file:
                self._write_rest(self._descriptor)
        except BlockingIOError:
            self._lost += 1
        except OSError as error:
            self._give_up(error)

    def _write_rest(self, descriptor: int) -> None:
        """Go on with a line of which only a part was taken; a file that is full is left without the part."""
        if not self._rest:
            return
        try:
            self._rest = self._rest[os.write(descriptor, self._rest) :]
        except OSError:
            if self._is_file:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - self._begun)
            raise

    def on_close(self) -> None:
        """A bus closed; the log stays open for the next one."""

    def close(self) -> None:
        """Close the file; what a slow reader missed is told."""
        descriptor, self._descriptor = self._descriptor, None
        if self._lost:
            _log.warning("%d event(s) are not in %s: its reader was too slow", self._lost, self._name)
            self._lost = 0
        if descriptor is not None and self._owned:
            os.close(descriptor)

    def _give_up(self, error: OSError) -> None:
        why = "nobody reads it" if error.errno == errno.ENXIO else error.strerror
        _log.warning("cannot write the events to %s: %s", self._name, why)
        self.close()
