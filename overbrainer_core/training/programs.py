"""Is what a local target's job will run really there? Looked at before a run exists, so that a refusal leaves none.

The words of a refusal are functions: `remote_programs` looks at a machine behind SSH and says the same.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.aio.process import CommandResult, run_command
from overbrainer_core.config.settings import LocalTarget, SshTarget
from overbrainer_core.errors import TargetError
from overbrainer_core.text import escape_controls


class ProgramMissingError(TargetError):
    """A program that the job needs is not on the target."""


def missing_program(program: str, *, target: LocalTarget | SshTarget, path: str) -> ProgramMissingError:
    """What to tell of a native target without a program; `path` is where it would be in the target's venv, if any."""
    key = f"targets.{target.name}.venv"
    start = f"target `{target.name}` has no `{program}`"
    if target.venv is None:
        return ProgramMissingError(f"{start}: it is not on PATH; install it, or set {key}")
    if not path.startswith(("/", "~/")):
        return ProgramMissingError(f"{start}: {path} is a relative path; write {key} from / or ~/")
    return ProgramMissingError(f"{start}: {path} is not there or cannot be run; install it there, or set {key}")


def missing_engine(target: LocalTarget | SshTarget) -> ProgramMissingError:
    """What to tell of a container target without its engine."""
    return ProgramMissingError(
        f"target `{target.name}` has no `{target.engine}`: it is not on PATH; install it, "
        f"or set targets.{target.name}.runtime to native"
    )


def unusable_engine(target: LocalTarget | SshTarget, reason: str) -> TargetError:
    """What to tell of a container target whose engine refuses to work; the reason is the engine's."""
    return TargetError(f"target `{target.name}`: `{target.engine}` cannot be used: {reason}")


def absent_image_note(target: LocalTarget | SshTarget) -> str:
    """What to tell of an image that the engine has to pull."""
    return (
        f"target `{target.name}`: {target.engine} has no image {target.image} here and pulls it first; "
        "nothing is trained until it has come"
    )


def venv_program(venv: str, program: str, environment: Mapping[str, str]) -> str:
    """The path of a program of a venv, as the job's shell will see it: a leading `~/` is the home directory."""
    directory = venv.rstrip("/") or "/"
    if directory == "~" or directory.startswith("~/"):
        directory = environment.get("HOME", "~") + directory[1:]
    return f"{directory}/bin/{program}"


def find_program(program: str, *, venv: str | None, environment: Mapping[str, str]) -> str | None:
    """The program that the job will run, or None when there is none."""
    if venv is None:
        return shutil.which(program, path=environment.get("PATH", os.defpath))
    path = venv_program(venv, program, environment)
    return path if Path(path).is_absolute() and os.access(path, os.X_OK) and Path(path).is_file() else None


def check_program(program: str, *, target: LocalTarget, environment: Mapping[str, str]) -> None:
    """Refuse a native target that has no such program.

    Raises:
        ProgramMissingError: it is neither in the target's venv nor, without one, on PATH.
    """
    if find_program(program, venv=target.venv, environment=environment) is not None:
        return
    path = program if target.venv is None else venv_program(target.venv, program, environment)
    raise missing_program(program, target=target, path=path)


_ENGINE_CHECKS = {"docker": "version", "podman": "info"}
"""The command of each engine that fails when no container can be run: Docker's asks the daemon, Podman's the store."""


async def check_engine(target: LocalTarget, *, environment: Mapping[str, str], timeout_s: float) -> tuple[str, ...]:
    """Refuse a container target whose engine is missing or cannot be used; what else a person should know.

    An image that is not here is no failure: the engine pulls it, which is worth a warning.

    Raises:
        ProgramMissingError: the engine is not there.
        TargetError: it cannot be used or does not answer.
    """
    engine = find_program(target.engine, venv=None, environment=environment)
    if engine is None:
        raise missing_engine(target)
    look = _EngineLook(target=target, engine=engine, environment=environment, timeout_s=timeout_s)
    usable = await look.run(_ENGINE_CHECKS[target.engine])
    if usable.exit_status != 0:
        lines = usable.stderr.decode("utf-8", errors="replace").strip().splitlines()
        reason = escape_controls(lines[-1].strip()) if lines else usable.status_words
        raise unusable_engine(target, reason)
    if (await look.run("image", "inspect", target.image)).exit_status == 0:
        return ()
    return (absent_image_note(target),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _EngineLook:
    """Read-only commands of a target's engine."""

    target: LocalTarget
    engine: str
    environment: Mapping[str, str]
    timeout_s: float

    async def run(self, *arguments: str) -> CommandResult:
        """Run one of them; a failure is a result."""
        target = self.target
        try:
            return await run_command([self.engine, *arguments], env=self.environment, timeout_s=self.timeout_s)
        except TimeoutError as error:
            words = f"{target.engine} {arguments[0]}"
            raise TargetError(f"target `{target.name}`: `{words}` gave no answer") from error
        except OSError as error:
            raise TargetError(f"target `{target.name}`: cannot run `{self.engine}`") from error
