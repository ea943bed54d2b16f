"""What became of a job: its status, its metrics and its snapshot proof as a state and a message?

Pure decisions. What a target wrote is checked before it becomes a path or a word of ours; a log line that is quoted
is redacted, printable and short.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from overbrainer_core.runs.context import log_hint
from overbrainer_core.runs.record import RunState, Snapshot
from overbrainer_core.secrets.redact import redact
from overbrainer_core.text import cut_middle, escape_controls
from overbrainer_core.values.job import JobPhase, JobState

REASONS = ("requested", "deadline", "cost", "disk")
"""Reasons of a snapshot; any other word counts as the first."""

QUOTED_CELLS = 240
"""Cells of a log line that a message quotes."""

_TELLING = re.compile(
    r"\b(error|exception|killed|fatal|panic|denied|out of memory|oom|not found|no such|no module named|"
    r"no space left|cannot|can't|could not|unable to|needs|too small|refused|mismatch|insufficient|"
    r"segmentation fault)\b"
    r"|\w(Error|Exception)\b",
    re.IGNORECASE,
)
_WRAPPING = re.compile(r"CalledProcessError|ChildFailedError|returned non-zero exit status|Traceback \(most recent")
_PROGRESS = re.compile(r"\d+%\|")
_USAGE = re.compile(r"^(See|Run) '(docker|podman)[a-z ]* --help'")
_HINTS = (
    (
        re.compile("could not select device driver|nvidia-container-(cli|runtime)"),
        'docker gives a container GPUs by the NVIDIA Container Toolkit: install it, or set gpus = "none"',
    ),
    (
        re.compile("CDI (devices?|host device|registry)"),
        "podman gives a container GPUs by a CDI specification: make it with "
        '`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`, or set gpus = "none"',
    ),
    (
        re.compile("container name .* (is )?already in use"),
        "`overbrainer train cancel` of this run stops the container that has its name",
    ),
)
"""What to do about a line of an engine that people do not read it from."""
_LOG_PREFIX = re.compile(r"^(\[?\d{4}-\d\d-\d\d[T ][\d:,.]+Z?\]?\s*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the record will say; `advice` is what to do about a failure, told after its reason."""

    state: RunState
    message: str | None = None
    snapshot: Snapshot | None = None
    advice: str | None = None


class InvalidProofError(Exception):
    """`snapshot.json` proves nothing; the text says why, by position only."""


def decide(
    job: JobState, *, run_id: str, has_metrics: bool, needs_metrics: bool = True, has_plugin: bool = True
) -> Verdict:
    """The state that the job's end alone gives.

    Args:
        has_metrics: whether the trainer wrote a line.
        needs_metrics: whether a job without one has failed.
        has_plugin: whether the trainer writes its metrics through a plugin of ours.
    """
    hint = log_hint(run_id)
    match job.phase:
        case JobPhase.EXITED if job.exit_code == 0:
            if has_metrics or not needs_metrics:
                return Verdict(state=RunState.SUCCEEDED)
            why = ": the overbrainer metrics plugin was not loaded" if has_plugin else ""
            return Verdict(state=RunState.FAILED, message=f"the job wrote no metrics{why} ({hint})")
        case JobPhase.EXITED:
            return Verdict(state=RunState.FAILED, message=f"the job exited with code {job.exit_code} ({hint})")
        case JobPhase.CANCELLED:
            return Verdict(state=RunState.CANCELLED)
        case JobPhase.LOST:
            return Verdict(state=RunState.FAILED, message=f"the job stopped without an exit code ({hint})")
        case JobPhase.RUNNING:
            raise AssertionError("the job still runs")


def with_proof(verdict: Verdict, proof: bytes) -> Verdict:
    """The verdict of a succeeded or cancelled job once its snapshot proof was read (empty: there is none)."""
    try:
        snapshot = parse_proof(proof)
    except InvalidProofError as error:
        if verdict.state is RunState.CANCELLED:
            return verdict
        return Verdict(state=RunState.FAILED, message=f"the job stopped with a snapshot, but {error}")
    return verdict if snapshot is None else Verdict(state=RunState.STOPPED, snapshot=snapshot)


def parse_proof(content: bytes) -> Snapshot | None:
    """The snapshot that `snapshot.json` proves; None when it is missing or blank.

    Raises:
        InvalidProofError: it cannot be read, or names a path that is not its own step's checkpoint.
    """
    if not content.strip():
        return None
    try:
        document: Any = json.loads(content.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidProofError(f"snapshot.json is not valid (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise InvalidProofError("snapshot.json is not valid (line 1, column 1)") from None
    if not isinstance(document, dict):
        raise InvalidProofError("snapshot.json is not valid (line 1, column 1)")
    step, checkpoint, reason = document.get("step"), document.get("checkpoint"), document.get("reason")
    if isinstance(step, bool) or not isinstance(step, int) or step < 0 or checkpoint != f"output/checkpoint-{step}":
        raise InvalidProofError("snapshot.json names an invalid checkpoint path")
    return Snapshot(checkpoint=checkpoint, step=step, reason=reason if reason in REASONS else REASONS[0])


def telling_line(log_tail: bytes) -> str | None:
    """The line near the end of a job's log that says most about its failure; None when the log is empty.

    The last line that names an error wins over what merely wraps it; else the last line of all. Of a long line both
    ends are kept: the outermost error stands at one, its first cause at the other.
    """
    line = _telling_line(log_tail)
    return None if line is None else cut_middle(escape_controls(redact(line)), QUOTED_CELLS)


def advice_of(log_tail: bytes) -> str | None:
    """What to do about the telling line of a log, where its words do not say it; None for all others."""
    line = _telling_line(log_tail) or ""
    return next((hint for pattern, hint in _HINTS if pattern.search(line)), None)


def _telling_line(log_tail: bytes) -> str | None:
    text = log_tail.decode("utf-8", errors="replace").replace("\r", "\n")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    lines = [line for line in lines if not _PROGRESS.search(line) and not _USAGE.search(line)] or lines
    if not lines:
        return None
    telling = [line for line in lines if _TELLING.search(line) and not _WRAPPING.search(line)]
    return _LOG_PREFIX.sub("", telling[-1] if telling else lines[-1])
