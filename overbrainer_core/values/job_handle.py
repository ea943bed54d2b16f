"""How is a job found again? What a run's record keeps of it, on its own because a listing reads a thousand records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The container of a job: which engine runs it, and its name."""

    engine: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHandle:
    """Enough to find a job again from any later process.

    `directory` is the run directory on the target, `pid` the leader's process ID, equal to its process
    group ID and above 1.
    """

    directory: str
    pid: int
    container: Container | None = None
