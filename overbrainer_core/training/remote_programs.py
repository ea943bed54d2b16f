"""Is what a job will run really there, on a machine behind SSH? Looked at over its connection, before a run exists.

Nothing is changed there. A refusal has the words of `programs`, which looks at this machine.
"""

from __future__ import annotations

from overbrainer_core.config.settings import SshTarget
from overbrainer_core.errors import TargetError
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.executors.looks import (
    ProgramLook,
    engine_look_script,
    parse_engine_look,
    parse_program_look,
    program_look_script,
)
from overbrainer_core.training.programs import absent_image_note, missing_engine, missing_program, unusable_engine


async def find_remote_program(program: str, *, target: SshTarget, executor: Executor, code: str = "") -> ProgramLook:
    """The program of a native target, and what it printed for a line of Python, where it is one.

    Raises:
        ProgramMissingError: it is neither in the target's venv nor, without one, on PATH.
        TargetError: the target gave no answer.
    """
    path = program if target.venv is None else f"{target.venv.rstrip('/')}/bin/{program}"
    if target.venv is not None and not path.startswith(("/", "~/")):
        raise missing_program(program, target=target, path=path)
    script = program_look_script(path, python=path if code else "", code=code)
    try:
        look = parse_program_look(await executor.probe(script))
    except CommandError as error:
        raise TargetError(f"target `{target.name}`: `{program}` gave no answer") from error
    if not look.path:
        raise missing_program(program, target=target, path=path)
    return look


async def check_remote_engine(target: SshTarget, executor: Executor) -> tuple[str, ...]:
    """Refuse a container target whose engine is missing or cannot be used; what else a person should know.

    An image that is not there is no failure: the engine pulls it, which is worth a warning.

    Raises:
        ProgramMissingError: the engine is not there.
        TargetError: it cannot be used or does not answer.
    """
    try:
        look = parse_engine_look(await executor.probe(engine_look_script(target.engine, target.image)))
    except CommandError as error:
        raise TargetError(f"target `{target.name}`: `{target.engine}` gave no answer") from error
    if look.state == "absent":
        raise missing_engine(target)
    if look.state != "usable":
        raise unusable_engine(target, look.reason or "it gave no reason")
    return () if look.has_image else (absent_image_note(target),)
