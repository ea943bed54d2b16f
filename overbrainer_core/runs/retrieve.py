"""What comes back from a target, and is it whole?

Each pass lists the entries with their hashes on the target, copies them, and compares. A file that a success needs and
the target does not have is final; every other failure can be tried again. Nothing here is ever deleted for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from overbrainer_core.errors import TargetError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.jobs.base import Artifacts
from overbrainer_core.runs.context import RunContext, log_hint
from overbrainer_core.runs.outcome import Verdict
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.transfers.manifest import build_manifest, compare_manifests
from overbrainer_core.transfers.tree import walk_entries

JOB_LOG = "job.log"
PROOF = "snapshot.json"
NOTE_START = " (artifacts not retrieved: "
"""Where the retrieval note begins in a run's message."""

_NOTE_ALONE = "artifacts not retrieved: "


class MissingOutputError(TargetError):
    """The target does not have what the state promises: trying again cannot help."""


async def retrieve_run(context: RunContext, record: RunRecord, verdict: Verdict, artifacts: Artifacts) -> None:
    """Bring back what the run left on its target.

    Raises:
        MissingOutputError: what there is came back, but what the verdict needs is not there.
        TargetError: the target cannot be reached or a file does not compare.
        OSError: a local file cannot be read.
    """
    entries = (*artifacts.entries, JOB_LOG)
    found = await _pass(context, record, entries, artifacts.exclude)
    required = artifacts.required
    if verdict.state is RunState.SUCCEEDED and required is not None and not _has(found, required):
        raise MissingOutputError(f"the job succeeded but left no {required} ({log_hint(record.id)})")
    snapshot = verdict.snapshot
    if snapshot is None:
        return
    found = await _pass(context, record, (snapshot.checkpoint, PROOF), ())
    if not _has(found, snapshot.checkpoint):
        raise MissingOutputError(
            f"the job stopped with a snapshot but left no file in {snapshot.checkpoint} ({log_hint(record.id)})"
        )


def _has(names: Iterable[str], entry: str) -> bool:
    return any(name == entry or name.startswith(f"{entry}/") for name in names)


async def _pass(
    context: RunContext, record: RunRecord, entries: tuple[str, ...], exclude: tuple[str, ...]
) -> list[str]:
    """Copy the entries and compare; the names of the regular files at or under them."""
    run_dir, remote = context.run_dir(record), record.remote_dir
    if context.is_in_place(record):
        return await asyncio.to_thread(_names_in_place, context, record, entries, exclude)
    listed = await context.executor.manifest(remote, entries, exclude=exclude)
    await context.executor.download(remote, run_dir, entries, exclude=exclude)
    here = await asyncio.to_thread(build_manifest, run_dir, entries, exclude)
    compare_manifests(listed, here)
    return [entry.path for entry in listed]


def _names_in_place(
    context: RunContext, record: RunRecord, entries: tuple[str, ...], exclude: tuple[str, ...]
) -> list[str]:
    run_dir = context.run_dir(record)
    if not run_dir.is_dir():
        raise CommandError("manifest", f'"{record.remote_dir}" does not exist')
    return [file.name for file in walk_entries(run_dir, entries, exclude) if file.is_regular]


def with_note(verdict: Verdict, why: str) -> Verdict:
    """The verdict, saying that not everything came back."""
    note = f"{NOTE_START}{why})" if verdict.message else f"{_NOTE_ALONE}{why}"
    return replace(verdict, message=(verdict.message or "") + note)


def without_note(message: str | None) -> str | None:
    """A message without its retrieval note; None when it was only that."""
    if message is None or message.startswith(_NOTE_ALONE):
        return None
    return message.partition(NOTE_START)[0]


def has_note(message: str | None) -> bool:
    """Whether a message says that not everything came back."""
    return without_note(message) != message
