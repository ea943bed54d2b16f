"""Which errors can a caller meet, and how are they told in one line?

Every error of overbrainer is an `OverbrainerError`; each layer adds its own small family under one of
these roots. Facts are attributes, the text is for people: decide on the class or an attribute, never on
the text. `describe` joins an error with its causes, each cause once.

OverbrainerError
  ConfigError           settings, `.env`, project set-up
  ProjectFileError      a data file, a prompt or another file of the project
  LockedError           another process writes to the project
  SecretError           a secret is missing or cannot be resolved
  ProviderError         a provider refused, or cannot be used
  ItemsFailedError      some items failed, the rest is done
  TargetError           a machine or its container engine cannot be used
  JobError              a job failed or was cancelled
  RunError              a run's record or state refuses what was asked
  CostCapError          a cost cap ended the work
  InterruptedByUser     Ctrl-C, a caught signal or a request to detach
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class OverbrainerError(Exception):
    """Root of every error that overbrainer raises on purpose; its text is one line without a final stop."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one setting: its dotted key (empty for the whole file) and the reason, never the value."""

    path: str
    reason: str
    line: str = ""
    """The whole line where it is not `path: reason`."""

    def __str__(self) -> str:
        return self.line or (f"{self.path}: {self.reason}" if self.path else self.reason)


class ConfigError(OverbrainerError):
    """The settings, the `.env` file or the set-up of a project cannot be used.

    `problems` names each setting at fault; with more than one the text has a line for each.
    """

    def __init__(self, message: str, *, problems: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message)


class ProjectFileError(OverbrainerError):
    """A file of the project (data, prompt, history) cannot be read or written."""


class LockedError(OverbrainerError):
    """Another process holds the project; `pid` is None when it cannot be told."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        who = f"pid {pid}" if pid is not None else "unknown pid"
        super().__init__(f"another overbrainer ({who}) is using this project")


class SecretError(OverbrainerError):
    """A secret is not set or cannot be resolved; never holds the value."""


class ProviderError(OverbrainerError):
    """A provider cannot be used: set-up, authentication, quota, or out of reach."""


class ItemsFailedError(OverbrainerError):
    """A stage ended with `failed` items left for its next run."""

    def __init__(self, stage: str, failed: int) -> None:
        self.stage = stage
        self.failed = failed
        super().__init__(f"{failed} {stage} item(s) failed; run the command again to retry them")


class TargetError(OverbrainerError):
    """A target, its connection or its container engine cannot be used."""


class JobError(OverbrainerError):
    """A job failed or was cancelled."""


class RunError(OverbrainerError):
    """A run's record or state refuses what was asked."""


class CostCapError(OverbrainerError):
    """A cost cap ended the work."""


class InterruptedByUser(OverbrainerError):
    """The person interrupted (Ctrl-C, SIGTERM) or detached; what is shielded has ended before."""

    def __init__(self, message: str = "interrupted") -> None:
        super().__init__(message)


def describe(error: BaseException) -> str:
    """The error and its causes on one line, joined by `: `, a cause whose text is already there left out.

    >>> describe(OSError(2, "No such file or directory"))
    'No such file or directory'
    """
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        text = _own_text(current)
        if text and not any(text in part for part in parts):
            parts.append(text)
        current = current.__cause__
    return ": ".join(parts)


def _own_text(error: BaseException) -> str:
    """The error's own words on one line, but for the problems of settings; an OS error without its number and path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ConfigError) and error.problems:
        return str(error)
    return " ".join(str(error).split()) or type(error).__name__
