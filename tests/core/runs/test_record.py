"""`run.json`: its bytes, its reading, and what is said about a bad one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import InvalidRunIdError
from overbrainer_core.runs.record import (
    InvalidRecordError,
    RunRecord,
    RunState,
    Snapshot,
    UnknownRunError,
    load_run,
    parse_record,
    save_run,
    to_json,
)
from overbrainer_core.values.job import Container, JobHandle

RECORD = RunRecord(
    id="demo_20260922-143005",
    target="here",
    created=parse_rfc3339("2026-09-22T14:30:05Z"),
    remote_dir="/w/demo_20260922-143005",
    job=JobHandle(
        directory="/w/demo_20260922-143005",
        pid=4711,
        container=Container(engine="podman", name="overbrainer-demo_20260922-143005"),
    ),
    state=RunState.STOPPED,
    message="é\n",
    snapshot=Snapshot(checkpoint="output/checkpoint-40", step=40, reason="requested"),
    resumed_from="demo_20260921-143005",
    snapshots=True,
    ended=parse_rfc3339("2026-09-22T15:00:00Z"),
)

FULL = """{
  "id": "demo_20260922-143005",
  "target": "here",
  "created": "2026-09-22T14:30:05Z",
  "remote_dir": "/w/demo_20260922-143005",
  "job": {
    "dir": "/w/demo_20260922-143005",
    "pid": 4711,
    "container": {
      "engine": "podman",
      "name": "overbrainer-demo_20260922-143005"
    }
  },
  "state": "stopped",
  "message": "é\\n",
  "snapshot": {
    "checkpoint": "output/checkpoint-40",
    "step": 40,
    "reason": "requested"
  },
  "resumed_from": "demo_20260921-143005",
  "snapshots": true,
  "ended": "2026-09-22T15:00:00Z"
}
"""

SMALL = """{
  "id": "a",
  "target": "here",
  "created": "2026-09-22T14:30:05Z",
  "remote_dir": "/w/a",
  "job": null,
  "state": "preparing",
  "message": null
}
"""

PATH = Path("runs/a/run.json")


def test_a_full_record_has_every_key_in_its_order() -> None:
    assert to_json(RECORD) == FULL
    assert parse_record(FULL.encode(), PATH) == RECORD


def test_what_is_not_known_yet_is_null_or_left_out() -> None:
    record = RunRecord(id="a", target="here", created=RECORD.created, remote_dir="/w/a")
    assert to_json(record) == SMALL
    assert parse_record(SMALL.encode(), PATH) == record
    assert '"container": null' in to_json(replace(record, job=JobHandle(directory="/w/a", pid=2)))


def test_unknown_keys_are_accepted() -> None:
    text = SMALL.replace('"id"', '"new": {"deep": [1]}, "id"')
    assert parse_record(text.encode(), PATH).id == "a"


def test_a_record_of_an_older_version_has_no_snapshots() -> None:
    assert not parse_record(SMALL.encode(), PATH).snapshots
    assert not parse_record(SMALL.replace('"a",', '"a", "snapshots": false,', 1).encode(), PATH).snapshots


@pytest.mark.parametrize(
    ("old", "new", "position"),
    [
        ('"target"', '"target', (3, 13)),
        ('"preparing"', '"dancing-secret"', (7, 3)),
        ('"2026-09-22T14:30:05Z"', '"2026-02-30T14:30:05Z"', (4, 3)),
        ('"2026-09-22T14:30:05Z"', '"2026-9-22T14:30:05Z"', (4, 3)),
        ('"2026-09-22T14:30:05Z"', '"+2026-09-22T14:30:05"', (4, 3)),
        ('  "target": "here",\n', "", (8, 1)),
        ('"here"', "7", (3, 3)),
        ('"job": null', '"job": {"dir": "/w", "pid": "7"}', (6, 24)),
        ('"job": null', '"job": {"dir": "/w", "pid": 9, "container": {"engine": "lxc", "name": "n"}}', (6, 48)),
        ('"job": null', '"job": {"dir": "/w", "pid": true}', (6, 24)),
        ('"job": null', '"snapshot": {"checkpoint": "output/../x", "step": 4, "reason": "r"}', (6, 16)),
        ('"job": null', '"snapshot": {"checkpoint": "output/checkpoint--4", "step": -4, "reason": "r"}', (6, 16)),
        ('"job": null', '"snapshots": 1', (6, 3)),
    ],
)
def test_a_bad_record_is_told_by_position_and_never_quoted(old: str, new: str, position: tuple[int, int]) -> None:
    text = SMALL.replace(old, new, 1)
    with pytest.raises(InvalidRecordError) as error:
        parse_record(text.encode(), PATH)
    line, column = position
    assert str(error.value) == f"runs/a/run.json is not a valid run record (line {line}, column {column})"


@pytest.mark.parametrize("pid", [1, 0, -5])
def test_a_process_id_that_kill_would_misread_is_refused(pid: int) -> None:
    text = SMALL.replace('"job": null', f'"job": {{"dir": "/w", "pid": {pid}, "container": null}}')
    with pytest.raises(InvalidRecordError, match=f"invalid process id {pid}$"):
        parse_record(text.encode(), PATH)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"\xff\xfe", b'{"id": ' + b"9" * 5000 + b"}", b"[" * 100_000, b'{"id": "\xff"}']
)
def test_no_content_crashes_the_reader(content: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        parse_record(content, PATH)


def test_saving_replaces_the_file_and_leaves_no_temporary_one(paths: ProjectPaths) -> None:
    record = replace(RECORD, id="a")
    paths.run("a").mkdir(parents=True)
    save_run(paths, record)
    save_run(paths, replace(record, message="new"))
    assert load_run(paths, "a").message == "new"
    assert [entry.name for entry in paths.run("a").iterdir()] == ["run.json"]


def test_a_failed_save_keeps_the_old_record_and_no_temporary_file(
    paths: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = replace(RECORD, id="a")
    paths.run("a").mkdir(parents=True)
    save_run(paths, record)

    def refuse(source: object, destination: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileAccessError):
        save_run(paths, replace(record, message="new"))
    assert load_run(paths, "a") == record
    assert [entry.name for entry in paths.run("a").iterdir()] == ["run.json"]


def test_a_deleted_run_directory_is_not_made_again(paths: ProjectPaths) -> None:
    with pytest.raises(FileAccessError):
        save_run(paths, replace(RECORD, id="a"))
    assert not paths.run("a").exists()


def test_an_id_is_checked_before_it_becomes_a_path(paths: ProjectPaths) -> None:
    with pytest.raises(InvalidRunIdError, match=r"\.\./x is not a valid run ID"):
        load_run(paths, "../x")
    with pytest.raises(InvalidRunIdError):
        save_run(paths, replace(RECORD, id="../x"))


def test_an_unknown_run_is_told_with_a_near_miss(paths: ProjectPaths) -> None:
    with pytest.raises(UnknownRunError, match=r"^no run `demo` in runs/$"):
        load_run(paths, "demo")
    paths.run("demo_20260922-143005").mkdir(parents=True)
    with pytest.raises(UnknownRunError, match=r"; did you mean `demo_20260922-143005`\?$"):
        load_run(paths, "demo_20260922-143006")


def test_a_pipe_or_a_directory_in_the_place_of_the_record_is_refused(paths: ProjectPaths) -> None:
    paths.run("a").mkdir(parents=True)
    os.mkfifo(paths.run("a") / "run.json")
    with pytest.raises(FileAccessError):
        load_run(paths, "a")
    (paths.run("b") / "run.json").mkdir(parents=True)
    with pytest.raises(FileAccessError):
        load_run(paths, "b")


def test_every_state_knows_whether_it_has_ended() -> None:
    assert [state.value for state in RunState if not state.has_ended] == ["preparing", "running"]
    assert json.loads(to_json(RECORD))["state"] == "stopped"
