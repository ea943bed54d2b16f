"""What operations on a run work with."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.runs.context import NoJobError, RunContext, job_of, log_hint
from overbrainer_core.runs.record import RunRecord, load_run


@pytest.fixture
def record(context: RunContext) -> RunRecord:
    context.paths.run("a").mkdir(parents=True)
    return RunRecord(
        id="a", target="t", created=parse_rfc3339("2026-01-01T00:00:00Z"), remote_dir=str(context.paths.run("a"))
    )


def test_a_run_is_in_place_only_on_this_machine_and_in_this_project(
    context: RunContext, record: RunRecord, tmp_path: Path
) -> None:
    assert not context.is_in_place(record)
    local = replace(context, is_local=True)
    assert local.is_in_place(record)
    (tmp_path / "link").symlink_to(context.paths.run("a"))
    assert local.is_in_place(replace(record, remote_dir=str(tmp_path / "link")))
    assert not local.is_in_place(replace(record, remote_dir="/elsewhere/a"))


async def test_a_save_returns_what_it_wrote(context: RunContext, record: RunRecord) -> None:
    assert await context.save(record) == load_run(context.paths, "a")


def test_now_is_to_the_second(context: RunContext, fake_clock: Any) -> None:
    fake_clock.moment += timedelta(microseconds=7)
    assert context.now().microsecond == 0


def test_a_run_without_a_job_says_so(record: RunRecord) -> None:
    with pytest.raises(NoJobError, match="run a has no job: it stopped before the job started"):
        job_of(record)
    assert log_hint("a") == "see runs/a/job.log"


def test_a_clock_that_was_set_back_lets_no_run_end_before_it_began(
    context: RunContext, record: RunRecord, fake_clock: Any
) -> None:
    fake_clock.moment = record.created + timedelta(seconds=5)
    assert context.end_of(record) == fake_clock.moment
    fake_clock.moment = record.created - timedelta(days=400)
    assert context.end_of(record) == record.created
