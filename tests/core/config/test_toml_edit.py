"""Each edit of a text changes the characters of one thing."""

from __future__ import annotations

import pytest

from overbrainer_core.config.toml_edit import TableMissingError, add_table, remove, set_value
from overbrainer_core.config.toml_layout import Path


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a = 1 # c\n", ("a",), "a = 9 # c\n"),
        ("[t]\na=1#c", ("t", "a"), "[t]\na=9#c"),
        ("[t]\n  a = 1\n# end\n\n[u]\n", ("t", "x"), "[t]\n  a = 1\n  x = 9\n# end\n\n[u]\n"),
        ("[t] # c\n[u]\n", ("t", "x"), "[t] # c\nx = 9\n[u]\n"),
        ("[t]\na = 1", ("t", "x"), "[t]\na = 1\nx = 9\n"),
        ("t.a = 1\nb = 2\n", ("t", "x"), "t.a = 1\nt.x = 9\nb = 2\n"),
        ('"t".u.a = 1\n', ("t", "u", "x"), '"t".u.a = 1\n"t".u.x = 9\n'),
        ("t = { }\n", ("t", "x"), "t = { x = 9 }\n"),
        ("t = {a = 1}\n", ("t", "x"), "t = {a = 1, x = 9}\n"),
        ("t = { u.a = 1, b = 2 }\n", ("t", "u", "x"), "t = { u.a = 1, b = 2, u.x = 9 }\n"),
        ("t = [{ a = 1 }, { a = 2 }]\n", ("t", 1, "x"), "t = [{ a = 1 }, { a = 2, x = 9 }]\n"),
        ("[[t]]\na = 1\n[v]\n[[t]]\n", ("t", 0, "x"), "[[t]]\na = 1\nx = 9\n[v]\n[[t]]\n"),
    ],
)
def test_a_key_is_set_where_its_table_is(before: str, path: Path, after: str) -> None:
    assert set_value(before, path, (str(path[-1]), "9")) == after


@pytest.mark.parametrize("text", ["", "[u]\n", "[t.v]\nx = 1\n"])
def test_a_key_of_a_table_that_is_nowhere_waits_for_it(text: str) -> None:
    with pytest.raises(TableMissingError):
        set_value(text, ("t", "x"), ("x", "9"))


def test_a_comment_goes_behind_a_new_line_only() -> None:
    assert set_value("[t]\n", ("t", "x"), ("x", "9"), comment="# c") == "[t]\nx = 9 # c\n"
    assert set_value("[t]\nx = 1\n", ("t", "x"), ("x", "9"), comment="# c") == "[t]\nx = 9\n"


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("a = 1\n# c\nb = 2 # d\nc = 3\n", ("b",), "a = 1\n# c\nc = 3\n"),
        ("a = [\n 1,\n]\nb = 2\n", ("a",), "b = 2\n"),
        ("t = { a = 1, b = 2, c = 3 }\n", ("t", "b"), "t = { a = 1, c = 3 }\n"),
        ("t = { a = 1, b = 2}\n", ("t", "b"), "t = { a = 1}\n"),
        ("t = { a = 1 }\n", ("t", "a"), "t = { }\n"),
        ("t = { u.a = 1, b = 2, u.c = 3 }\n", ("t", "u"), "t = { b = 2 }\n"),
        ("t.a = 1\nb = 2\nt.c = 3\n", ("t",), "b = 2\n"),
        ("x = 1\n\n# c\n[t]\na = 1\n# in\nb = 2\n# out\n\n[u]\n", ("t",), "x = 1\n\n# c\n# out\n\n[u]\n"),
        ("x = 1\n\n[t]\na = 1\n\n[u]\n", ("t",), "x = 1\n\n[u]\n"),
        ("x = 1\n\n[t]\na = 1\n", ("t",), "x = 1\n"),
        ("[t]\na = 1\n\n[u]\n", ("t",), "[u]\n"),
        ("[t]\na = 1\n[u]\n[t.v]\nb = 1\n", ("t",), "[u]\n"),
        ("t = [ {a=1}, {a=2} ]\n", ("t", 0), "t = [ {a=2} ]\n"),
        ("t = [ {a=1}, {a=2} ]\n", ("t", 1), "t = [ {a=1} ]\n"),
        ("t = [\n {a=1}, # one\n {a=2}, # two\n]\n", ("t", 0), "t = [\n {a=2}, # two\n]\n"),
        ("t = [\n {a=1}, # one\n {a=2} # two\n]\n", ("t", 1), "t = [\n {a=1} # one\n]\n"),
        ("t = [\n {a=1},\n {a=2},\n]\n", ("t", 1), "t = [\n {a=1},\n]\n"),
        ("a = 1\n", ("b",), "a = 1\n"),
    ],
)
def test_what_is_removed_takes_its_own_line_and_no_other(before: str, path: Path, after: str) -> None:
    assert remove(before, path) == after


@pytest.mark.parametrize(
    ("before", "inline", "after"),
    [
        ("", False, "[t.x]\na = 1\n"),
        ("b = 1", False, "b = 1\n\n[t.x]\na = 1\n"),
        ("b = 1\n\n", False, "b = 1\n\n[t.x]\na = 1\n"),
        ("[t.w]\na = 0\n[u]\n", False, "[t.w]\na = 0\n\n[t.x]\na = 1\n\n[u]\n"),
        ("[t.w]\na = 0\n# of w\n\n# of u\n[u]\n", False, "[t.w]\na = 0\n# of w\n\n[t.x]\na = 1\n\n# of u\n[u]\n"),
        ("[t.w]\na = 0\n# of u\n[u]\n", False, "[t.w]\na = 0\n\n[t.x]\na = 1\n\n# of u\n[u]\n"),
        ("[t.w]\r\na = 0\r\n\r\n[u]\r\n", False, "[t.w]\r\na = 0\r\n\r\n[t.x]\r\na = 1\r\n\r\n[u]\r\n"),
        ("[t]\nw = { a = 0 }\n[u]\n", True, "[t]\nw = { a = 0 }\nx = { a = 1 }\n[u]\n"),
        ("t = { w = { a = 0 } }\n", True, "t = { w = { a = 0 }, x = { a = 1 } }\n"),
        ("t = {}\n", False, "t = { x = { a = 1 } }\n"),
    ],
)
def test_a_table_is_added_behind_its_kind(before: str, inline: bool, after: str) -> None:
    assert add_table(before, ("t", "x"), [("a", "1")], header="[t.x]", name="x", inline=inline) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("t = []\n", "t = [{ a = 1 }]\n"),
        ("t = [{ a = 0 } ]\n", "t = [{ a = 0 }, { a = 1 } ]\n"),
        ("t = [\n  { a = 0 }\n]\n", "t = [\n  { a = 0 },\n  { a = 1 }\n]\n"),
        ("t = [\n  { a = 0 }, # c\n]\n", "t = [\n  { a = 0 }, # c\n  { a = 1 },\n]\n"),
        ("t = [\r\n  { a = 0 } # c\r\n]\r\n", "t = [\r\n  { a = 0 }, # c\r\n  { a = 1 }\r\n]\r\n"),
        ("t = [\n  { a = 0 }]\n", "t = [\n  { a = 0 }, { a = 1 }]\n"),
    ],
)
def test_an_item_is_added_to_an_array_as_the_others_stand(before: str, after: str) -> None:
    assert add_table(before, ("t", 1), [("a", "1")], header="[[t]]", name="t") == after
