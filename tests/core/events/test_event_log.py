"""Events become JSON lines that other programs read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from overbrainer_core.events.event_log import EventLog, event_document
from overbrainer_core.events.types import ItemDone, JobStatus, Mark, Metric, StageFinished, System
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_core.values.sample import Cpu, Disk, MachineSample
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage
from tests.conftest import FakeClock

TIME = "2026-11-02T08:15:00.000Z"


def test_an_item_is_told_with_its_usage_and_without_what_is_absent(fake_clock: FakeClock) -> None:
    event = ItemDone(stage=Stage.ANSWERS, id="a1", usage=Usage(input_tokens=3, output_tokens=4))
    assert event_document(event, fake_clock.now()) == {
        "time": TIME,
        "event": "ItemDone",
        "stage": "answers",
        "id": "a1",
        "usage": {"input_tokens": 3, "output_tokens": 4},
        "excluded": False,
    }


def test_stats_are_an_object(fake_clock: FakeClock) -> None:
    document = event_document(StageFinished(stage=Stage.SPLIT, stats=StageStats(done=2)), fake_clock.now())
    assert document["stats"]["done"] == 2
    assert "cost" not in document["stats"]


def test_a_metric_stands_at_the_top_level_beside_the_lines_own_time(fake_clock: FakeClock) -> None:
    document = event_document(Metric(run_id="r", metric=TrainMetric(time=9.5, step=3, loss=0.5)), fake_clock.now())
    assert document == {
        "time": TIME,
        "event": "Metric",
        "run_id": "r",
        "trainer_time": 9.5,
        "step": 3,
        "loss": 0.5,
    }


def test_a_mark_names_its_kind(fake_clock: FakeClock) -> None:
    mark = PhaseMark(kind=MarkKind.EVAL, time=1.0, step=2, total=9)
    document = event_document(Mark(run_id="r", mark=mark), fake_clock.now())
    assert (document["mark"], document["step"], document["total"]) == ("eval", 2, 9)


def test_a_job_status_has_its_code_only_when_it_exited(fake_clock: FakeClock) -> None:
    running = event_document(JobStatus(run_id="r", state=JobState(phase=JobPhase.RUNNING)), fake_clock.now())
    assert running["status"] == "running"
    assert "code" not in running
    exited = event_document(JobStatus(run_id="r", state=JobState(phase=JobPhase.EXITED, exit_code=0)), fake_clock.now())
    assert exited["code"] == 0


def test_a_sample_is_told_whole(fake_clock: FakeClock) -> None:
    disk = Disk(mount="/", fs_type=None, is_shared=False, size_bytes=9, used_bytes=4, available_bytes=5)
    cpu = Cpu(usage=None, load1=0.5, cpus=2.0, is_container=False)
    sample = MachineSample(at=fake_clock.now(), disks=(disk,), cpu=cpu)
    document = event_document(System(run_id="r", sample=sample), fake_clock.now())
    assert document["disks"][0]["mount"] == "/"
    assert document["at"] == "2026-11-02T08:15:00Z"
    json.dumps(document)


def test_lines_are_appended_to_a_private_file(tmp_path: Path, fake_clock: FakeClock) -> None:
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        log = EventLog(str(path), clock=fake_clock)
        log.on_event(ItemDone(stage=Stage.ANSWERS, id="é"))
        log.on_close()
        log.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["é", "é"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_warns_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = EventLog(str(tmp_path / "missing" / "events"))
    for number in range(3):
        log.on_event(ItemDone(stage=Stage.ANSWERS, id=str(number)))
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


def test_a_full_disk_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    log = EventLog("/dev/full")
    for number in range(3):
        log.on_event(ItemDone(stage=Stage.ANSWERS, id=str(number)))
    assert caplog.text.count("cannot write the events") == 1


def test_a_pipe_that_nobody_reads_neither_holds_nor_fails_the_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    log = EventLog(str(fifo))
    log.on_event(ItemDone(stage=Stage.ANSWERS, id="a"))
    log.close()
    assert caplog.messages == [f"cannot write the events to {fifo}: nobody reads it"]


def test_a_slow_reader_of_a_pipe_gets_whole_lines_and_the_lost_ones_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    log = EventLog(str(fifo))
    for number in range(600):
        log.on_event(ItemDone(stage=Stage.ANSWERS, id=f"{number:0300}"))
    taken = b""
    while part := os.read(reader, 1 << 16):
        taken += part
        if len(part) < 1 << 16:
            break
    log.on_event(ItemDone(stage=Stage.ANSWERS, id="last"))
    taken += os.read(reader, 1 << 16)
    os.close(reader)
    lines = taken.decode().splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    assert ids[-1] == "last"
    assert len(ids) < 600
    log.close()
    assert caplog.messages == [f"{601 - len(ids)} event(s) are not in {fifo}: its reader was too slow"]


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(str(path))
    log.on_event(ItemDone(stage=Stage.ANSWERS, id="whole"))
    real, calls = os.write, iter((5, None))

    def full(descriptor: int, content: bytes) -> int:
        room = next(calls)
        if room is None:
            raise OSError(28, "No space left on device")
        return real(descriptor, content[:room])

    monkeypatch.setattr(os, "write", full)
    log.on_event(ItemDone(stage=Stage.ANSWERS, id="torn"))
    monkeypatch.undo()
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["id"] == "whole"
