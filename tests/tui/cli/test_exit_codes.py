"""Each kind of error has its exit code."""

from __future__ import annotations

import pytest

from overbrainer_core.errors import (
    ConfigError,
    CostCapError,
    InterruptedByUser,
    ItemsFailedError,
    JobError,
    LockedError,
    ProjectFileError,
    ProviderError,
    RunError,
    SecretError,
    TargetError,
)
from overbrainer_core.executors.errors import ExecutorError
from overbrainer_core.files import UnsafePathError
from overbrainer_tui.cli.exit_codes import exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 3),
        (ProjectFileError("x"), 3),
        (UnsafePathError("x"), 3),
        (LockedError(1), 4),
        (SecretError("x"), 5),
        (ProviderError("x"), 6),
        (ItemsFailedError("answers", 2), 7),
        (TargetError("x"), 8),
        (JobError("x"), 9),
        (CostCapError("x"), 10),
        (InterruptedByUser(), 130),
        (RunError("x"), 1),
        (ValueError("x"), 1),
    ],
)
def test_an_error_ends_with_the_code_of_its_kind(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_every_executor_error_is_a_targets_fault() -> None:
    assert issubclass(ExecutorError, TargetError)
