"""Files are written whole, links are refused, devices are not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.files import (
    FileAccessError,
    UnsafePathError,
    create_exclusive,
    jsonl_lines,
    open_state,
    read_regular,
    replace_bytes,
    replace_text,
)


def test_a_replaced_file_holds_the_new_content_and_no_scratch_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    replace_text(path, "one")
    replace_text(path, "two", mode=0o600)
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]


def test_a_failed_replacement_keeps_the_old_file_and_removes_its_scratch(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    (path / "kept").write_text("x")
    with pytest.raises(FileAccessError, match="cannot access"):
        replace_bytes(path, b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["data"]


def test_a_link_in_the_place_of_the_scratch_file_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".file.tmp").symlink_to(victim)
    with pytest.raises(FileAccessError):
        replace_text(tmp_path / "file", "x")
    assert victim.read_text() == "precious"


def test_an_exclusive_file_never_replaces_anything(tmp_path: Path) -> None:
    path = tmp_path / "new"
    create_exclusive(path, b"x", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        create_exclusive(path, b"y")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        create_exclusive(tmp_path / "dangling", b"y")


def test_a_link_is_no_state_file(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("x")
    (tmp_path / "soft").symlink_to(real)
    with pytest.raises(UnsafePathError, match="not a safe path"):
        open_state(tmp_path / "soft", os.O_RDWR)
    os.link(real, tmp_path / "hard")
    with pytest.raises(UnsafePathError):
        open_state(tmp_path / "hard", os.O_RDWR)


def test_a_regular_state_file_opens(tmp_path: Path) -> None:
    descriptor = open_state(tmp_path / "state", os.O_RDWR | os.O_CREAT)
    os.close(descriptor)
    assert (tmp_path / "state").is_file()


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UnsafePathError):
        read_regular(tmp_path / "fifo")
    with pytest.raises(UnsafePathError):
        open_state(tmp_path / "fifo", os.O_RDONLY)


def test_a_directory_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path)


def test_a_device_is_refused() -> None:
    with pytest.raises(UnsafePathError):
        read_regular(Path("/dev/zero"))


def test_lines_are_split_on_line_feeds_only_and_blank_ones_counted() -> None:
    content = "a\u2028b\r\n \t\n{}\x0cx".encode()
    assert list(jsonl_lines(content)) == [(1, "a\u2028b\r".encode()), (3, b"{}\x0cx")]
