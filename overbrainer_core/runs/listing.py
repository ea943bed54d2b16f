"""How do the runs of a project read as lines and as a document?

Local files only. The last values of a run come from the end of its metrics file, so a listing costs the same
whatever the length of a run. A thousand runs are listed in the time that a library takes to load, so the lines do
without the one that reads metrics elsewhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from overbrainer_core.clock import rfc3339
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runs.store import nested_counts
from overbrainer_core.text import escape_controls, finite

LINE_TAIL_BYTES = 512
"""Bytes read of a metrics file for one line of the listing: the last steps."""

_decode = json.JSONDecoder().decode

DOCUMENT_TAIL_BYTES = 65536
"""Bytes read of a metrics file for the document: far enough back for the last evaluation."""


def filter_runs(
    records: Sequence[RunRecord], *, state: str | None = None, target: str | None = None, limit: int | None = None
) -> list[RunRecord]:
    """The records of that state and target, the newest `limit` of them, in the order given."""
    kept = [
        record
        for record in records
        if (state is None or record.state == state) and (target is None or record.target == target)
    ]
    return kept if limit is None else kept[-limit:]


def last_loss(path: str) -> float | None:
    """The newest training loss at the end of a metrics file; None when that part tells none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, LINE_TAIL_BYTES, max(size - LINE_TAIL_BYTES, 0))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    end = tail.rfind(b"\n")
    while (found := tail.rfind(b'"loss"', 0, max(end, 0))) >= 0:
        start = tail.rfind(b"\n", 0, found) + 1
        loss = _loss(tail[start : tail.find(b"\n", found)])
        if loss is not None:
            return loss
        end = start
    return None


def _loss(line: bytes) -> float | None:
    try:
        return finite(_decode(line.decode("utf-8")).get("loss"))
    except (ValueError, AttributeError, RecursionError):
        return None


def run_lines(paths: ProjectPaths, records: Sequence[RunRecord], *, now: datetime | None = None) -> Iterator[str]:
    """One line a run: ID, state, target, creation, what a stop left, how long it took, its last loss."""
    width = max((len(record.id) for record in records), default=0)
    runs = str(paths.runs)
    states = {state: (f"{state.value:<9}", state.has_ended) for state in RunState}
    for record in records:
        state, has_ended = states[record.state]
        fields = [record.id.ljust(width), state, escape_controls(record.target), rfc3339(record.created)]
        if record.snapshot is not None and record.state is RunState.STOPPED:
            reason = escape_controls(record.snapshot.reason)
            fields.append(f"step {record.snapshot.step} ({reason}): partial model in output/")
        end = record.ended if has_ended else now
        if end is not None:
            fields.append(duration_words((end - record.created).total_seconds()))
        loss = last_loss(f"{runs}/{record.id}/metrics.jsonl")
        if loss is not None:
            fields.append(f"loss {loss:.4f}")
        yield "  ".join(fields)


def duration_words(seconds: float) -> str:
    """A duration as `45s`, `1m00s`, `3h02m` or `3d04h`; a negative one counts as none."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def runs_document(paths: ProjectPaths, records: Sequence[RunRecord]) -> dict[str, Any]:
    """The runs as the document of `runs ls --json`."""
    return {"runs": [run_object(paths, record) for record in records]}


def run_object(paths: ProjectPaths, record: RunRecord) -> dict[str, Any]:
    """One run as an object of the document."""
    from overbrainer_core.training.metrics import MetricsSummary, read_latest  # not loaded for lines

    exports, compares = nested_counts(paths, record.id)
    try:
        values = read_latest(paths.run(record.id) / "metrics.jsonl", tail_bytes=DOCUMENT_TAIL_BYTES)
    except FileAccessError:
        values = MetricsSummary()
    snapshot = record.snapshot
    return {
        "id": record.id,
        "state": record.state.value,
        "target": record.target,
        "created": rfc3339(record.created),
        "ended": None if record.ended is None else rfc3339(record.ended),
        "message": record.message,
        "snapshot": None
        if snapshot is None
        else {"checkpoint": snapshot.checkpoint, "step": snapshot.step, "reason": snapshot.reason},
        "resumed_from": record.resumed_from,
        "last": None
        if not values.plugin_lines
        else {
            "step": values.step,
            "max_steps": values.max_steps,
            "epoch": values.epoch,
            "loss": values.loss,
            "eval_loss": values.eval_loss,
        },
        "pod": None,
        "exports": exports,
        "compares": compares,
    }
