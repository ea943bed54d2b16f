"""What became of a job: status, metrics, proof, and the telling line of its log."""

from __future__ import annotations

import pytest

from overbrainer_core.runs.outcome import (
    InvalidProofError,
    Verdict,
    advice_of,
    decide,
    parse_proof,
    telling_line,
    with_proof,
)
from overbrainer_core.runs.record import RunState, Snapshot
from overbrainer_core.values.job import JobPhase, JobState

PROOF = b'{"checkpoint": "output/checkpoint-40", "step": 40, "time": 1.5, "reason": "cost"}\n'
SNAPSHOT = Snapshot(checkpoint="output/checkpoint-40", step=40, reason="cost")


def exited(code: int) -> JobState:
    """A job that exited."""
    return JobState(phase=JobPhase.EXITED, exit_code=code)


def test_a_job_with_metrics_that_exited_with_zero_succeeded() -> None:
    assert decide(exited(0), run_id="a", has_metrics=True) == Verdict(state=RunState.SUCCEEDED)


def test_a_job_without_metrics_failed_unless_it_needs_none() -> None:
    assert decide(exited(0), run_id="a", has_metrics=False) == Verdict(
        state=RunState.FAILED,
        message="the job wrote no metrics: the overbrainer metrics plugin was not loaded (see runs/a/job.log)",
    )
    assert decide(exited(0), run_id="a", has_metrics=False, has_plugin=False) == Verdict(
        state=RunState.FAILED, message="the job wrote no metrics (see runs/a/job.log)"
    )
    assert decide(exited(0), run_id="a", has_metrics=False, needs_metrics=False).state is RunState.SUCCEEDED


@pytest.mark.parametrize("code", [1, 126, 137])
def test_c089_another_code_failed_and_is_never_a_cancel(code: int) -> None:
    assert decide(exited(code), run_id="a", has_metrics=True) == Verdict(
        state=RunState.FAILED, message=f"the job exited with code {code} (see runs/a/job.log)"
    )


def test_c088_a_lost_job_failed_and_a_cancelled_one_has_no_message() -> None:
    assert decide(JobState(phase=JobPhase.LOST), run_id="a", has_metrics=True) == Verdict(
        state=RunState.FAILED, message="the job stopped without an exit code (see runs/a/job.log)"
    )
    assert decide(JobState(phase=JobPhase.CANCELLED), run_id="a", has_metrics=True) == Verdict(state=RunState.CANCELLED)


def test_a_running_job_has_no_outcome() -> None:
    with pytest.raises(AssertionError):
        decide(JobState(phase=JobPhase.RUNNING), run_id="a", has_metrics=True)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED])
def test_a_proof_makes_it_stopped_and_none_changes_nothing(state: RunState) -> None:
    assert with_proof(Verdict(state=state), PROOF) == Verdict(state=RunState.STOPPED, snapshot=SNAPSHOT)
    assert with_proof(Verdict(state=state), b" \n") == Verdict(state=state)


def test_an_invalid_proof_fails_a_success_and_leaves_a_cancel() -> None:
    assert with_proof(Verdict(state=RunState.SUCCEEDED), b'{"step": 1') == Verdict(
        state=RunState.FAILED,
        message="the job stopped with a snapshot, but snapshot.json is not valid (line 1, column 11)",
    )
    assert with_proof(Verdict(state=RunState.CANCELLED), b"{") == Verdict(state=RunState.CANCELLED)


@pytest.mark.parametrize(
    "content",
    [
        b'{"checkpoint": "output/../../x", "step": 4}',
        b'{"checkpoint": "output/checkpoint-5", "step": 4}',
        b'{"checkpoint": "output/checkpoint--4", "step": -4}',
        b'{"checkpoint": "output/checkpoint-True", "step": true}',
        b'{"checkpoint": "output/checkpoint-4.0", "step": 4.0}',
        b'{"step": 4}',
        b"{}",
    ],
)
def test_a_proof_never_names_a_path_that_is_not_its_own_checkpoint(content: bytes) -> None:
    with pytest.raises(InvalidProofError, match=r"^snapshot\.json names an invalid checkpoint path$"):
        parse_proof(content)


@pytest.mark.parametrize("content", [b"[]", b"7", b"\xff", b"[" * 100_000, b"NaN"])
def test_what_is_no_object_is_not_valid(content: bytes) -> None:
    with pytest.raises(InvalidProofError, match="is not valid"):
        parse_proof(content)


@pytest.mark.parametrize("reason", ['"why"', "null", "7"])
def test_an_unknown_reason_counts_as_requested(reason: str) -> None:
    proof = f'{{"checkpoint": "output/checkpoint-4", "step": 4, "reason": {reason}}}'
    assert parse_proof(proof.encode()) == Snapshot(checkpoint="output/checkpoint-4", step=4, reason="requested")


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (b"", None),
        (b" \n\n", None),
        (b"loading\nsaving\n", "saving"),
        (
            b"Traceback (most recent call last):\nModuleNotFoundError: No module named 'flash_attn'\n"
            b"Traceback (most recent call last):\n"
            b"subprocess.CalledProcessError: Command '[..]' returned non-zero exit status 1.\n",
            "ModuleNotFoundError: No module named 'flash_attn'",
        ),
        (b"step 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nbye\n", None),
        (b"sh: 1: axolotl: not found\n", "sh: 1: axolotl: not found"),
        (
            b"2026-01-01 10:00:00 ValueError: eval dataset split is too small for sample_packing\n"
            b" 10%|#   | 1/10\r 20%|##  | 2/10",
            "ValueError: eval dataset split is too small for sample_packing",
        ),
        (b"error: HF_TOKEN=abcdef refused \x1b[31m\n", "error: HF_TOKEN=*** refused \\u{1b}[31m"),
    ],
)
def test_the_telling_line_names_the_error_that_was_there_first(log: bytes, line: str | None) -> None:
    expected = line or (
        None if not log.strip() else "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
    )
    assert telling_line(log) == expected


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "Toolkit",
        ),
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "CDI specification"),
        ('Error: failed to stat CDI host device "/dev/dri/renderD130": no such file or directory', "CDI specification"),
        (
            'docker: Error response from daemon: Conflict. The container name "/overbrainer-a_1" is already in use by '
            'container "c0ffee12".',
            "train cancel",
        ),
        ("ValueError: eval dataset split is too small for sample_packing", None),
        ("", None),
    ],
)
def test_a_line_of_an_engine_gets_advice(line: str, hint: str | None) -> None:
    advice = advice_of(f"loading\n{line}\n\nRun 'docker run --help' for more information\n".encode())
    assert advice is None if hint is None else hint in str(advice)


def test_a_long_chain_of_causes_keeps_the_last_one() -> None:
    line = telling_line(b"Error: initializing source docker://h/x:1: " + b"a" * 300 + b": connection refused\n")
    assert line is not None
    assert line.startswith("Error: initializing source docker://h/x:1: ")
    assert line.endswith(": connection refused")


def test_a_quoted_line_is_short() -> None:
    line = telling_line(b"Error: " + "é".encode() * 5000)
    assert line is not None
    assert len(line) == 240
    assert line.startswith("Error: é")
    assert line.endswith("é")
    assert "…" in line
