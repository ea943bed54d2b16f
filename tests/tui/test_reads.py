"""Background reads: runs, metrics, a job's log, the history, the export."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunState, save_run
from overbrainer_tui import reads
from overbrainer_tui.effects import ExportLogs
from overbrainer_tui.view_models.run_track import TrainedWith
from overbrainer_tui.view_models.snapshots import Cost
from tests.tui.states import run_record, run_records


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path)
    found.state.mkdir()
    for record in run_records():
        found.run(record.id).mkdir(parents=True)
        save_run(found, record)
    return found


@pytest.fixture
def job_log(paths: ProjectPaths) -> Path:
    return paths.run(run_record().id) / "job.log"


def test_runs_are_listed_oldest_first_and_a_change_is_seen(paths: ProjectPaths) -> None:
    reader = reads.RunsReader(paths)
    assert reader.read(1).records == run_records()
    save_run(paths, run_record(state=RunState.SUCCEEDED))
    listed = reader.read(2)
    assert (listed.ticket, listed.records[-1].state) == (2, RunState.SUCCEEDED)


def test_an_unchanged_record_is_not_parsed_again(paths: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reads.RunsReader(paths)
    first = reader.read(1).records
    monkeypatch.setattr(reads, "load_run", lambda *_: pytest.fail("parsed again"))
    assert reader.read(2).records == first


def test_an_unreadable_record_is_skipped_and_warned_of_once(
    paths: ProjectPaths, caplog: pytest.LogCaptureFixture
) -> None:
    (paths.run(run_record().id) / "run.json").write_text("{")
    reader = reads.RunsReader(paths)
    with caplog.at_level(logging.WARNING):
        assert len(reader.read(1).records) == 4
        assert len(reader.read(2).records) == 4
    assert len([r for r in caplog.records if "unreadable" in r.getMessage()]) == 1


def test_a_directory_of_runs_that_cannot_be_listed_says_why(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    assert reads.RunsReader(ProjectPaths(tmp_path)).read(1).error


def test_no_directory_of_runs_lists_nothing(tmp_path: Path) -> None:
    assert reads.RunsReader(ProjectPaths(tmp_path)).read(1).records == ()


def test_metrics_are_read_into_curves_and_a_missing_file_gives_none(paths: ProjectPaths) -> None:
    run_id = run_record().id
    assert reads.read_track(paths, run_id) is None
    lines = [
        {"event": "begin", "time": 1.0, "max_steps": 30},
        *_logs(30),
        {"event": "stage", "time": 9, "name": "merge"},
    ]
    (paths.run(run_id) / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "torn")
    data = reads.read_track(paths, run_id)
    assert data is not None
    assert (data.curves.last_step, data.curves.max_steps, data.has_merge) == (30, 30, True)


def _logs(count: int) -> list[dict[str, object]]:
    return [{"event": "log", "time": float(n), "step": n, "loss": 1.0 / n} for n in range(1, count + 1)]


def test_a_read_that_nobody_wants_any_more_is_given_up(paths: ProjectPaths) -> None:
    run_id = run_record().id
    (paths.run(run_id) / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in _logs(5)))
    assert reads.read_track(paths, run_id, is_dropped=lambda: True) is None


def test_a_job_s_log_is_read_by_whole_lines_from_where_the_last_read_stopped(
    paths: ProjectPaths, job_log: Path
) -> None:
    job_log.write_text("one\ntwo\nhal")
    first = reads.read_job_log(paths, run_record().id, 0)
    assert (first.lines, first.start, first.offset) == (("one", "two"), 0, 8)
    with job_log.open("a") as handle:
        handle.write("f\n")
    second = reads.read_job_log(paths, run_record().id, first.offset)
    assert (second.lines, second.start, second.offset) == (("half",), 8, 13)
    assert reads.read_job_log(paths, run_record().id, 13).lines == ()


def test_a_job_s_log_that_became_shorter_is_read_from_its_start(paths: ProjectPaths, job_log: Path) -> None:
    job_log.write_text("new\n")
    read = reads.read_job_log(paths, run_record().id, 100)
    assert (read.lines, read.start, read.offset) == (("new",), 0, 4)


def test_secrets_and_controls_of_a_job_s_log_are_never_shown(paths: ProjectPaths, job_log: Path) -> None:
    job_log.write_bytes(b"HF_TOKEN=abc\n\x1b[31mred\r\n\xff\n")
    assert reads.read_job_log(paths, run_record().id, 0).lines == ("HF_TOKEN=***", "\\u{1b}[31mred", "\ufffd")


def test_a_huge_log_is_read_from_near_its_end(paths: ProjectPaths, job_log: Path) -> None:
    job_log.write_text("".join(f"line {number}\n" for number in range(200_000)))
    read = reads.read_job_log(paths, run_record().id, 0)
    assert read.lines[-1] == "line 199999"
    assert read.offset == job_log.stat().st_size
    assert len("".join(read.lines)) < reads.TAIL_BYTES


def test_a_missing_log_is_empty_and_a_linked_one_is_refused(paths: ProjectPaths, job_log: Path) -> None:
    assert reads.read_job_log(paths, run_record().id, 0).lines == ()
    job_log.symlink_to("/etc/hostname")
    read = reads.read_job_log(paths, run_record().id, 0)
    assert (read.lines, read.note.startswith("cannot read job.log")) == ((), True)


def test_the_cost_is_what_the_history_adds_up_to(paths: ProjectPaths) -> None:
    assert reads.read_cost(paths) == Cost(usd=None)


def test_an_export_writes_every_line_to_a_new_file_and_never_replaces_one(paths: ProjectPaths) -> None:
    effect = ExportLogs(name="logs-x.log", lines=("a", "b"))
    assert reads.write_export(paths, effect).count == 2
    path = paths.state / "logs-x.log"
    assert path.read_text() == "a\nb\n"
    again = reads.write_export(paths, ExportLogs(name="logs-x.log", lines=("c",)))
    assert again.error is not None
    assert path.read_text() == "a\nb\n"


def test_an_export_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / ".overbrainer").write_text("a file in the directory's place")
    outcome = reads.write_export(ProjectPaths(tmp_path), ExportLogs(name="l.log", lines=("a",)))
    assert outcome.error
    assert "again" not in outcome.error


def test_what_a_run_was_started_with_comes_from_its_own_files(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    directory = paths.run("r1")
    assert reads.read_trained_with(paths, "r1") is None
    (directory / "data").mkdir(parents=True)
    (directory / "axolotl.yaml").write_text("base_model: Qwen/Qwen3-4B\nadapter: qlora\nnum_epochs: 2\n")
    assert reads.read_trained_with(paths, "r1") == TrainedWith(base_model="Qwen/Qwen3-4B", adapter="qlora", epochs=2)
    example = '{"id": "a", "messages": []}\n'
    (directory / "data" / "train.jsonl").write_text(example * 3)
    (directory / "data" / "eval.jsonl").write_text("")
    (directory / "axolotl.yaml").write_text("base_model: [1]\nnum_epochs: many\n")
    assert reads.read_trained_with(paths, "r1") == TrainedWith(train_examples=3, eval_examples=0)
    (directory / "axolotl.yaml").write_text("a: [b\n")
    assert reads.read_trained_with(paths, "r1") is None
