"""What is a job on a target: its handle, its commands and how it stands?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.values.job_handle import Container, JobHandle

__all__ = ["Container", "JobCommand", "JobHandle", "JobPhase", "JobState", "Secret"]


class JobPhase(StrEnum):
    """How a job stands."""

    RUNNING = "running"
    EXITED = "exited"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """The answer to "how is the job?"; `exit_code` only when it exited.

    `living_group` is the job's process group where it lives on although the job is over: a child that outlived it, or a
    job whose run directory was removed.
    """

    phase: JobPhase
    exit_code: int | None = None
    living_group: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the job no longer runs."""
        return self.phase is not JobPhase.RUNNING

    def words(self) -> str:
        """The state as progress lines tell it, such as `exited with code 0`."""
        match self.phase:
            case JobPhase.RUNNING:
                return "running"
            case JobPhase.EXITED:
                return f"exited with code {self.exit_code}"
            case JobPhase.CANCELLED:
                return "cancelled"
            case JobPhase.LOST:
                return "lost (stopped without an exit code)"

    def living_group_note(self) -> str | None:
        """What to tell about a process group that lives on, and how to end it; None when there is none."""
        if self.living_group is None:
            return None
        group = self.living_group
        return f"process group {group} is still alive; if it is this job's, end it with: kill -s TERM -- -{group}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCommand:
    """One command of a job; `stage` is written to the metrics file before it starts."""

    program: str
    arguments: tuple[str, ...] = ()
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that a job gets in its environment; never shown."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"Secret(name={self.name!r}, value='***')"
