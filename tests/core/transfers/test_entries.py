"""Entries of one local directory in another, as copies and as hard links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.transfers.entries import CopyError, copy_entries, hard_link_tree
from overbrainer_core.transfers.manifest import build_manifest
from overbrainer_core.transfers.tree import TransferError


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint with a directory, a link and a FIFO."""
    source = tmp_path / "checkpoint-5"
    (source / "sub" / "empty").mkdir(parents=True)
    (source / "model").write_text("weights")
    (source / "sub" / "state").write_text("s")
    (source / "link").symlink_to("model")
    os.mkfifo(source / "fifo")
    return source


def test_files_are_hard_links_and_anything_else_is_left_out(checkpoint: Path, tmp_path: Path) -> None:
    destination = tmp_path / "resume" / "checkpoint-5"
    hard_link_tree(checkpoint, destination)
    found = sorted(path.relative_to(destination).as_posix() for path in destination.rglob("*"))
    assert found == ["model", "sub", "sub/empty", "sub/state"]
    assert (destination / "model").samefile(checkpoint / "model")


def test_a_repeated_link_leaves_the_original_whole(checkpoint: Path, tmp_path: Path) -> None:
    destination = tmp_path / "resume"
    hard_link_tree(checkpoint, destination)
    (destination / "sub" / "state").unlink()
    (destination / "sub" / "state").write_text("other")
    hard_link_tree(checkpoint, destination)
    assert (checkpoint / "model").read_text() == "weights"
    assert (destination / "sub" / "state").read_text() == "s"


def test_a_file_is_copied_where_no_link_is_possible(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    hard_link_tree(checkpoint, tmp_path / "resume")
    assert (tmp_path / "resume" / "model").read_text() == "weights"
    assert not (tmp_path / "resume" / "model").samefile(checkpoint / "model")


def test_a_failed_copy_names_both_paths(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "resume" / "model").mkdir(parents=True)
    with pytest.raises(CopyError) as caught:
        hard_link_tree(checkpoint, tmp_path / "resume")
    expected = f"cannot copy {checkpoint / 'model'} to {tmp_path / 'resume' / 'model'}: "
    assert describe(caught.value).startswith(expected)
    with pytest.raises(CopyError, match=r"^cannot copy .*/missing to .*/x$"):
        hard_link_tree(tmp_path / "missing", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_copy_equals_its_source(tmp_path: Path) -> None:
    source = tmp_path / "from"
    (source / "output" / "deep").mkdir(parents=True)
    (source / "output" / "model").write_bytes(os.urandom(1 << 20))
    (source / "output" / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (source / "output" / "deep" / "run.sh").chmod(0o750)
    (source / "output" / "latest").symlink_to("deep")
    copy_entries(source, tmp_path / "to", ["output", "missing"])
    assert build_manifest(tmp_path / "to", ["."]) == build_manifest(source, ["."])
    assert (tmp_path / "to" / "output" / "deep" / "run.sh").stat().st_mode & 0o777 == 0o750
    assert os.readlink(tmp_path / "to" / "output" / "latest") == "deep"


def test_nothing_to_copy_makes_no_directory(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    copy_entries(tmp_path / "from", tmp_path / "to", ["missing"])
    assert not (tmp_path / "to").exists()


def test_a_receiver_that_fails_early_ends_the_sender_and_tells_its_own_reason(tmp_path: Path) -> None:
    (tmp_path / "from" / "output").mkdir(parents=True)
    (tmp_path / "from" / "output" / "a").write_bytes(bytes(5 << 20))
    (tmp_path / "from" / "output" / "b").write_bytes(bytes(5 << 20))
    (tmp_path / "to" / "output" / "a").mkdir(parents=True)
    with pytest.raises(TransferError, match=r"^extract failed: cannot write .*/to/output/a$") as caught:
        copy_entries(tmp_path / "from", tmp_path / "to", ["output"])
    assert isinstance(caught.value.__cause__, OSError)


def test_a_sender_that_fails_tells_its_reason_and_not_the_torn_stream(tmp_path: Path) -> None:
    class TooLate(Exception):
        pass

    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "a").write_bytes(os.urandom(1 << 20))
    calls: list[int] = []

    def check() -> None:
        import threading

        if threading.current_thread().name == "copy_entries":
            calls.append(1)
            if len(calls) == 3:
                raise TooLate

    with pytest.raises(TooLate):
        copy_entries(tmp_path / "from", tmp_path / "to", ["a"], check=check)
