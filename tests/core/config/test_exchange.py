"""A new file takes the place of the old one at once, and a change made at any moment wins."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from overbrainer_core.config.exchange import SaveRefusedError, replace_config, swap_names
from overbrainer_core.errors import ConfigError
from overbrainer_core.project.paths import ProjectPaths

OLD, NEW, THEIRS = b"old = 1\n", b"new = 1\n", b"theirs = 1\n"
MEANWHILE = "^overbrainer.toml changed on disk while saving; nothing written$"


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    """A directory with an `overbrainer.toml`."""
    (tmp_path / "overbrainer.toml").write_bytes(OLD)
    return ProjectPaths(tmp_path)


def refuse(directory: int, one: str, other: str) -> None:
    """Stand for a file system that cannot exchange names."""
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def after(change: Callable[[], object]) -> Callable[[int, str, str], None]:
    """Exchange names, somebody else's change made just before the first time."""
    pending = [change]

    def swap(directory: int, one: str, other: str) -> None:
        if pending:
            pending.pop()()
        swap_names(directory, one, other)

    return swap


@pytest.mark.parametrize("swap", [swap_names, refuse])
def test_the_new_content_is_in_place_with_the_old_permissions(
    paths: ProjectPaths, swap: Callable[[int, str, str], None]
) -> None:
    paths.config.chmod(0o4751)
    stamp = replace_config(paths, OLD, NEW, swap=swap)
    state = paths.config.stat()
    assert paths.config.read_bytes() == NEW
    assert stat.S_IMODE(state.st_mode) == 0o751
    assert (stamp.inode, stamp.size_bytes, stamp.modified_ns) == (state.st_ino, len(NEW), state.st_mtime_ns)
    assert os.listdir(paths.root) == ["overbrainer.toml"]


@pytest.mark.parametrize("how", ["in place", "by rename", "gone", "symlink", "fifo"])
def test_a_change_between_the_look_and_the_exchange_wins(paths: ProjectPaths, how: str) -> None:
    other = paths.root / "other"
    other.write_bytes(THEIRS)

    def change() -> None:
        if how == "in place":
            paths.config.write_bytes(THEIRS)
        elif how == "by rename":
            other.rename(paths.config)
        else:
            paths.config.unlink()
        if how == "symlink":
            paths.config.symlink_to(other)
        if how == "fifo":
            os.mkfifo(paths.config)

    with pytest.raises(SaveRefusedError, match=MEANWHILE):
        replace_config(paths, OLD, NEW, swap=after(change))
    if how in ("in place", "by rename"):
        assert paths.config.read_bytes() == THEIRS
    assert paths.config.is_symlink() == (how == "symlink")
    assert paths.config.is_fifo() == (how == "fifo")
    assert not list(paths.root.glob(".overbrainer.toml*"))


@pytest.mark.parametrize("how", ["in place", "gone"])
def test_without_an_exchange_the_identity_is_looked_at_just_before(paths: ProjectPaths, how: str) -> None:
    def swap(directory: int, one: str, other: str) -> None:
        paths.config.write_bytes(THEIRS) if how == "in place" else paths.config.unlink()
        refuse(directory, one, other)

    with pytest.raises(SaveRefusedError, match=MEANWHILE):
        replace_config(paths, OLD, NEW, swap=swap)
    assert paths.config.exists() == (how == "in place")
    assert not list(paths.root.glob(".overbrainer.toml*"))


def test_what_cannot_be_exchanged_back_is_kept_and_named(paths: ProjectPaths) -> None:
    calls: list[str] = []

    def swap(directory: int, one: str, other: str) -> None:
        calls.append(one)
        if len(calls) > 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        paths.config.write_bytes(THEIRS)
        swap_names(directory, one, other)

    with pytest.raises(SaveRefusedError, match=r"the other change is kept in \.overbrainer\.toml\.[0-9a-f]{16}\.tmp"):
        replace_config(paths, OLD, NEW, swap=swap)
    assert (paths.root / calls[0]).read_bytes() == THEIRS


def test_a_change_between_the_two_exchanges_is_kept_too(paths: ProjectPaths) -> None:
    other = paths.root / "other"
    other.write_bytes(b"later = 1\n")
    calls: list[str] = []

    def swap(directory: int, one: str, other_name: str) -> None:
        calls.append(one)
        if len(calls) == 1:
            paths.config.write_bytes(THEIRS)
            swap_names(directory, one, other_name)
            return
        other.rename(paths.config)
        swap_names(directory, one, other_name)

    with pytest.raises(SaveRefusedError, match="is kept in"):
        replace_config(paths, OLD, NEW, swap=swap)
    assert paths.config.read_bytes() == THEIRS
    assert (paths.root / calls[0]).read_bytes() == b"later = 1\n"


def test_the_new_file_is_never_readable_by_others_before_it_has_its_mode(paths: ProjectPaths) -> None:
    seen: list[int] = []
    paths.config.chmod(0o600)

    def swap(directory: int, one: str, other: str) -> None:
        seen.append(stat.S_IMODE(os.stat(one, dir_fd=directory).st_mode))
        swap_names(directory, one, other)

    before = os.umask(0)
    try:
        replace_config(paths, OLD, NEW, swap=swap)
    finally:
        os.umask(before)
    assert seen == [0o600]


def test_a_fifo_is_refused_and_never_waited_on(paths: ProjectPaths) -> None:
    paths.config.unlink()
    os.mkfifo(paths.config)
    done = threading.Event()

    def work() -> None:
        with pytest.raises(SaveRefusedError, match="is not a regular file"):
            replace_config(paths, OLD, NEW)
        done.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(5)
    assert done.is_set()


def test_a_directory_or_a_failed_exchange_is_an_error_of_its_own(paths: ProjectPaths) -> None:
    def swap(directory: int, one: str, other: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(ConfigError, match="cannot write"):
        replace_config(paths, OLD, NEW, swap=swap)
    assert os.listdir(paths.root) == ["overbrainer.toml"]
    with pytest.raises(ConfigError, match="cannot open"):
        replace_config(ProjectPaths(paths.root / "nowhere"), OLD, NEW)
