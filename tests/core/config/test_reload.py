"""Stamps: equal while nothing changed."""

from __future__ import annotations

import os
from pathlib import Path

from overbrainer_core.config.reload import take_stamp
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
