"""Tables with one thing set or removed, and when two are the same."""

from __future__ import annotations

import math

from overbrainer_core.config.toml_tables import at, plain, same, with_value, without


def test_values_are_set_and_removed_on_a_copy() -> None:
    tables = {"a": {"b": 1}, "t": [{"n": 1}]}
    assert with_value(tables, ("a", "c"), ("x",)) == {"a": {"b": 1, "c": ["x"]}, "t": [{"n": 1}]}
    assert with_value(tables, ("t", 1), {"n": 2})["t"] == [{"n": 1}, {"n": 2}]
    assert with_value({}, ("t", 0), {"n": 2}) == {"t": [{"n": 2}]}
    assert with_value(tables, ("t", 0, "n"), 5)["t"] == [{"n": 5}]
    assert without(tables, ("t", 0)) == {"a": {"b": 1}, "t": []}
    assert without(tables, ("a", "b")) == {"a": {}, "t": [{"n": 1}]}
    assert tables == {"a": {"b": 1}, "t": [{"n": 1}]}


def test_what_is_not_there_is_none() -> None:
    assert at({"t": [{"n": 1}]}, ("t", 0, "n")) == 1
    assert at({"t": [{"n": 1}]}, ("t", 1, "n")) is None
    assert at({"t": 1}, ("t", 0)) is None
    assert at({"t": 1}, ("t", "x")) is None


def test_types_and_nan_count() -> None:
    assert same({"a": [math.nan]}, {"a": [math.nan]})
    assert not same({"a": 1}, {"a": 1.0})
    assert not same({"a": 1}, {"a": True})
    assert not same([1], [1, 2])
    assert not same({"a": 1}, {"b": 1})
    assert plain({"a": ("x",)}) == {"a": ["x"]}
