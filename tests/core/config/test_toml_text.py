"""TOML errors tell a place, never the text."""

from __future__ import annotations

import pytest

from overbrainer_core.config.toml_text import parse_toml
from overbrainer_core.errors import ConfigError

PREFIX = "invalid configuration: TOML syntax error in overbrainer.toml"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1\nb = hidden\n", " at line 2, column 5"),
        ("\u4e2d\u6587 = 1", " at line 1, column 1"),
        ('a = "\u4e2d" hidden', " at line 1, column 9"),
        ("a = 1\r\nb = ?\r\n", " at line 2, column 5"),
        ("a = 1\na = 2\n", " at line 2, column 6"),
        ('a = "hidden', " at line 1, column 12"),
        ("a = 1\nb =", " at line 2, column 4"),
        ("a = 99999999999999999999", ""),
        ("a = [[-9223372036854775809]]", ""),
        ("a = " + "1" * 5000, ""),
        ("a = " + "[" * 100_000, ""),
        ("b = 1\n" + "a." * 300 + "b = 1", " at line 2, column 1"),
        ("a." * 200_000 + "b = 1", " at line 1, column 1"),
        ("[" + "a." * 300 + "b]", " at line 1, column 1"),
    ],
)
def test_an_error_tells_its_place_alone(text: str, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_toml(text)
    assert str(caught.value) == PREFIX + place
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert [problem.path for problem in caught.value.problems] == [""]


def test_integers_of_64_bits_and_long_texts_with_dots_are_fine() -> None:
    text = 'a = 9223372036854775807\nb = -9223372036854775808\nc = """\n' + "word. " * 300 + '"""\n'
    assert parse_toml(text)["a"] == 2**63 - 1


def test_five_megabytes_of_comments_are_no_trouble() -> None:
    assert parse_toml("# note\n" * 750_000 + "a = 1") == {"a": 1}
