"""How does a job run with the programs of the machine itself, out of a venv or from `PATH`?"""

from __future__ import annotations

from dataclasses import dataclass

from overbrainer_core.runtimes.base import ScriptPlan
from overbrainer_core.runtimes.chain import command_chain
from overbrainer_core.shell import quote, quote_path
from overbrainer_core.values.job import Container


@dataclass(frozen=True, slots=True)
class NativeRuntime:
    """Programs of `venv`, or from `PATH` without one; `env_file` is read first (pods only)."""

    venv: str | None = None
    env_file: str | None = None

    def root(self, directory: str) -> str:
        """The run directory itself."""
        return directory

    def container(self, run_id: str) -> Container | None:
        """None: there is no container."""
        return None

    def script(self, plan: ScriptPlan) -> str:
        """The text for `sh` that runs the commands in order; the first failure ends the job."""
        environment = list(plan.environment)
        if plan.caches_tools:
            environment.append(("OVERBRAINER_CACHE", f"{plan.workdir}/.cache"))
        parts = []
        if self.env_file is not None:
            parts.append(f". {quote_path(self.env_file)}")
        assignments = [_assignment(name, value) for name, value in environment]
        if self.venv is not None:
            # a program of a venv may start another one by its bare name, as `axolotl` does with `accelerate`
            assignments.insert(0, f'PATH={self._bin}:"$PATH"')
        if assignments:
            parts.append("export " + " ".join(assignments))
        parts.append(command_chain(plan, program=self.program))
        return " && ".join(part for part in parts if part)

    @property
    def _bin(self) -> str:
        """The venv's directory of programs as shell text."""
        return quote_path(f"{(self.venv or '').rstrip('/')}/bin")

    def program(self, name: str) -> str:
        """The program as shell text, for looks at a target before a run exists too."""
        if self.venv is None:
            return quote(name)
        return quote_path(f"{self.venv.rstrip('/')}/bin/{name}")


def _assignment(name: str, value: str) -> str:
    """One word of `export`; what the machine has in `PYTHONPATH` comes after ours, no colon for nothing."""
    word = quote(f"{name}={value}")
    return word + '"${PYTHONPATH:+:$PYTHONPATH}"' if name == "PYTHONPATH" else word
