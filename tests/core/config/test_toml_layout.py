"""The places of a text: every byte belongs to one statement, and every value is found where it is written."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from overbrainer_core import assets
from overbrainer_core.config.toml_layout import InlineTable, LineKind, Path, read_layout

ODD = (
    r'''
a . "b.c" . 'd' = 1 # dotted
text = """
[not.a.header] # no comment
""\"" """"" # five quotes
literal = '''
    + "'''\nx = '''''"
    + r"""  # more
list = [ # in the list
  { x = 1, y.z = "}" }, # ]
  [1, 2], # "
  "a#b",
]
when = 1979-05-27 07:32:00 # a date with a space
empty = {}
  [ t . u ]  # spaced header
  v = -0.5e-3
[[t.items]]
n = 1
[t.items.sub]
s = 1
[other]
[[t.items]]
n = 2
[[t.items.deep]]
q = [ ]
last = true"""
)


def leaves(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """Every value that is no table with keys."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))]
    return [(path, value)]


@pytest.mark.parametrize("text", [ODD, ODD.replace("\n", "\r\n"), assets.template("overbrainer.toml"), "", "\n"])
def test_statements_make_up_the_text_and_each_value_is_where_it_is_found(text: str) -> None:
    layout = read_layout(text)
    assert "".join(text[line.start : line.end] for line in layout.lines) == text
    for path, value in leaves(tomllib.loads(text)):
        found = layout.find(path)
        if value == {} and found is None:
            assert layout.headers(path) or not path
            continue
        assert found is not None, path
        written = text[found.node.start : found.node.end]
        assert tomllib.loads(f"x = {written}")["x"] == value


def test_headers_and_kinds_are_told_apart() -> None:
    layout = read_layout(ODD)
    headers = [line.table for line in layout.lines if line.kind is LineKind.HEADER]
    assert headers == [
        ("t", "u"),
        ("t", "items", 0),
        ("t", "items", 0, "sub"),
        ("other",),
        ("t", "items", 1),
        ("t", "items", 1, "deep", 0),
    ]
    assert len(layout.headers(("t", "items", 0))) == 2
    assert [line.kind for line in read_layout("# a\n\nx = 1\n[y]\n").lines] == ["comment", "blank", "pair", "header"]


def test_tables_made_by_dots_are_found_in_lines_and_in_inline_tables() -> None:
    layout = read_layout('r.a.x = 1\n[s]\nb = { c.d = 1, "c".e = 2 }\n[u]\nx = 1\n')
    assert [place[0] for place in layout.dotted(("r", "a"))] == [0]
    found = list(layout.dotted(("s", "b", "c")))
    assert [(isinstance(table, InlineTable), index, depth) for _, table, index, depth in found] == [
        (True, 0, 1),
        (True, 1, 1),
    ]
    assert list(layout.dotted(("u",))) == []


def test_the_line_end_is_that_of_the_first_line() -> None:
    assert read_layout("a = 1\r\nb = 2\n").newline == "\r\n"
    assert read_layout("a = 1\nb = 2\r\n").newline == "\n"
    assert read_layout("a = 1").newline == "\n"
