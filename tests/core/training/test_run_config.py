"""The settings a run was started with, read back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.training.run_config import load_run_config, parse_yaml, run_root


@pytest.mark.parametrize("text", ["", "[]", "7", "a: [", "1: x", "a: !!python/object:os.system {}", "a: &x [*x", "- a"])
def test_what_is_no_mapping_of_names_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a YAML"):
        parse_yaml(text)


def test_a_file_that_cannot_be_read_gives_none(tmp_path: Path) -> None:
    assert load_run_config(tmp_path) is None
    (tmp_path / "axolotl.yaml").write_bytes(b"a: \xff\n")
    assert load_run_config(tmp_path) is None
    (tmp_path / "axolotl.yaml").write_text('adapter: "lora"\n')
    assert load_run_config(tmp_path) == {"adapter": "lora"}


@pytest.mark.parametrize(
    ("config", "root"),
    [
        ({"output_dir": "/w/a/output"}, "/w/a"),
        ({"output_dir": "/w/a"}, None),
        ({"output_dir": 7}, None),
        ({}, None),
    ],
)
def test_the_root_is_what_stands_before_the_output(config: dict[str, object], root: str | None) -> None:
    assert run_root(config) == root


def test_a_pipe_or_a_device_in_its_place_is_not_read_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "axolotl.yaml")
    assert load_run_config(tmp_path) is None
    (tmp_path / "axolotl.yaml").unlink()
    (tmp_path / "axolotl.yaml").symlink_to("/dev/zero")
    assert load_run_config(tmp_path) is None
