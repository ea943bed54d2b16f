"""Words of the errors of a target."""

from __future__ import annotations

import pytest

from overbrainer_core.errors import TargetError, describe
from overbrainer_core.executors import errors
from overbrainer_core.executors.errors import (
    AccessError,
    CommandError,
    ExecutorError,
    InvalidSecretError,
    ProtocolError,
    SpawnError,
    SshError,
    SshMasterError,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (AccessError("/a/b"), "cannot access /a/b"),
        (SpawnError("tar"), "cannot run `tar`"),
        (CommandError("upload", "no space"), "upload failed: no space"),
        (CommandError.timed_out("probe", 20), "probe failed: timed out after 20 s"),
        (SshError(), "ssh failed"),
        (
            SshMasterError(""),
            "the ssh master connection ended right after it started (ssh log: empty)",
        ),
        (InvalidSecretError("A\nB"), "A\\nB cannot be passed to the job"),
        (ProtocolError("`x` is not a process ID"), "unexpected answer from the target: `x` is not a process ID"),
    ],
)
def test_every_error_has_its_words_and_is_a_target_error(error: ExecutorError, text: str) -> None:
    assert str(error) == text
    assert isinstance(error, TargetError)


def test_a_failed_command_tells_its_output_or_its_status() -> None:
    assert (
        str(CommandError.from_output("status", b" \n", status_words="exit status 3")) == "status failed: exit status 3"
    )
    flood = "\n".join(f"warning {n}" for n in range(25)).encode()
    told = CommandError.from_output("upload", flood, status_words="exit status 2")
    assert str(told).endswith("warning 19\n(5 more lines)")
    long = CommandError.from_output("upload", ("é" * 4000).encode(), status_words="exit status 2")
    assert long.detail == "é" * 2048 + "..."


def test_an_error_is_told_with_its_cause() -> None:
    error = AccessError("/a")
    error.__cause__ = PermissionError(13, "Permission denied", "/a")
    assert describe(error) == "cannot access /a: Permission denied"


def test_the_drawn_tree_is_true() -> None:
    drawn = {
        line.split()[0] for line in (errors.__doc__ or "").splitlines() if line.strip().split(" ")[0].endswith("Error")
    }
    real = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, TargetError)}
    assert drawn == real
