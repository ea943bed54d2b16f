"""The project lock: one writer, its PID, and nothing written through a link."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from overbrainer_core.errors import LockedError, ProjectFileError, describe
from overbrainer_core.files import UnsafePathError
from overbrainer_core.project.lock import LockHolder, acquire_lock, lock_holder
from overbrainer_core.project.paths import ProjectPaths

HOLD = """
import sys
from pathlib import Path
from overbrainer_core.project.lock import acquire_lock
from overbrainer_core.project.paths import ProjectPaths
lock = acquire_lock(ProjectPaths(Path(sys.argv[1])))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    return ProjectPaths(tmp_path)


@pytest.fixture
def holder(paths: ProjectPaths) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the project."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(paths.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_the_lock_holds_the_pid_without_a_newline_and_stays(paths: ProjectPaths) -> None:
    with acquire_lock(paths):
        assert paths.lock.read_bytes() == str(os.getpid()).encode()
        assert lock_holder(paths) == LockHolder(os.getpid())
    assert paths.lock.exists()
    assert lock_holder(paths) is None


def test_a_longer_pid_of_before_leaves_nothing(paths: ProjectPaths) -> None:
    paths.state.mkdir()
    paths.lock.write_text("1234567890123")
    acquire_lock(paths).release()
    assert paths.lock.read_bytes() == str(os.getpid()).encode()


def test_another_process_is_named(paths: ProjectPaths, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(LockedError) as caught:
        acquire_lock(paths)
    assert str(caught.value) == f"another overbrainer (pid {holder.pid}) is using this project"
    assert lock_holder(paths) == LockHolder(holder.pid)


def test_a_killed_process_frees_the_project(paths: ProjectPaths, holder: subprocess.Popen[str]) -> None:
    holder.kill()
    holder.wait()
    assert lock_holder(paths) is None
    with acquire_lock(paths):
        assert lock_holder(paths) == LockHolder(os.getpid())


@pytest.mark.parametrize("content", ["", "x", "-1", "0", "12 ", "9" * 40])
def test_an_unreadable_pid_is_unknown(paths: ProjectPaths, content: str) -> None:
    with acquire_lock(paths):
        paths.lock.write_text(content)
        with pytest.raises(LockedError, match=r"^another overbrainer \(unknown pid\) is using this project$"):
            acquire_lock(paths)
        assert lock_holder(paths) == LockHolder(None)


def test_a_lock_can_be_taken_again_and_released_twice(paths: ProjectPaths) -> None:
    lock = acquire_lock(paths)
    lock.release()
    lock.release()
    assert lock_holder(paths) is None
    with acquire_lock(paths):
        lock.release()
        assert lock_holder(paths) == LockHolder(os.getpid())


def test_a_missing_project_is_not_created(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path / "gone")
    with pytest.raises(ProjectFileError) as caught:
        acquire_lock(paths)
    assert describe(caught.value) == f"cannot lock {paths.lock}: No such file or directory"
    assert not paths.root.exists()
    assert lock_holder(paths) is None


def test_a_lock_that_is_a_link_is_refused_and_nothing_is_written(paths: ProjectPaths, tmp_path: Path) -> None:
    paths.state.mkdir()
    other = tmp_path / "other"
    other.write_text("precious")
    paths.lock.symlink_to(other)
    message = f"refusing to use {paths.lock}: it is not a safe lock path"
    for act in (acquire_lock, lock_holder):
        with pytest.raises(UnsafePathError) as caught:
            act(paths)
        assert str(caught.value) == message
    paths.lock.unlink()
    os.link(other, paths.lock)
    with pytest.raises(UnsafePathError) as caught:
        acquire_lock(paths)
    assert str(caught.value) == message
    assert other.read_text() == "precious"


def test_a_link_swapped_in_between_open_and_check_keeps_the_pid_out_of_another_file(
    paths: ProjectPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire_lock(paths).release()
    other = tmp_path / "other"
    other.write_text("precious")
    real = os.lstat

    def swapped(path: Path) -> os.stat_result:
        if path == paths.lock:
            paths.lock.unlink()
            os.link(other, paths.lock)
        return real(path)

    monkeypatch.setattr(os, "lstat", swapped)
    with pytest.raises(UnsafePathError):
        acquire_lock(paths)
    assert other.read_text() == "precious"


def test_a_directory_that_is_a_link_or_a_file_is_refused(paths: ProjectPaths, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    paths.state.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePathError) as caught:
        acquire_lock(paths)
    assert str(caught.value) == f"refusing to use {paths.state}: it is not a safe lock path"
    assert not list((tmp_path / "elsewhere").iterdir())
    paths.state.unlink()
    paths.state.write_text("")
    with pytest.raises(UnsafePathError):
        acquire_lock(paths)


def test_a_fifo_in_its_place_does_not_hang(paths: ProjectPaths) -> None:
    paths.state.mkdir()
    os.mkfifo(paths.lock)
    with pytest.raises(UnsafePathError):
        acquire_lock(paths)
    with pytest.raises(UnsafePathError):
        lock_holder(paths)


def test_looking_at_the_lock_does_not_keep_a_writer_out(paths: ProjectPaths) -> None:
    acquire_lock(paths).release()
    stop = threading.Event()
    taken = 0

    def look() -> None:
        while not stop.is_set():
            lock_holder(paths)
            time.sleep(0)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(50):
            with acquire_lock(paths):
                taken += 1
    finally:
        stop.set()
        thread.join()
    assert taken == 50


def test_a_full_disk_stops_nobody_from_taking_the_lock(paths: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with acquire_lock(paths):
        assert lock_holder(paths) == LockHolder(None)
    assert lock_holder(paths) is None
