"""Does a target have what a training runs: Axolotl, a Python with NumPy, or a container engine and its image?"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from overbrainer_core.assets import job_script
from overbrainer_core.config.settings import LocalTarget, SshTarget
from overbrainer_core.executors.looks import (
    EngineLook,
    ProgramLook,
    engine_look_script,
    parse_engine_look,
    parse_program_look,
    program_look_script,
)
from overbrainer_core.flows.doctor_checks.base import Check, failure, ok, warning
from overbrainer_core.flows.doctor_checks.gpus import Cuda, cuda_of
from overbrainer_core.flows.doctor_checks.looks import Shell

NAME = "trainer"
_NUMPY = "import numpy; print('numpy', numpy.__version__)"


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found about the programs of a job, and the CUDA version they were built for, if it is known."""

    checks: tuple[Check, ...]
    needed_cuda: Cuda | None = None
    sees_gpus: bool = True


async def check_programs(shell: Shell, target: LocalTarget | SshTarget, *, trainer: str) -> Findings:
    """What a job on this target would run.

    Raises:
        ExecutorError: a look did not come to its end.
    """
    if target.runtime != "native":
        return await _check_engine(shell, target)
    if target.venv is not None and not target.venv.startswith(("/", "~/")):
        detail = f"targets.{target.name}.venv is a relative path"
        return Findings((failure(NAME, detail, "write it from / or ~/"),))
    return await (_check_tiny(shell, target) if trainer == "tiny" else _check_axolotl(shell, target))


def _in_venv(venv: str, program: str) -> str:
    return f"{venv.rstrip('/')}/bin/{program}"


async def _check_axolotl(shell: Shell, target: LocalTarget | SshTarget) -> Findings:
    key = f"targets.{target.name}.venv"
    if target.venv is None:
        script = program_look_script("axolotl")
    else:
        python = _in_venv(target.venv, "python")
        script = program_look_script(
            _in_venv(target.venv, "axolotl"), python=python, code=job_script("doctor/versions.py")
        )
    look = parse_program_look(await shell.look("look for axolotl", script))
    if not look.path:
        place = "not on PATH" if target.venv is None else f"not in {target.venv}/bin, or cannot be run"
        return Findings((failure(NAME, f"`axolotl` is {place}", f"install Axolotl there, or set {key}"),))
    versions = _versions(look)
    text = ", ".join(f"{name} {version}" for name, version in versions.items()) or "axolotl"
    return Findings((ok(NAME, f"{text} in {look.path}"),), needed_cuda=cuda_of(versions.get("torch", "")))


async def _check_tiny(shell: Shell, target: LocalTarget | SshTarget) -> Findings:
    if target.venv is not None:
        python = _in_venv(target.venv, "python3")
    else:
        python = sys.executable if isinstance(target, LocalTarget) and sys.executable else "python3"
    look = parse_program_look(
        await shell.look("look for NumPy", program_look_script(python, python=python, code=_NUMPY))
    )
    if not look.path:
        detail = f"the tiny trainer needs `{python}`, which is not there"
        return Findings((failure(NAME, detail, f"install Python there, or set targets.{target.name}.venv"),))
    versions = _versions(look)
    if "numpy" not in versions:
        detail = f"the tiny trainer needs NumPy, which {look.path} cannot import"
        return Findings((failure(NAME, detail, f"run `{look.path} -m pip install numpy`"),))
    return Findings((ok(NAME, f"the tiny trainer, with NumPy {versions['numpy']} of {look.path}"),))


def _versions(look: ProgramLook) -> dict[str, str]:
    """Names and versions, one pair a line; other lines are noise of a start-up file."""
    pairs = (line.split() for line in look.answer.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0] in ("axolotl", "torch", "numpy")}


async def _check_engine(shell: Shell, target: LocalTarget | SshTarget) -> Findings:
    script = engine_look_script(target.engine, target.image)
    look = parse_engine_look(await shell.look(f"look at {target.engine}", script))
    engine = _engine_check(look, target)
    if look.state != "usable":
        return Findings((engine,))
    if look.has_image:
        image = ok("image", target.image)
    else:
        text = f"{target.image} is not there: the first run pulls it, often more than 10 GB"
        image = warning("image", text, f"`{target.engine} pull {target.image}` on the target")
    return Findings((engine, image), needed_cuda=cuda_of(target.image), sees_gpus=look.sees_gpus)


def _engine_check(look: EngineLook, target: LocalTarget | SshTarget) -> Check:
    match look.state:
        case "usable":
            return ok("engine", f"{target.engine} {look.version}".strip())
        case "absent":
            next_step = f"install it, or set targets.{target.name}.runtime to native"
            return failure("engine", f"`{target.engine}` is not on PATH", next_step)
        case _:
            detail = f"`{target.engine}` cannot be used: {look.reason or 'it gave no reason'}"
            return failure("engine", detail, "start it, or let this account use it")
