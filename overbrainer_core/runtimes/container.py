"""How does a job run in a container of Docker or Podman?

The container runs in the foreground of the job's leader, under a name made from the run's ID; its exit code is the
job's. Secrets are passed on by name only: the engine takes their values from the leader's environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from overbrainer_core.errors import TargetError
from overbrainer_core.runtimes.base import ScriptPlan
from overbrainer_core.runtimes.chain import command_chain
from overbrainer_core.shell import quote
from overbrainer_core.values.job import Container

RUN_ROOT = "/workspace/run"
"""The run directory inside the container."""

_HANDING_ON = (
    """trap 'trap "" TERM; kill -s TERM 0' TERM; {{ trap 'exit 143' TERM; {chain}; }} & """
    'while :; do wait "$!"; ob_code=$?; kill -s 0 "$!" 2>/dev/null || exit "$ob_code"; done'
)
"""Runs a chain so that it ends when its container is told to stop.

The first process of a container ignores SIGTERM unless it handles it: without this every stop would take the engine's
whole patience and end in a kill. The signal goes on to the process group; the chain outlives it until its program has
ended, and `wait`, which it cuts, is asked again.
"""

_HF_CACHE = "/workspace/hf-cache"
_TOOLS_CACHE = "/workspace/cache"


class UnmountableDirectoryError(TargetError):
    """The path of a run directory holds a colon, at which an engine splits a mount."""

    def __init__(self, directory: str, engine: str) -> None:
        super().__init__(
            f"the run directory `{directory}` holds a colon, which {engine} cannot mount; "
            "use a project or work directory without a colon in its path"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRuntime:
    """Programs of `image`, run by `engine` (`docker` or `podman`); `gpus` is `all`, `none` or indexes such as `0,1`."""

    engine: str
    image: str
    gpus: str = "all"

    @property
    def _is_podman(self) -> bool:
        return self.engine == "podman"

    def root(self, directory: str) -> str:
        """Where the container sees the run directory."""
        return RUN_ROOT

    def container(self, run_id: str) -> Container | None:
        """The container that the job runs in."""
        return Container(engine=self.engine, name=f"overbrainer-{run_id}")

    def check_directory(self, directory: str) -> None:
        """Return when the engine can mount the directory; asked before a run exists.

        Raises:
            UnmountableDirectoryError: its path holds a colon.
        """
        if ":" in directory:
            raise UnmountableDirectoryError(directory, self.engine)

    def script(self, plan: ScriptPlan) -> str:
        """The text for `sh` that runs the commands in order in one container; the first failure ends the job.

        Raises:
            UnmountableDirectoryError: the path of the run directory holds a colon.
        """
        self.check_directory(plan.directory)
        chain = command_chain(plan)
        if not chain:
            return ""
        caches = [f"{plan.workdir}/.hf-cache"]
        if plan.caches_tools:
            caches.append(f"{plan.workdir}/.cache")
        words = [quote(self.engine), "run", "--rm", "--name", quote(f"overbrainer-{plan.run_id}")]
        words += [*self._devices(), "--ipc=host", *self._mounts(plan), "-w", RUN_ROOT]
        words += [*self._variables(plan), quote(self.image), "sh", "-c", quote(_HANDING_ON.format(chain=chain))]
        return f"mkdir -p -- {' '.join(quote(cache) for cache in caches)} && {' '.join(words)}"

    def _devices(self) -> list[str]:
        """The options that give GPUs and the limits that go with them."""
        if self._is_podman:
            names = [] if self.gpus == "none" else [part.strip() for part in self.gpus.split(",")]
            devices = [word for name in names for word in ("--device", quote(f"nvidia.com/gpu={name}"))]
            return [*devices, "--security-opt=label=disable", "--ulimit", "host"]
        if self.gpus == "none":
            return []
        wanted = "all" if self.gpus == "all" else quote(f'"device={self.gpus.replace(" ", "")}"')
        return ["--gpus", wanted, "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"]

    def _mounts(self, plan: ScriptPlan) -> Iterator[str]:
        """The run directory, for this container alone, and the caches, shared with others; nothing else is mounted."""
        own, shared = (":Z", ":z") if self._is_podman else ("", "")
        yield from ("-v", quote(f"{plan.directory}:{RUN_ROOT}{own}"))
        yield from ("-v", quote(f"{plan.workdir}/.hf-cache:{_HF_CACHE}{shared}"))
        if plan.caches_tools:
            yield from ("-v", quote(f"{plan.workdir}/.cache:{_TOOLS_CACHE}{shared}"))
            yield from ("-e", f"OVERBRAINER_CACHE={_TOOLS_CACHE}")

    def _variables(self, plan: ScriptPlan) -> Iterator[str]:
        yield from ("-e", f"HF_HOME={_HF_CACHE}")
        for name, value in plan.environment:
            yield from ("-e", quote(f"{name}={value}"))
        for name in plan.secret_names:
            yield from ("-e", quote(name))
