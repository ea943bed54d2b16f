"""What do the app's background reads bring? Local files only; called in threads.

A run record is parsed again only when its file changed, and an unreadable one is warned of once. A job's log is read by
whole lines from an offset on, a huge one from near its end.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from overbrainer_core.errors import OverbrainerError, describe
from overbrainer_core.files import create_exclusive, open_state
from overbrainer_core.history import read_history, total_of
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import FILE_NAME, RunRecord, load_run
from overbrainer_core.runs.store import run_ids
from overbrainer_core.secrets.redact import redact
from overbrainer_core.text import escape_controls
from overbrainer_tui.effects import ExportLogs, JobLogRead, LogsExported, RunsRead
from overbrainer_tui.view_models.run_track import TrackData, TrainedWith
from overbrainer_tui.view_models.snapshots import Cost

_log = logging.getLogger("overbrainer.runs")

READ_BYTES = 1 << 20
"""Bytes of a job's log read at once."""

TAIL_BYTES = 1 << 20
"""Bytes at the end of a job's log that a first look reads."""

DROP_LINES = 4096
"""Lines of a metrics file after which a read looks whether it is still wanted."""

_Stamp = tuple[int, int, int]


class RunsReader:
    """Lists the runs again and again, cheaply."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._known: dict[str, tuple[_Stamp, RunRecord | None]] = {}

    def read(self, ticket: int) -> RunsRead:
        """The records, oldest first, or why `runs/` cannot be listed."""
        try:
            ids = run_ids(self._paths)
        except OverbrainerError as error:
            return RunsRead(ticket=ticket, error=describe(error))
        self._known = {run_id: self._looked_at(run_id) for run_id in ids}
        records = [record for _, record in self._known.values() if record is not None]
        records.sort(key=lambda record: (record.created, record.id))
        return RunsRead(ticket=ticket, records=tuple(records))

    def _looked_at(self, run_id: str) -> tuple[_Stamp, RunRecord | None]:
        try:
            found = os.lstat(self._paths.run(run_id) / FILE_NAME)
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = (0, 0, 0)
        known = self._known.get(run_id)
        if known is not None and known[0] == stamp:
            return known
        try:
            return stamp, load_run(self._paths, run_id)
        except OverbrainerError as error:
            _log.warning("skipping unreadable run record for %s: %s", run_id, describe(error))
            return stamp, None


def read_track(paths: ProjectPaths, run_id: str, *, is_dropped: Callable[[], bool] = lambda: False) -> TrackData | None:
    """What the local metrics file of a run adds up to; None when there is none or it cannot be read.

    It is given up soon after `is_dropped` says that nobody wants it any more.
    """
    from overbrainer_core.training.metrics import iter_metrics_file  # its decoder is slow to import

    path = paths.run(run_id) / "metrics.jsonl"
    if not path.is_file() or path.is_symlink():
        return None
    data = TrackData(run_id)
    try:
        for number, line in enumerate(iter_metrics_file(path)):
            data.apply(line)
            if number % DROP_LINES == 0 and is_dropped():
                return None
    except OverbrainerError as error:
        _log.warning("cannot read the metrics of run %s: %s", run_id, describe(error))
        return None
    return data


def read_trained_with(paths: ProjectPaths, run_id: str) -> TrainedWith | None:
    """What a run was started with, by its own settings and data; None when its settings cannot be read."""
    # msgspec and YAML are slow to import
    from overbrainer_core.dataset.counts import count_examples
    from overbrainer_core.training.run_config import load_run_config

    directory = paths.run(run_id)
    config = load_run_config(directory)
    if config is None:
        return None

    def count(name: str) -> int | None:
        path = directory / "data" / name
        try:
            return count_examples(path) if path.is_file() else None
        except OverbrainerError as error:
            _log.warning("cannot count the examples of run %s: %s", run_id, describe(error))
            return None

    model, adapter, epochs = config.get("base_model"), config.get("adapter"), config.get("num_epochs")
    return TrainedWith(
        base_model=model if isinstance(model, str) else None,
        adapter=adapter if isinstance(adapter, str) else "full",
        epochs=epochs if isinstance(epochs, int | float) and not isinstance(epochs, bool) else None,
        train_examples=count("train.jsonl"),
        eval_examples=count("eval.jsonl"),
    )


def read_job_log(paths: ProjectPaths, run_id: str, offset: int) -> JobLogRead:
    """The whole lines of a run's `job.log` from `offset` on; from its start when it became shorter."""
    path = paths.run(run_id) / "job.log"
    try:
        descriptor = open_state(path, os.O_RDONLY)
    except FileNotFoundError:
        return JobLogRead(run_id=run_id, start=0, offset=0)
    except (OSError, OverbrainerError) as error:
        return JobLogRead(run_id=run_id, start=0, offset=0, note=f"cannot read job.log: {describe(error)}")
    with os.fdopen(descriptor, "rb") as handle:
        size = os.fstat(handle.fileno()).st_size
        start = offset if offset <= size else 0
        position = start
        if start == 0 and size > TAIL_BYTES:
            position = size - TAIL_BYTES
            handle.seek(position)
            position += len(handle.readline(TAIL_BYTES))
        handle.seek(position)
        content = handle.read(max(READ_BYTES, size - position))
    whole = content[: content.rfind(b"\n") + 1]
    if not whole and len(content) >= READ_BYTES:
        whole = content  # a line that long is shown in pieces
    lines = whole.decode("utf-8", "replace").split("\n")[: None if not whole.endswith(b"\n") else -1] if whole else []
    return JobLogRead(
        run_id=run_id,
        start=start,
        offset=position + len(whole),
        lines=tuple(escape_controls(redact(line.removesuffix("\r"))) for line in lines),
    )


def read_cost(paths: ProjectPaths) -> Cost:
    """What the history says the project cost."""
    totals = total_of(read_history(paths))
    return Cost(usd=totals.cost, is_partial=totals.is_partial)


def write_export(paths: ProjectPaths, effect: ExportLogs) -> LogsExported:
    """Write the lines to a new file; one that stands there already is never replaced."""
    path: Path = paths.state / effect.name
    content = "".join(f"{line}\n" for line in effect.lines).encode("utf-8", "replace")
    try:
        if not paths.state.is_dir():
            paths.state.mkdir()
        if path.exists():
            return LogsExported(name=effect.name, count=0, error=f"{effect.name} exists already; try again")
        create_exclusive(path, content)
    except (OSError, OverbrainerError) as error:
        return LogsExported(name=effect.name, count=0, error=describe(error))
    return LogsExported(name=effect.name, count=len(effect.lines))
