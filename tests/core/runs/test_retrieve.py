"""Results that come back, in place or copied, and the note about those that did not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.outcome import Verdict
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runs.retrieve import MissingOutputError, has_note, retrieve_run, with_note, without_note
from overbrainer_core.training.trainer import TRAINING_ARTIFACTS

SUCCEEDED = Verdict(state=RunState.SUCCEEDED)


@pytest.fixture
def local(context: RunContext) -> RunContext:
    """A context whose run directory is its own target."""
    context.paths.run("a").mkdir(parents=True)
    return replace(context, is_local=True)


@pytest.fixture
def record(local: RunContext) -> RunRecord:
    return RunRecord(
        id="a",
        target="t",
        created=parse_rfc3339("2026-01-01T00:00:00Z"),
        remote_dir=str(local.paths.run("a").resolve()),
    )


async def test_in_place_nothing_is_copied_and_the_output_is_looked_for(
    local: RunContext, record: RunRecord, target: Any
) -> None:
    output = local.paths.run("a") / "output"
    (output / "checkpoint-3").mkdir(parents=True)
    (output / "checkpoint-3" / "state").write_text("")
    with pytest.raises(MissingOutputError, match="left no output"):
        await retrieve_run(local, record, SUCCEEDED, TRAINING_ARTIFACTS)
    (output / "model").write_text("")
    await retrieve_run(local, record, SUCCEEDED, TRAINING_ARTIFACTS)
    assert target.calls == []


async def test_a_run_directory_that_is_gone_is_an_error(local: RunContext, record: RunRecord) -> None:
    local.paths.run("a").rmdir()
    with pytest.raises(CommandError, match=r'^manifest failed: ".*/a" does not exist$'):
        await retrieve_run(local, record, SUCCEEDED, TRAINING_ARTIFACTS)


async def test_a_failed_run_needs_nothing(local: RunContext, record: RunRecord) -> None:
    before = sorted(local.paths.root.rglob("*"))
    await retrieve_run(local, record, Verdict(state=RunState.FAILED, message="m"), TRAINING_ARTIFACTS)
    assert sorted(local.paths.root.rglob("*")) == before


@pytest.mark.parametrize("message", [None, "the job exited with code 1 (see runs/a/job.log)"])
def test_a_note_is_added_found_and_removed(message: str | None) -> None:
    noted = with_note(Verdict(state=RunState.FAILED, message=message), "x (artifacts not retrieved: y)").message
    assert has_note(noted)
    assert without_note(noted) == message
    assert not has_note(message)
