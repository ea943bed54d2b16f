"""What can go wrong on a target, and how is each failure told?

TargetError
  ExecutorError         any failure of an executor
    AccessError         a local file or directory
    SpawnError          a local program that could not start
    CommandError        a command on the target that exited non-zero, or an operation it refused
    SshError            a connection that failed or broke
    SshMasterError      the background connection of the OpenSSH client that ended right away
    InvalidSecretError  a secret that no environment can hold
    ProtocolError       an answer of the target that cannot be read
"""

from __future__ import annotations

from pathlib import Path

from overbrainer_core.errors import TargetError
from overbrainer_core.shell import cut_error_output
from overbrainer_core.text import escape_controls


class ExecutorError(TargetError):
    """An operation on a target failed; its cause, if any, says why."""


class AccessError(ExecutorError):
    """A local file or directory cannot be used; the cause is the OS error."""

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(f"cannot access {escape_controls(self.path)}")


class SpawnError(ExecutorError):
    """A local program could not be started; the cause is the OS error."""

    def __init__(self, program: str) -> None:
        self.program = program
        super().__init__(f"cannot run `{program}`")


class CommandError(ExecutorError):
    """A command on the target exited non-zero; `action` says what for, `detail` what it told."""

    def __init__(self, action: str, detail: str) -> None:
        self.action = action
        self.detail = detail
        super().__init__(f"{action} failed: {detail}")

    @classmethod
    def from_output(cls, action: str, stderr: bytes, *, status_words: str) -> CommandError:
        """The error of a command: its error output, cut, or its exit status in words when it wrote none."""
        return cls(action, cut_error_output(stderr, fallback=status_words))

    @classmethod
    def timed_out(cls, action: str, limit_s: float) -> CommandError:
        """The error of a command that took longer than its limit and was ended."""
        return cls(action, f"timed out after {limit_s:g} s")


class SshError(ExecutorError):
    """The connection to the target failed or broke; the cause says why."""

    def __init__(self) -> None:
        super().__init__("ssh failed")


class SshMasterError(ExecutorError):
    """The master connection of the OpenSSH client ended right after it started; `log` is its cut log."""

    def __init__(self, log: str) -> None:
        super().__init__(f"the ssh master connection ended right after it started (ssh log: {log or 'empty'})")


class InvalidSecretError(ExecutorError):
    """A secret's name or value cannot stand in an environment; the value is never shown."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{escape_controls(name)} cannot be passed to the job")


class ProtocolError(ExecutorError):
    """The target answered what no script of ours prints."""

    def __init__(self, what: str) -> None:
        super().__init__(f"unexpected answer from the target: {what}")
