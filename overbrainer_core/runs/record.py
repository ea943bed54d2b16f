"""What is written about a run in its `run.json`, and how is it read back?

The bytes are shared with projects made by overbrainer 0.10: keys in a fixed order, two spaces, a final newline.
A reader sees an old or a new record, never a part; unknown keys are accepted; what is wrong with a record is told
by its position only, since its content may come from anywhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from overbrainer_core.clock import parse_rfc3339, rfc3339
from overbrainer_core.errors import JobError, RunError, describe
from overbrainer_core.files import FileAccessError, UnsafePathError, create_exclusive, read_regular
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import check_run_id
from overbrainer_core.values.job_handle import Container, JobHandle

FILE_NAME = "run.json"
"""The record's name in the run directory."""


class RunState(StrEnum):
    """How a run stands, as recorded."""

    PREPARING = "preparing"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STOPPED = "stopped"

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the run goes on, by its record."""
        return self not in (RunState.PREPARING, RunState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The checkpoint that a stopped run saved: `output/checkpoint-<step>`, and why."""

    checkpoint: str
    step: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One `run.json`; `snapshots` is true once a job started that reads snapshot requests."""

    id: str
    target: str
    created: datetime
    remote_dir: str
    job: JobHandle | None = None
    state: RunState = RunState.PREPARING
    message: str | None = None
    snapshot: Snapshot | None = None
    resumed_from: str | None = None
    snapshots: bool = False
    ended: datetime | None = None


class UnknownRunError(RunError):
    """There is no run of that ID in the project."""


class UnrecordedEndError(JobError):
    """A run ended and its record cannot be written, because its directory is gone or the disk is full."""

    def __init__(self, record: RunRecord, error: FileAccessError) -> None:
        end = record.message or f"run {record.id} {record.state}"
        super().__init__(f"{end}; its end cannot be recorded: {describe(error)}")


class InvalidRecordError(RunError):
    """A `run.json` cannot be read as a record."""

    def __init__(self, path: Path | str, line: int, column: int, *, detail: str = "") -> None:
        where = f"{path} is not a valid run record (line {line}, column {column})"
        super().__init__(f"{where}: {detail}" if detail else where)


def save_run(paths: ProjectPaths, record: RunRecord) -> None:
    """Write the record of a run whose directory exists.

    Raises:
        InvalidRunIdError: the ID cannot be a directory.
        FileAccessError: it cannot be written; the old record stays, no temporary file does.
    """
    directory = paths.run(check_run_id(record.id))
    temporary = directory / f".{FILE_NAME}.{os.urandom(8).hex()}.tmp"
    path = directory / FILE_NAME
    try:
        create_exclusive(temporary, to_json(record).encode("utf-8"))
        try:
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileAccessError(path) from error


def load_run(paths: ProjectPaths, run_id: str) -> RunRecord:
    """The record of a run.

    Raises:
        InvalidRunIdError: the ID cannot be a directory.
        UnknownRunError: there is no such run; a near miss is named.
        InvalidRecordError: the record cannot be understood.
        FileAccessError: it cannot be read.
    """
    try:
        return read_record(f"{paths.run(check_run_id(run_id))}/{FILE_NAME}")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnknownRunError(f"no run `{run_id}` in runs/{_near_miss(paths, run_id)}") from error


def read_record(path: str) -> RunRecord:
    """The record in a file.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        InvalidRecordError: it cannot be understood.
        FileAccessError: it cannot be read.
    """
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, UnsafePathError) as error:
        raise FileAccessError(path) from error
    return parse_record(content, path)


def _near_miss(paths: ProjectPaths, run_id: str) -> str:
    import difflib  # only where a message is made: it is slow to import

    try:
        names = [entry.name for entry in os.scandir(paths.runs) if entry.is_dir() and entry.name != run_id]
    except OSError:
        return ""
    matches = difflib.get_close_matches(run_id, names, n=1)
    return f"; did you mean `{matches[0]}`?" if matches else ""


def to_json(record: RunRecord) -> str:
    """The record as it stands in its file."""
    return json.dumps(_document(record), indent=2, ensure_ascii=False) + "\n"


def _document(record: RunRecord) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": record.id,
        "target": record.target,
        "created": rfc3339(record.created),
        "remote_dir": record.remote_dir,
        "job": _job_document(record.job),
        "state": record.state.value,
        "message": record.message,
    }
    if record.snapshot is not None:
        snapshot = record.snapshot
        document["snapshot"] = {"checkpoint": snapshot.checkpoint, "step": snapshot.step, "reason": snapshot.reason}
    if record.resumed_from is not None:
        document["resumed_from"] = record.resumed_from
    if record.snapshots:
        document["snapshots"] = True
    if record.ended is not None:
        document["ended"] = rfc3339(record.ended)
    return document


def _job_document(job: JobHandle | None) -> dict[str, Any] | None:
    if job is None:
        return None
    container = {"engine": job.container.engine, "name": job.container.name} if job.container else None
    return {"dir": job.directory, "pid": job.pid, "container": container}


class _FieldError(ValueError):
    """A key of the record has no usable value; `key` is None when it is missing."""

    def __init__(self, key: str | None, detail: str = "") -> None:
        super().__init__(detail)
        self.key = key
        self.detail = detail


def parse_record(content: bytes, path: Path | str) -> RunRecord:
    """The record in these bytes; `path` only for the message.

    Raises:
        InvalidRecordError: they are no record.
    """
    try:
        return _record(json.loads(content.decode("utf-8")))
    except json.JSONDecodeError as error:
        raise InvalidRecordError(path, error.lineno, error.colno) from None
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        raise InvalidRecordError(path, *_position(before, len(before))) from None
    except _FieldError as error:
        text = content.decode("utf-8")
        found = re.search(rf'"{re.escape(error.key)}"\s*:', text) if error.key else None
        offset = found.start() if found else max(len(text.rstrip()) - 1, 0)
        raise InvalidRecordError(path, *_position(text, offset), detail=error.detail) from None
    except (ValueError, RecursionError):
        raise InvalidRecordError(path, 1, 1) from None


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _record(document: Any) -> RunRecord:
    fields = _object(document, None)
    return RunRecord(
        id=_text(fields, "id"),
        target=_text(fields, "target"),
        created=_time(fields, "created"),
        remote_dir=_text(fields, "remote_dir"),
        job=_job(fields.get("job")),
        state=_state(fields),
        message=_optional_text(fields, "message"),
        snapshot=_snapshot(fields.get("snapshot")),
        resumed_from=_optional_text(fields, "resumed_from"),
        snapshots=_flag(fields, "snapshots"),
        ended=_time(fields, "ended") if fields.get("ended") is not None else None,
    )


def _object(value: Any, key: str | None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _FieldError(key)
    return value


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise _FieldError(key if key in fields else None)
    return value


def _optional_text(fields: Mapping[str, Any], key: str) -> str | None:
    return None if fields.get(key) is None else _text(fields, key)


def _whole(fields: Mapping[str, Any], key: str) -> int:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _FieldError(key if key in fields else None)
    return value


def _flag(fields: Mapping[str, Any], key: str) -> bool:
    value = fields.get(key, False)
    if not isinstance(value, bool):
        raise _FieldError(key)
    return value


def _time(fields: Mapping[str, Any], key: str) -> datetime:
    text = _text(fields, key)
    try:
        return parse_rfc3339(text)
    except ValueError:
        raise _FieldError(key) from None


def _state(fields: Mapping[str, Any]) -> RunState:
    text = _text(fields, "state")
    try:
        return RunState(text)
    except ValueError:
        raise _FieldError("state") from None


def _job(value: Any) -> JobHandle | None:
    if value is None:
        return None
    fields = _object(value, "job")
    pid = _whole(fields, "pid")
    if pid < 2:
        # 0 is every process for `kill`, 1 is init, and a negative number turns `kill` around
        raise _FieldError("pid", f"invalid process id {pid}")
    container = None
    if fields.get("container") is not None:
        parts = _object(fields["container"], "container")
        container = Container(engine=_text(parts, "engine"), name=_text(parts, "name"))
        if container.engine not in ("docker", "podman"):
            raise _FieldError("engine")
    return JobHandle(directory=_text(fields, "dir"), pid=pid, container=container)


def _snapshot(value: Any) -> Snapshot | None:
    if value is None:
        return None
    fields = _object(value, "snapshot")
    step = _whole(fields, "step")
    checkpoint = _text(fields, "checkpoint")
    if step < 0 or checkpoint != f"output/checkpoint-{step}":
        raise _FieldError("checkpoint")
    return Snapshot(checkpoint=checkpoint, step=step, reason=_text(fields, "reason"))
