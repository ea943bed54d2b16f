"""What does a flow ask of a kind of job (training, export, compare)? A job knows no machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from overbrainer_core.values.job import JobCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """What comes back from a run directory: entries, patterns left out at any depth, the entry a success needs."""

    entries: tuple[str, ...]
    exclude: tuple[str, ...] = ()
    required: str | None = None


class Job(Protocol):
    """A job's files, commands and results."""

    @property
    def artifacts(self) -> Artifacts:
        """What is retrieved when it has ended."""
        ...

    @property
    def metrics_file(self) -> str:
        """The metrics file, relative to the run directory."""
        ...

    @property
    def needs_metrics(self) -> bool:
        """Whether a job that wrote no line of its trainer has failed."""
        ...

    @property
    def stop_marker(self) -> str | None:
        """The file whose existence skips the commands after the first."""
        ...

    @property
    def caches_tools(self) -> bool:
        """Whether it downloads tools that the target keeps between runs."""
        ...

    def prepare(self, run_dir: Path, root: str) -> None:
        """Write the job's files into the local run directory; blocking, called in a thread."""
        ...

    def commands(self, root: str) -> tuple[JobCommand, ...]:
        """The commands in order, each with its stage name."""
        ...

    def environment(self, root: str) -> tuple[tuple[str, str], ...]:
        """Variables of the job in order, never secrets."""
        ...
