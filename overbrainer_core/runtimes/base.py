"""How do a job's commands become one shell script on a target: in a venv or in a container?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from overbrainer_core.values.job import Container, JobCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptPlan:
    """What a runtime turns into a script.

    `directory` is the run directory on the target, `environment` ordered pairs (never secrets), `secret_names` the
    variables a container must pass on, `stop_marker` a file that skips the commands after the first,
    `caches_tools` whether the tools cache of the work directory is used.
    """

    run_id: str
    directory: str
    workdir: str
    commands: tuple[JobCommand, ...]
    environment: tuple[tuple[str, str], ...] = ()
    secret_names: tuple[str, ...] = ()
    metrics_file: str = "metrics.jsonl"
    stop_marker: str | None = None
    caches_tools: bool = False


class Runtime(Protocol):
    """Where programs come from on a target."""

    def root(self, directory: str) -> str:
        """The run directory as the job sees it."""
        ...

    def container(self, run_id: str) -> Container | None:
        """The container that the job runs in, if any."""
        ...

    def script(self, plan: ScriptPlan) -> str:
        """The text for `sh` that runs the commands in order; the first failure ends the job."""
        ...
