"""Which exit code does an error give? One table, first match from the top."""

from __future__ import annotations

from enum import IntEnum

from overbrainer_core.errors import (
    ConfigError,
    CostCapError,
    InterruptedByUser,
    ItemsFailedError,
    JobError,
    LockedError,
    ProjectFileError,
    ProviderError,
    SecretError,
    TargetError,
)


class ExitCode(IntEnum):
    """The codes that scripts can rely on."""

    SUCCESS = 0
    FAILURE = 1
    USAGE = 2
    CONFIGURATION = 3
    LOCKED = 4
    SECRET = 5
    PROVIDER = 6
    ITEMS_FAILED = 7
    TARGET = 8
    JOB = 9
    COST_CAP = 10
    INTERRUPTED = 130


_TABLE: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (InterruptedByUser, ExitCode.INTERRUPTED),
    (ConfigError, ExitCode.CONFIGURATION),
    (ProjectFileError, ExitCode.CONFIGURATION),
    (LockedError, ExitCode.LOCKED),
    (SecretError, ExitCode.SECRET),
    (ProviderError, ExitCode.PROVIDER),
    (ItemsFailedError, ExitCode.ITEMS_FAILED),
    (TargetError, ExitCode.TARGET),
    (CostCapError, ExitCode.COST_CAP),
    (JobError, ExitCode.JOB),
)


def exit_code(error: BaseException) -> ExitCode:
    """The code of an error; one that stands in no row is an ordinary failure."""
    for kind, code in _TABLE:
        if isinstance(error, kind):
            return code
    return ExitCode.FAILURE
