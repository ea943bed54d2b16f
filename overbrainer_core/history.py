"""Which stages ran in this project, what did they use, and what do they add up to?

`.overbrainer/history.jsonl` gets one line for each stage execution, however it ended. A torn line spoils only itself;
a history that cannot be written is a warning, never a failure. Reading and the lines of `overbrainer history` are pure.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from overbrainer_core.errors import describe
from overbrainer_core.files import UnsafePathError, jsonl_lines, open_state, read_regular
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.text import finite
from overbrainer_core.values.stage import SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage, add_costs

_log = logging.getLogger("overbrainer.history")

NOTHING_RUN = "no stage has run yet"


class EntryStatus(StrEnum):
    """How a stage ended: nothing failed, items or the stage failed, or a person stopped it."""

    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One execution of a stage; `split` only on split lines, times as RFC 3339 UTC text, cost in USD or unknown."""

    stage: Stage
    started_at: str
    ended_at: str
    status: EntryStatus
    provider: str | None = None
    model: str | None = None
    done: int = 0
    skipped: int = 0
    failed: int = 0
    excluded: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    split: tuple[int, int, int] | None = None
    backfilled: bool = False

    @property
    def has_tokens(self) -> bool:
        """Whether a request was made: entries without one tell nothing about the cost."""
        return self.input_tokens > 0 or self.output_tokens > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Entries added up; `cost` None when none is known, `is_partial` when only some are."""

    runs: int = 0
    done: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    is_partial: bool = False

    @property
    def cost_text(self) -> str:
        """`$1.2500`, `$1.2500+` when some costs are unknown, or `cost unknown`."""
        if self.cost is None:
            return "cost unknown"
        return f"${self.cost:.4f}{'+' if self.is_partial else ''}"


def stage_entry(  # one argument for each fact of a line
    stage: Stage,
    status: EntryStatus,
    *,
    started_at: str,
    ended_at: str,
    stats: StageStats,
    provider: str | None = None,
    model: str | None = None,
    split: SplitReport | None = None,
) -> HistoryEntry:
    """The entry of a stage that ended; a split counts only what it excluded, the rest stands in its own object."""
    counts = (stats.done, stats.skipped, stats.failed) if stage is not Stage.SPLIT else (0, 0, stats.failed)
    return HistoryEntry(
        stage=stage,
        started_at=started_at,
        ended_at=ended_at,
        status=status,
        provider=provider,
        model=model,
        done=counts[0],
        skipped=counts[1],
        failed=counts[2],
        excluded=stats.excluded,
        input_tokens=stats.usage.input_tokens,
        output_tokens=stats.usage.output_tokens,
        cost=stats.cost,
        split=(split.train, split.eval, split.orphaned) if split is not None else None,
    )


def entry_document(entry: HistoryEntry) -> dict[str, Any]:
    """The entry as it is stored, its keys in order."""
    document: dict[str, Any] = {
        "stage": entry.stage.value,
        "started_at": entry.started_at,
        "ended_at": entry.ended_at,
        "status": entry.status.value,
        "provider": entry.provider,
        "model": entry.model,
        "done": entry.done,
        "skipped": entry.skipped,
        "failed": entry.failed,
        "excluded": entry.excluded,
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "cost": entry.cost,
    }
    if entry.split is not None:
        document["split"] = dict(zip(("train", "eval", "orphaned"), entry.split, strict=True))
    if entry.backfilled:
        document["backfilled"] = True
    return document


def append_entry(paths: ProjectPaths, entry: HistoryEntry) -> None:
    """Add the entry; a failure, a link in the place of the history included, is a warning."""
    line = json.dumps(entry_document(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    try:
        paths.state.mkdir(parents=True, exist_ok=True)
        descriptor = open_state(paths.history, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except (OSError, UnsafePathError) as error:
        _log.warning("cannot write %s: %s", paths.history, describe(error))


def read_history(paths: ProjectPaths) -> list[HistoryEntry]:
    """Every entry, oldest first; a line that cannot be read is left out with a warning."""
    try:
        content = read_regular(paths.history)
    except FileNotFoundError:
        return []
    except (OSError, UnsafePathError) as error:
        _log.warning("cannot read %s: %s", paths.history, describe(error))
        return []
    entries: list[HistoryEntry] = []
    for number, line in jsonl_lines(content):
        try:
            entries.append(_parse_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError):
            _log.warning("%s:%d: not a history entry, left out", paths.history, number)
    return entries


def _parse_entry(document: Any) -> HistoryEntry:
    if not isinstance(document, dict):
        raise TypeError("no object")
    split = document.get("split")
    return HistoryEntry(
        stage=Stage(document["stage"]),
        started_at=_text(document["started_at"]),
        ended_at=_text(document["ended_at"]),
        status=EntryStatus(document["status"]),
        provider=_text_or_none(document.get("provider")),
        model=_text_or_none(document.get("model")),
        done=_count(document["done"]),
        skipped=_count(document["skipped"]),
        failed=_count(document["failed"]),
        excluded=_count(document["excluded"]),
        input_tokens=_count(document["input_tokens"]),
        output_tokens=_count(document["output_tokens"]),
        cost=None if document.get("cost") is None else _money(document["cost"]),
        split=None if split is None else (_count(split["train"]), _count(split["eval"]), _count(split["orphaned"])),
        backfilled=document.get("backfilled") is True,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("no count")
    return value


def _money(value: Any) -> float:
    number = finite(value)
    if number is None:
        raise TypeError("no amount")
    return number


def total_of(entries: Iterable[HistoryEntry]) -> Totals:
    """The entries added up; one without a token never makes a known cost partial."""
    runs = done = failed = 0
    usage = Usage()
    cost: float | None = None
    unknown = False
    for entry in entries:
        runs += 1
        done += entry.done
        failed += entry.failed
        usage += Usage(input_tokens=entry.input_tokens, output_tokens=entry.output_tokens)
        if entry.has_tokens:
            cost = add_costs(cost, entry.cost)
            unknown = unknown or entry.cost is None
    return Totals(runs=runs, done=done, failed=failed, usage=usage, cost=cost, is_partial=unknown and cost is not None)


def totals_by_stage(entries: Sequence[HistoryEntry]) -> dict[Stage, Totals]:
    """Totals of each stage that has entries, in the order of the stages."""
    grouped = {stage: [entry for entry in entries if entry.stage is stage] for stage in Stage}
    return {stage: total_of(found) for stage, found in grouped.items() if found}


def totals_by_model(entries: Sequence[HistoryEntry]) -> dict[str, Totals]:
    """Totals of each model, in the order of their first use; entries without a model left out."""
    grouped: dict[str, list[HistoryEntry]] = {}
    for entry in entries:
        if entry.model is not None:
            grouped.setdefault(entry.model, []).append(entry)
    return {model: total_of(found) for model, found in grouped.items()}


def history_lines(entries: Sequence[HistoryEntry]) -> list[str]:
    """The lines of `overbrainer history`: one for each stage that ran, then the total."""
    if not entries:
        return [NOTHING_RUN]
    rows: list[tuple[str, Totals]] = [(stage.value, found) for stage, found in totals_by_stage(entries).items()]
    rows.append(("total", total_of(entries)))
    return [
        f"{name:<9}  {found.runs} run(s), {found.done} done, {found.failed} failed; "
        f"tokens {found.usage.input_tokens} in, {found.usage.output_tokens} out; {found.cost_text}"
        for name, found in rows
    ]


def entry_lines(entries: Sequence[HistoryEntry], *, shown: Callable[[str], str] = str) -> list[str]:
    """The lines of `overbrainer history --all`, oldest first; `shown` makes a stored text fit for a terminal."""
    return [_entry_line(entry, shown) for entry in entries] or [NOTHING_RUN]


def _entry_line(entry: HistoryEntry, shown: Callable[[str], str]) -> str:
    head = f"{shown(entry.started_at)}  {entry.stage.value:<9}  {entry.status.value:<11}"
    if entry.split is not None:
        train, evaluation, orphaned = entry.split
        return f"{head}  train {train}, eval {evaluation}, excluded {entry.excluded}, orphaned {orphaned}"
    cost = "cost unknown" if entry.cost is None else f"${entry.cost:.4f}"
    model = "-" if entry.model is None else shown(entry.model)
    return (
        f"{head}  {model}  {entry.done} done, {entry.skipped} skipped, {entry.failed} failed, "
        f"{entry.excluded} excluded; tokens {entry.input_tokens} in, {entry.output_tokens} out; {cost}"
        f"{' (backfilled)' if entry.backfilled else ''}"
    )
