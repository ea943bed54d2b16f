"""The project format: read strictly, written whole, a newer one refused to writers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.errors import ConfigError
from overbrainer_core.files import UnsafePathError
from overbrainer_core.project.format import (
    FORMAT,
    check_writable,
    ensure_state_dir,
    predates_versions,
    read_format,
    write_format,
)
from overbrainer_core.project.paths import ProjectPaths


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    found = ProjectPaths(tmp_path)
    found.state.mkdir()
    return found


def test_what_is_written_is_read(paths: ProjectPaths) -> None:
    assert read_format(paths) is None
    write_format(paths)
    assert paths.version.read_bytes() == b"1\n"
    assert read_format(paths) == FORMAT == 1
    check_writable(paths)


def test_writing_makes_the_state_directory(tmp_path: Path) -> None:
    write_format(ProjectPaths(tmp_path))
    assert read_format(ProjectPaths(tmp_path)) == 1


@pytest.mark.parametrize("content", [b"1", b" 7 \n", b"0\n"])
def test_blanks_around_the_number_are_fine(paths: ProjectPaths, content: bytes) -> None:
    paths.version.write_bytes(content)
    assert read_format(paths) == int(content)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"1.0", b"-1", b"1_0", b"+1", b"1\0", b"\xff", b" " * 32 + b"1", b"1" * 40]
)
def test_a_file_without_a_number_is_an_error_that_names_it(paths: ProjectPaths, content: bytes) -> None:
    paths.version.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_format(paths)
    assert str(caught.value) == f"{paths.version} holds no format number"


def test_links_are_refused(paths: ProjectPaths, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("1\n")
    paths.version.symlink_to(other)
    for act in (read_format, write_format):
        with pytest.raises(UnsafePathError, match=r"it is not a safe path$"):
            act(paths)
    paths.version.unlink()
    os.link(other, paths.version)
    with pytest.raises(UnsafePathError):
        read_format(paths)
    assert other.read_text() == "1\n"


def test_a_state_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    paths.state.symlink_to(tmp_path / "elsewhere")
    for act in (read_format, write_format, ensure_state_dir):
        with pytest.raises(UnsafePathError, match=r"\.overbrainer: it is not a safe path$"):
            act(paths)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_project_directory_is_never_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ensure_state_dir(ProjectPaths(tmp_path / "gone"))
    assert not (tmp_path / "gone").exists()


def test_a_newer_format_is_refused_to_writers(paths: ProjectPaths) -> None:
    paths.version.write_text("2\n")
    with pytest.raises(ConfigError) as caught:
        check_writable(paths)
    assert str(caught.value) == (
        "this project uses format 2, newer than the format 1 this overbrainer knows: upgrade overbrainer"
    )


def test_a_project_without_a_version_predates_them(paths: ProjectPaths) -> None:
    assert not predates_versions(paths)
    paths.config.write_text("")
    assert predates_versions(paths)
    check_writable(paths)
    paths.version.write_text("garbage")
    assert not predates_versions(paths)


def test_a_project_whose_state_is_a_link_or_a_file_is_no_old_one(paths: ProjectPaths, tmp_path: Path) -> None:
    paths.config.touch()
    paths.state.rmdir()
    paths.state.write_text("")
    assert not predates_versions(paths)
    paths.state.unlink()
    paths.state.symlink_to(tmp_path)
    assert not predates_versions(paths)


def test_a_state_directory_that_cannot_be_looked_at_is_no_old_project(
    paths: ProjectPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.root.mkdir(exist_ok=True)
    paths.config.write_text("")
    assert predates_versions(paths)
    real = os.lstat

    def refused(path: Path) -> os.stat_result:
        if path == paths.version:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "lstat", refused)
    assert not predates_versions(paths)
