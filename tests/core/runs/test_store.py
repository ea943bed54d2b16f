"""Listing the runs of a project."""

from __future__ import annotations

import logging

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunRecord, save_run
from overbrainer_core.runs.store import list_runs, nested_counts, newest_run, run_ids


def add(paths: ProjectPaths, run_id: str, created: str) -> None:
    """A run with a record."""
    paths.run(run_id).mkdir(parents=True)
    save_run(paths, RunRecord(id=run_id, target="t", created=parse_rfc3339(created), remote_dir="/r"))


def test_runs_are_listed_by_creation_then_id(paths: ProjectPaths) -> None:
    add(paths, "z", "2026-01-01T00:00:00Z")
    add(paths, "b", "2026-01-02T00:00:00Z")
    add(paths, "a", "2026-01-02T00:00:00Z")
    assert [record.id for record in list_runs(paths)] == ["z", "a", "b"]
    newest = newest_run(paths)
    assert newest is not None
    assert newest.id == "b"


def test_a_project_without_runs_lists_nothing(paths: ProjectPaths) -> None:
    assert list_runs(paths) == []
    assert newest_run(paths) is None


def test_what_is_no_run_is_passed_over(paths: ProjectPaths) -> None:
    add(paths, "a", "2026-01-01T00:00:00Z")
    (paths.runs / "file").write_text("")
    (paths.runs / "no_record").mkdir()
    (paths.runs / "-bad").mkdir()
    (paths.runs / "-bad" / "run.json").write_text("{}")
    assert run_ids(paths) == ["a"]


def test_an_unreadable_record_is_skipped_with_a_warning(paths: ProjectPaths, caplog: pytest.LogCaptureFixture) -> None:
    add(paths, "a", "2026-01-01T00:00:00Z")
    paths.run("b").mkdir()
    (paths.run("b") / "run.json").write_text("{secret")
    with caplog.at_level(logging.WARNING, "overbrainer"):
        assert [record.id for record in list_runs(paths)] == ["a"]
    (line,) = caplog.messages
    assert line.startswith("skipping unreadable run record for b: ")
    assert "secret" not in line


def test_a_directory_of_runs_that_cannot_be_listed_is_an_error(paths: ProjectPaths) -> None:
    paths.runs.write_text("")
    with pytest.raises(FileAccessError):
        list_runs(paths)


def test_exports_and_compares_of_a_run_are_counted(paths: ProjectPaths) -> None:
    assert nested_counts(paths, "a") == (0, 0)
    for name in ("exports/e1", "exports/e2", "compares/c1"):
        (paths.run("a") / name).mkdir(parents=True)
    (paths.run("a") / "exports" / "note").write_text("")
    assert nested_counts(paths, "a") == (2, 1)
