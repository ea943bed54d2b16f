"""YAML that PyYAML reads back unchanged."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from overbrainer_core.training.yaml_writer import to_yaml

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(
        ["on", "~", "2e-4", "1_0", "0x1f", "12:30:00", "\u2028 a", "a \u2029", "\x85", "\ufeff", "null", ""]
    )
)
KEYS = st.text(max_size=40) | st.sampled_from(
    ["on", "y", "N", "null", "~", "a b", "1e3", "x: y", "- a", "#", "<<", "="]
)
VALUES = st.recursive(
    LEAVES, lambda children: st.lists(children, max_size=4) | st.dictionaries(KEYS, children, max_size=4), max_leaves=12
)


def same(first: Any, second: Any) -> bool:
    """Equal in value and type, at every depth."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_pyyaml_reads_back_what_was_written(document: dict[str, Any]) -> None:
    assert same(yaml.safe_load(to_yaml(document)), document)


def test_every_character_of_the_basic_plane_survives_in_a_string() -> None:
    text = "".join(chr(code) for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF) + "\U0001f600\U0010ffff"
    assert yaml.safe_load(to_yaml({"text": text})) == {"text": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2e-4, "0.0002"),
        (1e-7, "1.0e-7"),
        (3e20, "3.0e+20"),
        (1e-8, "1.0e-8"),
        (1e-2, "0.01"),
        (1.0, "1.0"),
        (-2.5e-9, "-2.5e-9"),
        (1e16, "1.0e+16"),
        (float("inf"), ".inf"),
        (float("-inf"), "-.inf"),
    ],
)
def test_c059_floats_have_a_dot_and_a_signed_exponent(value: float, text: str) -> None:
    assert to_yaml({"x": value}) == f"x: {text}\n"
    assert yaml.safe_load(f"x: {text}")["x"] == value


def test_a_number_that_is_none_stays_none() -> None:
    assert math.isnan(yaml.safe_load(to_yaml({"x": float("nan")}))["x"])


def test_the_layout_is_block_style_with_sorted_keys() -> None:
    document = {"b": [{"z": 1, "a": [1, [2, []]]}, {}], "a": {"c": 'x\n\t"\\\r'}, "on": True, "e": {}, "n": None}
    assert to_yaml(document) == (
        "a:\n"
        '  c: "x\\n\\t\\"\\\\\\r"\n'
        "b:\n"
        "  - a:\n"
        "      - 1\n"
        "      - - 2\n"
        "        - []\n"
        "    z: 1\n"
        "  - {}\n"
        "e: {}\n"
        '"n": null\n'
        '"on": true\n'
    )


def test_line_separators_and_unprintable_characters_are_escaped_in_upper_case() -> None:
    assert to_yaml({"x": "\x85\u2028\u2029\x7f\x1b\ufeff\ufffe"}) == (
        'x: "\\u0085\\u2028\\u2029\\u007F\\u001B\\uFEFF\\uFFFE"\n'
    )


def test_an_empty_document_is_an_empty_mapping() -> None:
    assert to_yaml({}) == "{}\n"
