"""Blocking file operations of a local target, where they differ from a plain copy or read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from overbrainer_core.aio.threads import StopToken, WorkStopped
from overbrainer_core.executors.errors import AccessError, CommandError
from overbrainer_core.executors.local_files import claim, copy, prepare_directory, put_file, read_range


def test_a_claim_that_names_somebody_else_or_nobody_is_not_ours(tmp_path: Path) -> None:
    for content in ("other\n", "", "0a0a\n", "0a\n0b\n"):
        (tmp_path / ".claim").write_text(content)
        assert not claim(tmp_path, "0a")
        assert (tmp_path / ".claim").read_text() == content
    (tmp_path / ".claim").write_text("  0a \n")
    assert claim(tmp_path, "0a")


def test_a_claim_of_a_file_is_an_error_and_not_taken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AccessError):
        claim(tmp_path / "file", "0a")


def test_a_range_of_a_growing_file_is_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"abc")
    assert read_range(path, 1, 100) == b"bc"
    with open(path, "ab") as handle:
        handle.write(b"def")
    assert read_range(path, 3, 2) == b"de"


def test_the_log_descriptor_blocks_and_is_empty(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("old")
    descriptor = prepare_directory(tmp_path)
    try:
        assert os.get_blocking(descriptor)
        assert os.fstat(descriptor).st_size == 0
    finally:
        os.close(descriptor)


def test_a_failed_replacement_says_why_and_leaves_no_scratch(tmp_path: Path) -> None:
    (tmp_path / "request").mkdir()
    with pytest.raises(AccessError) as caught:
        put_file(tmp_path / "request", "x")
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno in (errno.EISDIR, errno.EEXIST)
    assert [path.name for path in tmp_path.iterdir()] == ["request"]


def test_a_copy_that_fails_names_the_action(tmp_path: Path) -> None:
    (tmp_path / "from" / "output").mkdir(parents=True)
    (tmp_path / "from" / "output" / "x").write_text("x")
    (tmp_path / "to" / "output" / "x").mkdir(parents=True)
    with pytest.raises(CommandError, match=r"^extract failed: cannot write .*/to/output/x$"):
        copy(tmp_path / "from", tmp_path / "to", ["output"], token=StopToken())


def test_a_stopped_copy_stops(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "x").write_text("x")
    token = StopToken()
    token.stop()
    with pytest.raises(WorkStopped):
        copy(tmp_path / "from", tmp_path / "to", ["x"], token=token)
