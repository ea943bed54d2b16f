"""Hashes of files, and what is told when two lists of them differ."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from overbrainer_core.transfers.manifest import (
    ManifestEntry,
    VerifyError,
    build_manifest,
    compare_manifests,
    hash_file,
)
from overbrainer_core.transfers.tree import TransferError

ODD_NAMES = ["a\\b.txt", "two\nlines", "-rf", "  spaced  ", 'it\'s "quoted"', "ünï", "double  space"]


def entry(path: str, content: bytes = b"") -> ManifestEntry:
    """The entry of a file with this content."""
    return ManifestEntry(path=path, sha256=hashlib.sha256(content).hexdigest())


def test_odd_names_are_listed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    for name in ODD_NAMES:
        (tmp_path / "output" / name).write_text(name)
    expected = sorted(entry(f"output/{name}", name.encode()) for name in ODD_NAMES)
    assert list(build_manifest(tmp_path, ["output"])) == expected


def test_only_regular_files_are_listed_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "real").write_text("x")
    (tmp_path / "output" / "link").symlink_to("real")
    (tmp_path / "output" / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "output" / "fifo")
    os.link(tmp_path / "output" / "real", tmp_path / "output" / "second")
    found = build_manifest(tmp_path, ["output", "missing"])
    assert found == (entry("output/real", b"x"), entry("output/second", b"x"))


def test_a_name_that_is_no_utf8_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    with pytest.raises(TransferError, match=r'^manifest failed: the file name "bad\\xff" is not valid UTF-8$'):
        build_manifest(tmp_path, ["."])


def test_a_missing_directory_is_an_error_and_not_an_empty_list(tmp_path: Path) -> None:
    with pytest.raises(TransferError) as caught:
        build_manifest(tmp_path / "gone", ["output"])
    assert str(caught.value) == f"manifest failed: {tmp_path / 'gone'} does not exist"


def test_a_big_file_is_hashed_in_blocks_that_can_be_stopped(tmp_path: Path) -> None:
    content = os.urandom(3 * (1 << 20) + 17)
    (tmp_path / "big").write_bytes(content)
    blocks: list[int] = []
    assert hash_file(tmp_path / "big", check=lambda: blocks.append(1)) == hashlib.sha256(content).hexdigest()
    assert len(blocks) == 4


def test_a_link_put_in_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "file").symlink_to("secret")
    with pytest.raises(OSError, match="symbolic links"):
        hash_file(tmp_path / "file")


def test_equal_lists_pass_in_any_order() -> None:
    compare_manifests([entry("a"), entry("b")], [entry("b"), entry("a")])
    compare_manifests([], [])


@pytest.mark.parametrize(
    ("target", "local", "message"),
    [
        ([entry("a"), entry("b")], [entry("a")], '"b" is missing locally'),
        ([entry("a")], [entry("a", b"x")], '"a" differs from the target (SHA-256 mismatch)'),
        ([entry("a")], [entry("a"), entry("z"), entry("b")], '"b" is not on the target'),
        ([], [entry("two\nlines")], '"two\\nlines" is not on the target'),
    ],
)
def test_a_difference_names_the_file(target: list[ManifestEntry], local: list[ManifestEntry], message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        compare_manifests(target, local)
    assert str(caught.value) == f"verify failed: {message}"
    assert caught.value.action == "verify"
