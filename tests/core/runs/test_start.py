"""Creating a run and starting its job."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.errors import ProjectFileError
from overbrainer_core.events.types import RunCreated
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.files import FileAccessError
from overbrainer_core.jobs.base import Artifacts
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunState, load_run
from overbrainer_core.runs.start import Launch, create_run, start_run_job
from overbrainer_core.runtimes.native import NativeRuntime
from overbrainer_core.values.job import JobCommand, Secret

ARTIFACTS = Artifacts(entries=("output",))


@dataclass
class OneJob:
    """A job of one command that writes one file."""

    artifacts: Artifacts = ARTIFACTS
    metrics_file: str = "metrics.jsonl"
    needs_metrics: bool = True
    stop_marker: str | None = "snapshot.json"
    caches_tools: bool = False
    failure: Exception | None = None

    def prepare(self, run_dir: Path, root: str) -> None:
        """Write the root, or fail."""
        if self.failure is not None:
            raise self.failure
        (run_dir / "root.txt").write_text(root)
        (run_dir / "pod.json").write_text("private")
        (run_dir / "ssh").mkdir()
        (run_dir / "ssh" / "key").write_text("private")

    def commands(self, root: str) -> tuple[JobCommand, ...]:
        """One command."""
        return (JobCommand(program="trainer", arguments=("x.yaml",), stage="train"),)

    def environment(self, root: str) -> tuple[tuple[str, str], ...]:
        """One variable."""
        return (("ROOT", root),)


def launch(**changes: Any) -> Launch:
    """A job, native, with one secret."""
    return Launch(job=OneJob(**changes), runtime=NativeRuntime(), secrets=(Secret("HF_TOKEN", "hf_very_secret"),))


async def test_a_start_records_every_step(context: RunContext, target: Any, recorder: Any) -> None:
    record = await create_run(context, project_name="Demo!", target="here", resumed_from="old")
    assert record.id == "demo_20261102-081500"
    assert record.remote_dir == "/remote/demo_20261102-081500"
    assert recorder.events == [RunCreated(run_id=record.id, target="here")]
    assert load_run(context.paths, record.id) == record
    assert (record.state, record.snapshots, record.resumed_from) == (RunState.PREPARING, False, "old")
    started = await start_run_job(context, record, launch())
    assert load_run(context.paths, record.id) == started
    assert (started.state, started.snapshots) == (RunState.RUNNING, True)
    assert started.job is not None
    assert (started.job.directory, started.job.pid) == (record.remote_dir, 4711)
    assert target.files[f"{record.remote_dir}/root.txt"] == record.remote_dir.encode()
    assert f"{record.remote_dir}/run.json" in target.files


async def test_private_files_stay_here_and_secrets_out_of_the_script(context: RunContext, target: Any) -> None:
    record = await create_run(context, project_name="demo", target="here")
    await start_run_job(context, record, launch())
    assert not [name for name in target.files if "/ssh" in name or "pod.json" in name]
    (spawn,) = target.spawned
    assert "'trainer' 'x.yaml'" in spawn.script
    assert "'ROOT=" in spawn.script
    assert "hf_very_secret" not in spawn.script + repr(spawn)
    assert spawn.secrets == (Secret("HF_TOKEN", "hf_very_secret"),)


@pytest.mark.parametrize("step", ["upload", "spawn"])
async def test_a_failed_start_is_recorded_with_its_reason(context: RunContext, target: Any, step: str) -> None:
    record = await create_run(context, project_name="demo", target="here")
    target.fail[step] = CommandError(step, "no room")
    with pytest.raises(CommandError):
        await start_run_job(context, record, launch())
    failed = load_run(context.paths, record.id)
    assert (failed.state, failed.message) == (RunState.FAILED, f"{step} failed: no room")
    assert failed.ended is not None
    assert not failed.snapshots


async def test_a_failed_preparation_is_recorded_whatever_it_raised(context: RunContext) -> None:
    record = await create_run(context, project_name="demo", target="here")
    with pytest.raises(ProjectFileError):
        await start_run_job(context, record, launch(failure=ProjectFileError("x has no example")))
    assert load_run(context.paths, record.id).message == "x has no example"
    second = await create_run(context, project_name="demo", target="here")
    assert second.id == f"{record.id}_2"
    with pytest.raises(FileAccessError):
        await start_run_job(context, second, launch(failure=OSError(28, "No space left on device")))
    assert load_run(context.paths, second.id).message == "No space left on device"


async def test_the_first_error_is_raised_even_when_it_cannot_be_recorded(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    record = await create_run(context, project_name="demo", target="here")
    job = launch(failure=ProjectFileError("first"))
    monkeypatch.setattr(os, "replace", _refuse)
    with caplog.at_level(logging.ERROR, "overbrainer"), pytest.raises(ProjectFileError, match="first"):
        await start_run_job(context, record, job)
    assert "cannot record that run" in caplog.text


async def test_a_job_that_cannot_be_recorded_is_cancelled(
    context: RunContext, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await create_run(context, project_name="demo", target="here")
    monkeypatch.setattr(os, "replace", _refuse)
    with pytest.raises(FileAccessError):
        await start_run_job(context, record, launch())
    assert target.calls[-1] == "cancel"
    monkeypatch.undo()
    assert load_run(context.paths, record.id) == replace(record)


def _refuse(source: object, destination: object) -> None:
    raise OSError(28, "No space left on device")
