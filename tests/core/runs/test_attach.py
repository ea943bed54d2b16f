"""Collecting an ended run again, and its result lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.errors import RunError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.attach import collect_run, finish_lines, needs_collecting
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.record import RunRecord, RunState, Snapshot, load_run, save_run
from overbrainer_core.training.metrics import MetricsSummary, parse_line
from overbrainer_core.values.job import JobHandle

REMOTE = "/remote/a"
NOTE = "the job exited with code 1 (see runs/a/job.log) (artifacts not retrieved: x (y))"


@pytest.fixture
def record(context: RunContext, target: Any) -> RunRecord:
    """A failed run whose results did not come back."""
    record = RunRecord(
        id="a",
        target="here",
        created=parse_rfc3339("2026-11-02T08:00:00Z"),
        remote_dir=REMOTE,
        job=JobHandle(directory=REMOTE, pid=4711),
        state=RunState.FAILED,
        message=NOTE,
    )
    context.paths.run("a").mkdir(parents=True)
    save_run(context.paths, record)
    target.files |= {f"{REMOTE}/job.log": b"bye\n", f"{REMOTE}/output/m": b"m"}
    return record


async def test_collecting_brings_the_results_and_removes_the_note(context: RunContext, record: RunRecord) -> None:
    assert needs_collecting(record)
    collected = await collect_run(context, record)
    assert collected.message == "the job exited with code 1 (see runs/a/job.log)"
    assert load_run(context.paths, "a") == collected
    assert not needs_collecting(collected)
    assert (context.paths.run("a") / "output" / "m").exists()


async def test_a_message_that_was_only_the_note_becomes_none(context: RunContext, record: RunRecord) -> None:
    cancelled = replace(record, state=RunState.CANCELLED, message="artifacts not retrieved: x")
    assert (await collect_run(context, cancelled)).message is None


async def test_a_failure_to_collect_warns_and_leaves_the_record(
    context: RunContext, record: RunRecord, target: Any, warnings: list[str]
) -> None:
    target.fail["manifest"] = CommandError("manifest", "gone")
    assert await collect_run(context, record) == record
    assert warnings == ["cannot retrieve what run a left: manifest failed: gone"]
    assert load_run(context.paths, "a") == record


async def test_a_success_without_output_is_failed_when_collected_too(
    context: RunContext, record: RunRecord, target: Any
) -> None:
    del target.files[f"{REMOTE}/output/m"]
    succeeded = replace(record, state=RunState.SUCCEEDED, message=None)
    collected = await collect_run(context, succeeded)
    assert (collected.state, collected.message) == (
        RunState.FAILED,
        "the job succeeded but left no output (see runs/a/job.log)",
    )


async def test_a_running_run_is_not_collected(context: RunContext, record: RunRecord) -> None:
    with pytest.raises(RunError, match=r"^run a has not ended yet: "):
        await collect_run(context, replace(record, state=RunState.RUNNING))


def summary() -> MetricsSummary:
    """The figures of a short run."""
    result = MetricsSummary()
    result.apply(parse_line('{"event":"log","time":1,"step":40,"max_steps":40,"epoch":3.0,"loss":0.41234}'))
    result.apply(parse_line('{"event":"log","time":1,"step":40,"eval_loss":0.50118}'))
    return result


TEXT = "step 40/40, epoch 3.00, loss 0.4123, eval_loss 0.5012"


def lines(paths: ProjectPaths, record: RunRecord) -> list[str]:
    """The result lines of the record."""
    return finish_lines(paths, record, summary())


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('adapter: "lora"\n', ["train: adapter in runs/a/output", "train: merged model in runs/a/output/merged"]),
        ('adapter: "qlora"\n', ["train: adapter in runs/a/output", "train: merged model in runs/a/output/merged"]),
        ('base_model: "x"\n', ["train: model in runs/a/output", "train: merged model in runs/a/output/merged"]),
        ('adapter: "dora"\n', ["train: merged model in runs/a/output/merged"]),
        ("[", []),
        (None, []),
    ],
)
def test_a_success_tells_its_paths_from_its_own_files(
    paths: ProjectPaths, record: RunRecord, config: str | None, expected: list[str]
) -> None:
    (paths.run("a") / "output" / "merged").mkdir(parents=True)
    if config is not None:
        (paths.run("a") / "axolotl.yaml").write_text(config)
    succeeded = replace(record, state=RunState.SUCCEEDED, message=None)
    assert lines(paths, succeeded) == [f"train: run a succeeded; {TEXT}; output in runs/a/output", *expected]


def test_a_run_without_a_merged_model_tells_none(paths: ProjectPaths, record: RunRecord) -> None:
    (paths.run("a") / "axolotl.yaml").write_text('adapter: "lora"\n')
    succeeded = replace(record, state=RunState.SUCCEEDED, message=None)
    assert lines(paths, succeeded)[1:] == ["train: adapter in runs/a/output"]


def test_a_stopped_run_tells_how_to_resume(paths: ProjectPaths, record: RunRecord) -> None:
    snapshot = Snapshot(checkpoint="output/checkpoint-1240", step=1240, reason="deadline")
    stopped = replace(record, state=RunState.STOPPED, message=None, snapshot=snapshot)
    assert lines(paths, stopped) == [
        f"train: run a stopped; {TEXT}",
        "train: run a stopped at step 1240 (deadline): snapshot in runs/a/output/checkpoint-1240; "
        "resume with `overbrainer train --resume-from a`",
        "train: runs/a/output also holds the partial model at step 1240, not a finished one",
    ]


def test_a_failed_run_tells_only_its_summary(paths: ProjectPaths, record: RunRecord) -> None:
    assert lines(paths, record) == [f"train: run a failed; {TEXT}"]
