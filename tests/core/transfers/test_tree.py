"""Which files a list of entries means."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from overbrainer_core.transfers.tree import TransferError, is_excluded, walk_entries


def names(directory: Path, entries: list[str], exclude: tuple[str, ...] = ()) -> list[str]:
    """Names of everything found."""
    return [file.name for file in walk_entries(directory, entries, exclude)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A run directory with checkpoints, links and odd names."""
    for path in ("output/checkpoint-1/x", "output/deep/checkpoint-2/y", "output/model", "job.log", "other"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "output" / "link").symlink_to("deep")
    return tmp_path


def test_a_directory_comes_before_its_content_in_the_order_of_names(tree: Path) -> None:
    assert names(tree, ["output", "job.log"]) == [
        "output",
        "output/checkpoint-1",
        "output/checkpoint-1/x",
        "output/deep",
        "output/deep/checkpoint-2",
        "output/deep/checkpoint-2/y",
        "output/link",
        "output/model",
        "job.log",
    ]


def test_excluded_names_are_left_out_at_any_depth_with_what_is_under_them(tree: Path) -> None:
    assert names(tree, ["output"], ("checkpoint-*",)) == ["output", "output/deep", "output/link", "output/model"]
    assert names(tree, ["output/checkpoint-1"], ("checkpoint-?",)) == []
    assert names(tree, ["output/checkpoint-1"], ("checkpoint-??",)) == ["output/checkpoint-1", "output/checkpoint-1/x"]


def test_missing_entries_are_skipped_and_no_file_is_named_twice(tree: Path) -> None:
    assert names(tree, ["nothing", "job.log/below", "./output/model", "output//model", "output/model"]) == [
        "output/model"
    ]
    assert names(tree, []) == []


def test_the_directory_itself_is_everything_in_it_whatever_is_excluded(tree: Path) -> None:
    assert names(tree, ["."], ("output",)) == ["job.log", "other"]
    assert "output" not in names(tree, ["."], ("*",))


@pytest.mark.parametrize("entry", ["/etc", "..", "../other", "output/../../x"])
def test_an_entry_outside_the_directory_is_refused(entry: str, tree: Path) -> None:
    with pytest.raises(TransferError, match="is outside the directory"):
        names(tree, [entry])


def test_a_very_deep_tree_is_walked(tmp_path: Path) -> None:
    depth = 1500
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    try:
        assert len(names(tmp_path, ["."])) == depth
    finally:
        # Too deep for the clean-up of the test's own folder on every Python.
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_patterns_are_those_of_a_shell_and_know_case() -> None:
    assert is_excluded("checkpoint-40", ("checkpoint-*",))
    assert not is_excluded("Checkpoint-40", ("checkpoint-*",))
    assert not is_excluded("my-checkpoint-40", ("checkpoint-*",))
