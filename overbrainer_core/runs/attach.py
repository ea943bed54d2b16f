"""How are the results of an ended run collected again, and what does a run's end read like?"""

from __future__ import annotations

from dataclasses import replace

from overbrainer_core.errors import RunError, TargetError, describe
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.context import RunContext
from overbrainer_core.runs.outcome import Verdict
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.runs.retrieve import MissingOutputError, has_note, retrieve_run, without_note
from overbrainer_core.training.metrics import MetricsSummary
from overbrainer_core.training.run_config import load_run_config
from overbrainer_core.training.trainer import TRAINING_ARTIFACTS


def needs_collecting(record: RunRecord) -> bool:
    """Whether the record says that results are still on the target."""
    return record.state.has_ended and has_note(record.message)


async def collect_run(context: RunContext, record: RunRecord) -> RunRecord:
    """Retrieve the results of an ended run again; on success its message loses the note, else it stays as it is.

    Raises:
        RunError: the run has not ended.
        FileAccessError: the record cannot be written.
    """
    if not record.state.has_ended:
        raise RunError(f"run {record.id} has not ended yet: follow it with `overbrainer train attach {record.id}`")
    verdict = Verdict(state=record.state, message=record.message, snapshot=record.snapshot)
    try:
        await retrieve_run(context, record, verdict, TRAINING_ARTIFACTS)
    except MissingOutputError as error:
        return await context.save(replace(record, state=RunState.FAILED, message=str(error), snapshot=None))
    except (TargetError, OSError) as error:
        context.warn(f"cannot retrieve what run {record.id} left: {describe(error)}")
        return record
    return await context.save(replace(record, message=without_note(record.message)))


def finish_lines(paths: ProjectPaths, record: RunRecord, summary: MetricsSummary) -> list[str]:
    """The result lines of an ended run, from its own files: not from the settings of today."""
    where = f"runs/{record.id}/output"
    first = f"train: run {record.id} {record.state}; {summary.text()}"
    if record.state is RunState.SUCCEEDED:
        return [f"{first}; output in {where}", *_model_lines(paths, record)]
    if record.state is RunState.STOPPED and record.snapshot is not None:
        snapshot = record.snapshot
        return [
            first,
            f"train: run {record.id} stopped at step {snapshot.step} ({snapshot.reason}): "
            f"snapshot in runs/{record.id}/{snapshot.checkpoint}; "
            f"resume with `overbrainer train --resume-from {record.id}`",
            f"train: {where} also holds the partial model at step {snapshot.step}, not a finished one",
        ]
    return [first]


def _model_lines(paths: ProjectPaths, record: RunRecord) -> list[str]:
    where = f"runs/{record.id}/output"
    config = load_run_config(paths.run(record.id))
    if config is None:
        return []
    lines: list[str] = []
    adapter = config.get("adapter")
    if adapter is None:
        lines.append(f"train: model in {where}")
    elif adapter in ("lora", "qlora"):
        lines.append(f"train: adapter in {where}")
    if (paths.run(record.id) / "output" / "merged").is_dir():
        lines.append(f"train: merged model in {where}/merged")
    return lines
