"""Is a program, or a container engine with its image, on a machine? Looks that change nothing, here or behind SSH.

A look is one script of `job_scripts/doctor` whose answer is parts, each after a line `@name`; it is read by a pure
function, so that it is tested without a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from overbrainer_core.executors.scripts import shell_text
from overbrainer_core.system.probe import split_parts
from overbrainer_core.text import drop_controls


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLook:
    """A container engine: `state` is `absent`, `refused` (with a reason) or `usable`."""

    state: str
    version: str
    reason: str
    has_image: bool
    sees_gpus: bool


def engine_look_script(engine: str, image: str) -> str:
    """Looks at a container engine, for `parse_engine_look`."""
    return shell_text([engine, image], "doctor/engine.sh")


def parse_engine_look(output: bytes) -> EngineLook:
    """The engine of an answer."""
    parts = split_parts(output)
    return EngineLook(
        state=first_line(parts, "engine") or "refused",
        version=first_line(parts, "version"),
        reason=first_line(parts, "reason"),
        has_image=first_line(parts, "image") == "there",
        sees_gpus=bool(first_line(parts, "nvidia")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLook:
    """A program: its path, '' when it is not there; the same of a Python beside it, and what its code printed."""

    path: str
    python: str
    answer: str


def program_look_script(program: str, *, python: str = "", code: str = "") -> str:
    """Looks for a program (a name, or a path that `~/` may begin), for `parse_program_look`."""
    return shell_text([program, python, code], "doctor/program.sh")


def parse_program_look(output: bytes) -> ProgramLook:
    """The program of an answer."""
    parts = split_parts(output)
    return ProgramLook(
        path=first_line(parts, "program"), python=first_line(parts, "python"), answer=parts.get("answer", "")
    )


def first_line(parts: Mapping[str, str], name: str) -> str:
    """The first line of a part without control characters, '' without one."""
    return drop_controls(parts.get(name, "").split("\n")[0]).strip()
