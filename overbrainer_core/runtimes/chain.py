"""How do a job's commands become one line of shell, in a venv and in a container alike?

The first failure ends the chain. A stage line goes to the metrics file before its command and never fails the job.
With a stop marker everything after the first command is skipped once the marker exists, and the job ends with 0.
"""

from __future__ import annotations

from collections.abc import Callable

from overbrainer_core.runtimes.base import ScriptPlan
from overbrainer_core.shell import quote
from overbrainer_core.values.job import JobCommand


def command_chain(plan: ScriptPlan, *, program: Callable[[str], str] = quote) -> str:
    """The commands joined; empty without any.

    Args:
        program: gives a program's name as shell text.
    """
    steps = [_step(command, metrics_file=plan.metrics_file, program=program) for command in plan.commands]
    if plan.stop_marker is None or len(steps) < 2:
        return " && ".join(steps)
    rest = " && ".join(steps[1:])
    return f"{steps[0]} && {{ [ -e {quote(plan.stop_marker)} ] || {{ {rest}; }}; }}"


def _step(command: JobCommand, *, metrics_file: str, program: Callable[[str], str]) -> str:
    """One command behind its stage line."""
    words = " ".join([program(command.program), *(quote(argument) for argument in command.arguments)])
    if command.stage is None:
        return words
    line = quote('{"event":"stage","name":"%s","time":%s}\\n')
    target = quote(metrics_file)
    # A group, so that a failed line does not end the chain and a failed command before it does.
    return f'{{ printf {line} {quote(command.stage)} "$(date +%s)" >> {target} || :; }} 2>/dev/null && {words}'
