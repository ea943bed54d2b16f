"""Words and patterns of OpenSSH configuration files; what a whole file means is tried in `test_ssh_config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.executors.ssh_config_file import ConfigReader, matches, split_arguments


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ("'a b'\t\"\"", ["a b", ""]),
        ("a # b", ["a"]),
        ("a#b", ["a#b"]),
        ('"#" x', ["#", "x"]),
        (r"a\ b \"c\"", ["a b", '"c"']),
        (r"C:\path", [r"C:\path"]),
        ("", []),
    ],
)
def test_a_line_is_split_as_openssh_does(text: str, words: list[str]) -> None:
    assert split_arguments(text) == words


def test_a_match_that_excludes_wins_over_all_others() -> None:
    assert matches(["*.example", "!bad.example"], "good.example")
    assert not matches(["*.example", "!bad.example"], "bad.example")
    assert not matches([], "x")


def test_comments_crlf_and_odd_bytes_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(b"# comment\r\n\r\n  Port = 22\r\nUser\t\xff\n")
    lines = ConfigReader("lab", tmp_path).read_only(file)
    assert [(line.key, line.first()) for line in lines] == [("port", "22"), ("user", "\udcff")]
