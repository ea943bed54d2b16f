"""Kinds: what a file's value and a variable's text count as."""

from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.config import kinds
from overbrainer_core.config.kinds import Kind, free_value
from overbrainer_core.config.settings import SecretText

INF = float("inf")


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        (kinds.TEXT, "5", "5"),
        (kinds.COUNT, 5, 5),
        (kinds.COUNT, 2.0, 2),
        (kinds.COUNT, "2", 2),
        (kinds.COUNT, "+2", 2),
        (kinds.COUNT, -1, -1),
        (kinds.SEED, 2**63 - 1, 2**63 - 1),
        (kinds.NUMBER, 1, 1.0),
        (kinds.NUMBER, "0.5", 0.5),
        (kinds.NUMBER, ".5", 0.5),
        (kinds.NUMBER, INF, INF),
        (kinds.BOOLEAN, True, True),
        (kinds.TARGET_COUNT, " 2 ", 2),
        (kinds.TARGET_COUNT, "2.0", 2),
        (kinds.TARGET_NUMBER, "6", 6.0),
        (kinds.NAMES, "auto", "auto"),
        (kinds.NAMES, ["A", " B"], ("A", " B")),
        (kinds.NAMES, "A, B", ("A", "B")),
        (kinds.ADDRESS, "127.0.0.1:9464", "127.0.0.1:9464"),
        (kinds.ADDRESS, "[::1]:0", "[::1]:0"),
        (kinds.FREE, {"a": 1}, {"a": 1}),
    ],
)
def test_a_value_of_the_file_counts(kind: Kind, value: object, read: object) -> None:
    found = kind.from_file(value)
    assert (type(found), found) == (type(read), read)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (kinds.TEXT, 5),
        (kinds.TEXT, True),
        (kinds.TEXT, ["a"]),
        (kinds.SECRET, 5),
        (kinds.COUNT, True),
        (kinds.COUNT, 1.5),
        (kinds.COUNT, INF),
        (kinds.COUNT, float("nan")),
        (kinds.COUNT, 2**32),
        (kinds.COUNT, "1.5"),
        (kinds.COUNT, "x"),
        (kinds.COUNT, " 2 "),
        (kinds.COUNT, {}),
        (kinds.NUMBER, False),
        (kinds.NUMBER, "1_0"),
        (kinds.NUMBER, "x"),
        (kinds.BOOLEAN, 1),
        (kinds.BOOLEAN, "true"),
        (kinds.TARGET_COUNT, True),
        (kinds.TARGET_COUNT, "2.5"),
        (kinds.TARGET_NUMBER, True),
        (kinds.NAMES, ["A", 1]),
        (kinds.NAMES, 5),
        (kinds.FREE, "a"),
    ],
)
def test_a_value_of_the_file_is_refused(kind: Kind, value: object) -> None:
    with pytest.raises(ValueError):
        kind.from_file(value)


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        (kinds.TEXT, " 0123 ", " 0123 "),
        (kinds.SECRET, "0123", SecretText("0123")),
        (kinds.COUNT, "+5", 5),
        (kinds.COUNT, "007", 7),
        (kinds.SEED, str(2**64 - 1), 2**64 - 1),
        (kinds.NUMBER, "1e-7", 1e-7),
        (kinds.NUMBER, "1e400", INF),
        (kinds.BOOLEAN, "TRUE", True),
        (kinds.BOOLEAN, "on", True),
        (kinds.BOOLEAN, "1", True),
        (kinds.BOOLEAN, "Yes", True),
        (kinds.BOOLEAN, "off", False),
        (kinds.BOOLEAN, "0", False),
        (kinds.BOOLEAN, "NO", False),
        (kinds.TARGET_COUNT, " 2 ", 2),
        (kinds.TARGET_NUMBER, " 1.5 ", 1.5),
        (kinds.NAMES, " auto ", "auto"),
        (kinds.NAMES, "  ", ()),
        (kinds.NAMES, "A,,B", ("A", "", "B")),
        (kinds.NAMES, "Auto", ("Auto",)),
        (kinds.QUANTIZE, "Q8_0", "Q8_0"),
    ],
)
def test_a_variables_text_counts(kind: Kind, text: str, read: object) -> None:
    found = kind.from_text(text)
    assert (type(found), found) == (type(read), read)


@pytest.mark.parametrize("text", ["0x10", "1_0", "1.5", "", " 5 ", "-1", str(2**32), "\u0665", "9" * 5000])
def test_a_variables_text_is_no_integer(text: str) -> None:
    with pytest.raises(ValueError):
        kinds.COUNT.from_text(text)


@pytest.mark.parametrize("text", ["1_0", "", " 1", "0x1", "one", "1e", "\u0665"])
def test_a_variables_text_is_no_number(text: str) -> None:
    with pytest.raises(ValueError):
        kinds.NUMBER.from_text(text)


@pytest.mark.parametrize(
    "text", ["9464", "localhost:9464", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "::1:9464", ""]
)
def test_a_text_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        kinds.ADDRESS.from_text(text)


@pytest.mark.parametrize("kind", [kinds.BOOLEAN, kinds.choice("a", "b"), kinds.QUANTIZE, kinds.FREE])
@pytest.mark.parametrize("text", ["maybe", "A", "", "q8_0"])
def test_a_text_that_is_no_choice_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(ValueError):
        kind.from_text(text)


def test_a_refusal_is_in_the_kinds_words() -> None:
    assert kinds.COUNT.refusal == "has the wrong type, expected an integer"
    assert kinds.choice("a", "b").refusal == "invalid value, expected one of `a`, `b`"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("0", 0),
        ("-3", -3),
        ("10", 10),
        ("0123", "0123"),
        ("007", "007"),
        ("+5", "+5"),
        ("-0", "-0"),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**63), str(2**63)),
        ("9" * 400, "9" * 400),
        ("0.05", 0.05),
        ("1e-7", 1e-7),
        ("1e-2", 0.01),
        ("1e400", "1e400"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1_0", "1_0"),
        ("text", "text"),
        ("", ""),
    ],
)
def test_a_free_value_is_typed_only_when_nothing_is_lost(text: str, value: Any) -> None:
    found = free_value(text)
    assert (type(found), found) == (type(value), value)


def test_a_free_value_equal_to_the_files_string_stays_a_string() -> None:
    assert free_value("10", "10") == "10"
    assert free_value("10", 10) == 10
