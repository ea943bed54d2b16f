"""Several files are replaced together: a failure at any step leaves each as it was and no temporary file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from overbrainer_core.dataset.records import Subtopic
from overbrainer_core.dataset.staging import StagedFiles, remove_leftovers
from overbrainer_core.files import FileAccessError


def content(root: Path) -> dict[str, str]:
    """The text of every file."""
    return {path.name: path.read_text() for path in sorted(root.iterdir()) if path.is_file()}


def write(root: Path, *names: str) -> None:
    """Write the new content of these files, `new NAME`, in their order."""
    with StagedFiles() as files:
        for name in names:
            files.stage(root / name, [b"new ", name.encode()])
        files.append(root / "log", [Subtopic(id="i", topic="t", name="n")])
        files.commit()


def test_files_are_replaced_and_lines_added(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    write(tmp_path, "a", "b")
    assert content(tmp_path) == {"a": "new a", "b": "new b", "log": '{"id":"i","topic":"t","name":"n"}\n'}


def test_nothing_is_changed_without_a_commit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    with StagedFiles() as files:
        files.stage(tmp_path / "a", [b"new"])
        files.append(tmp_path / "log", [])
    assert content(tmp_path) == {"a": "old a"}


def test_a_directory_in_the_place_of_a_file_takes_everything_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "log").write_text("line")
    (tmp_path / "c").mkdir()
    with pytest.raises(FileAccessError, match="cannot access"):
        write(tmp_path, "a", "b", "c")
    assert content(tmp_path) == {"a": "old a", "log": ""}


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_a_rename_that_fails_takes_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    (tmp_path / "log").write_text("{}\n")
    renames = 0
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        nonlocal renames
        if source.name.endswith(".staged.tmp"):
            renames += 1
            if renames > fails_at:
                raise OSError(errno.EDQUOT, "no room")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(FileAccessError):
        write(tmp_path, "a", "b", "c")
    assert content(tmp_path) == {"a": "old a", "b": "old b", "log": "{}\n"}


def test_a_file_system_without_second_names_keeps_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_text("old a")
    (tmp_path / "c").mkdir()
    with pytest.raises(FileAccessError):
        write(tmp_path, "a", "c")
    assert content(tmp_path) == {"a": "old a"}


def test_lines_that_cannot_be_added_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "log").mkdir()
    with pytest.raises(FileAccessError):
        write(tmp_path, "a")
    assert content(tmp_path) == {"a": "old a"}


def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "other").write_text("other")
    (tmp_path / ".a.staged.tmp").symlink_to(tmp_path / "other")
    with pytest.raises(FileAccessError):
        write(tmp_path, "a")
    assert content(tmp_path) == {"a": "old a", "other": "other"}


def test_what_a_killed_process_staged_is_removed(tmp_path: Path) -> None:
    for name in (".a.staged.tmp", ".a.kept.tmp", "a"):
        (tmp_path / name).write_text("x")
    remove_leftovers([tmp_path / "a"])
    assert content(tmp_path) == {"a": "x"}
