"""Stamps: equal while nothing changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.config.reload import stamp_of, take_stamp
from overbrainer_core.project.paths import ProjectPaths


def test_a_stamp_changes_with_either_file(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    nothing = take_stamp(paths)
    assert (nothing.config, nothing.env) == (None, None)
    paths.config.write_text("a")
    appeared = take_stamp(paths)
    assert appeared != nothing
    assert take_stamp(paths) == appeared
    paths.config.write_text("ab")
    longer = take_stamp(paths)
    assert longer != appeared
    os.utime(paths.config, ns=(1, 1))
    touched = take_stamp(paths)
    assert touched != longer
    paths.env.write_text("A=1")
    with_env = take_stamp(paths)
    assert with_env != touched
    paths.env.unlink()
    assert take_stamp(paths) == touched


def test_a_file_replaced_by_one_of_the_same_size_and_time_is_seen(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    paths.config.write_text("a")
    os.utime(paths.config, ns=(5, 5))
    before = take_stamp(paths)
    other = tmp_path / "other"
    other.write_text("b")
    os.utime(other, ns=(5, 5))
    other.replace(paths.config)
    assert take_stamp(paths) != before


@pytest.mark.parametrize("time_ns", [0, 1_700_000_000 * 10**9, 1_700_000_000 * 10**9 + 20_000_000])
def test_where_times_are_coarse_the_content_counts(tmp_path: Path, time_ns: int) -> None:
    paths = ProjectPaths(tmp_path)
    paths.env.write_text("A=1")
    os.utime(paths.env, ns=(time_ns, time_ns))
    before = take_stamp(paths)
    assert take_stamp(paths) == before
    paths.env.write_text("A=2")
    os.utime(paths.env, ns=(time_ns, time_ns))
    assert take_stamp(paths) != before


def test_what_cannot_be_read_has_a_stamp_all_the_same(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    os.mkfifo(paths.config)
    paths.env.mkdir()
    for path in (paths.config, paths.env):
        os.utime(path, ns=(0, 0))
    stamp = take_stamp(paths)
    assert stamp.config is not None
    assert stamp.env is not None
    assert (stamp.config.digest, stamp.env.digest) == (None, None)


def test_a_stamp_made_from_a_state_is_the_one_taken(tmp_path: Path) -> None:
    paths = ProjectPaths(tmp_path)
    paths.config.write_bytes(b"a")
    for time_ns in (5, 0):
        os.utime(paths.config, ns=(time_ns, time_ns))
        assert stamp_of(paths.config.stat(), b"a") == take_stamp(paths).config
