"""`job.log` shown as data."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from overbrainer_core.clock import parse_rfc3339
from overbrainer_core.errors import RunError
from overbrainer_core.files import UnsafePathError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import InvalidRunIdError
from overbrainer_core.runs.logs import NoLogError, log_lines
from overbrainer_core.runs.record import RunRecord, save_run


@pytest.fixture
def log(paths: ProjectPaths) -> Path:
    """The path of the log of run `a`, which has a record."""
    paths.run("a").mkdir(parents=True)
    record = RunRecord(id="a", target="t", created=parse_rfc3339("2026-01-01T00:00:00Z"), remote_dir="/r")
    save_run(paths, record)
    return paths.run("a") / "job.log"


def test_lines_are_printable_and_secrets_masked(paths: ProjectPaths, log: Path) -> None:
    log.write_bytes(b"one\r\n\n\x1b[31mred\x1b[0m\xff\nHF_TOKEN=abc\nlast")
    assert list(log_lines(paths, "a")) == ["one", "", "\\u{1b}[31mred\\u{1b}[0m\ufffd", "HF_TOKEN=***", "last"]


@pytest.mark.parametrize(
    ("content", "count", "expected"),
    [
        (b"a\nb\nc\n", 2, ["b", "c"]),
        (b"a\nb\nc", 2, ["b", "c"]),
        (b"a\nb\n\n", 2, ["b", ""]),
        (b"a\nb\nc\n", 9, ["a", "b", "c"]),
        (b"a\nb\nc\n", 0, []),
        (b"", 3, []),
        (b"x" * 70_000 + b"\n" + b"y" * 70_000 + b"\nz\n", 2, ["y" * 70_000, "z"]),
    ],
    ids=["ended", "not ended", "empty last", "more than there are", "none", "empty file", "across blocks"],
)
def test_the_last_lines_are_found_from_the_end(
    paths: ProjectPaths, log: Path, content: bytes, count: int, expected: list[str]
) -> None:
    log.write_bytes(content)
    assert list(log_lines(paths, "a", count)) == expected


def test_c098_a_giant_progress_line_stays_visible_in_bounded_memory(paths: ProjectPaths, log: Path) -> None:
    bar = "".join(f"{step:3d}%|█████     | {step}/640\r" for step in range(100))
    line = (
        bar * (3_000_000 // len(bar.encode())) + "100%|██████████| 640/640 [52:10<00:00,  4.89s/it]{'eval_loss': 0.71}"
    )
    log.write_bytes(line.encode() + b"\nnext\n")
    tracemalloc.start()
    longest, pieces, last = 0, 0, ""
    for piece in log_lines(paths, "a"):
        assert "\ufffd" not in piece
        longest = max(longest, len(piece))
        pieces += 1
        last, before = piece, last
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert last == "next"
    assert before.endswith("{'eval_loss': 0.71}")
    assert "\\r" in before
    assert pieces == 4
    assert longest < 1_500_000
    assert peak < 20_000_000


def test_an_unknown_run_and_one_without_a_log_are_told_apart(paths: ProjectPaths, log: Path) -> None:
    with pytest.raises(RunError, match=r"^no run b in runs/$"):
        log_lines(paths, "b")
    with pytest.raises(NoLogError, match=r"^no job.log for run a yet$"):
        log_lines(paths, "a")
    with pytest.raises(InvalidRunIdError):
        log_lines(paths, "../a")


def test_a_link_or_a_pipe_in_the_place_of_the_log_is_refused(paths: ProjectPaths, log: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    log.symlink_to(tmp_path / "secret")
    with pytest.raises(UnsafePathError):
        log_lines(paths, "a")
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(UnsafePathError):
        log_lines(paths, "a")
