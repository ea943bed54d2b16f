"""Runs read as aligned lines and as one document, from local files only."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.listing import (
    duration_words,
    filter_runs,
    last_loss,
    run_lines,
    runs_document,
)
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot, save_run

CREATED = parse_rfc3339("2026-09-29T08:00:00Z")


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    return ProjectPaths(tmp_path)


def saved(paths: ProjectPaths, run_id: str, state: RunState = RunState.SUCCEEDED, **fields: object) -> RunRecord:
    """A record on disk."""
    record = RunRecord(id=run_id, target="here", created=CREATED, remote_dir="/r", state=state, **fields)  # type: ignore[arg-type]
    paths.run(run_id).mkdir(parents=True)
    save_run(paths, record)
    return record


def metrics(paths: ProjectPaths, run_id: str, lines: list[dict[str, object]], tail: str = "") -> None:
    """A metrics file of these lines."""
    text = "".join(json.dumps({"event": "log", "time": 1.0, **line}) + "\n" for line in lines) + tail
    (paths.run(run_id) / "metrics.jsonl").write_text(text)


def test_ids_are_aligned_and_a_stopped_run_tells_its_snapshot(paths: ProjectPaths) -> None:
    snapshot = Snapshot(checkpoint="output/checkpoint-1240", step=1240, reason="requested")
    records = [
        saved(paths, "demo_20260929-080000"),
        saved(paths, "demo_20260929-080000_2", RunState.STOPPED, snapshot=snapshot),
    ]
    assert list(run_lines(paths, records)) == [
        "demo_20260929-080000    succeeded  here  2026-09-29T08:00:00Z",
        "demo_20260929-080000_2  stopped    here  2026-09-29T08:00:00Z"
        "  step 1240 (requested): partial model in output/",
    ]


def test_duration_and_last_loss_stand_after_the_other_fields(paths: ProjectPaths) -> None:
    record = saved(paths, "a_1", ended=CREATED + timedelta(seconds=130))
    metrics(paths, "a_1", [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 0.5}])
    assert list(run_lines(paths, [record])) == ["a_1  succeeded  here  2026-09-29T08:00:00Z  2m10s  loss 0.5000"]


def test_a_running_run_tells_how_long_it_has_run(paths: ProjectPaths) -> None:
    record = saved(paths, "a_1", RunState.RUNNING)
    lines = list(run_lines(paths, [record], now=CREATED + timedelta(hours=3, minutes=2)))
    assert lines == ["a_1  running    here  2026-09-29T08:00:00Z  3h02m"]


def test_no_run_gives_no_line(paths: ProjectPaths) -> None:
    assert list(run_lines(paths, [])) == []


def test_filters_keep_the_newest_that_match() -> None:
    records = [
        RunRecord(id=f"r{n}", target="here" if n % 2 else "there", created=CREATED, remote_dir="/r") for n in range(6)
    ]
    assert [record.id for record in filter_runs(records, target="here", limit=2)] == ["r3", "r5"]
    assert filter_runs(records, state="failed") == []


def test_the_loss_comes_from_the_end_of_a_long_file(paths: ProjectPaths) -> None:
    saved(paths, "a_1")
    lines: list[dict[str, object]] = [{"step": n, "loss": n / 10, "max_steps": 5000} for n in range(5000)]
    metrics(paths, "a_1", lines, tail='{"event":"log","time":1.0,"step":9999,"lo')
    assert last_loss(str(paths.run("a_1") / "metrics.jsonl")) == 499.9


@pytest.mark.parametrize(
    "line", ['{"loss":NaN}', '{"loss":"1"}', '["loss"]', '{"loss":1e400}', '{"loss"', '{"loss":null}']
)
def test_a_loss_that_is_no_number_is_passed_over(paths: ProjectPaths, line: str) -> None:
    saved(paths, "a_1")
    metrics(paths, "a_1", [{"step": 1, "loss": 2.5}], tail=line + "\n")
    assert last_loss(str(paths.run("a_1") / "metrics.jsonl")) == 2.5


def test_a_metrics_file_that_cannot_be_read_has_no_loss(paths: ProjectPaths, tmp_path: Path) -> None:
    saved(paths, "a_1")
    (paths.run("a_1") / "metrics.jsonl").mkdir()
    assert last_loss(str(paths.run("a_1") / "metrics.jsonl")) is None
    assert last_loss(str(tmp_path / "missing")) is None


def test_the_document_tells_absent_values_as_null(paths: ProjectPaths) -> None:
    record = saved(paths, "a_1")
    (paths.run("a_1") / "exports" / "export_1").mkdir(parents=True)
    assert runs_document(paths, [record]) == {
        "runs": [
            {
                "id": "a_1",
                "state": "succeeded",
                "target": "here",
                "created": "2026-09-29T08:00:00Z",
                "ended": None,
                "message": None,
                "snapshot": None,
                "resumed_from": None,
                "last": None,
                "pod": None,
                "exports": 1,
                "compares": 0,
            }
        ]
    }


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (10920, "3h02m"), (273600, "3d04h"), (-5, "0s")],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words
