"""Where in the text of a TOML document does each header, key, value and comment stand?

Only places are read, so that an edit can replace a few characters and leave every other byte alone. The text must
have been parsed before (`config.toml_text`): what is no TOML is not told apart here. A path is a tuple of key parts,
with the index of an item of an array of tables between them: `("topics", 0, "name")`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"{3,5}' r"|'''[\s\S]*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
)
_PLAIN = re.compile(r"[^,\]}#\r\n]*")
_SPACE = re.compile(r"[ \t]*")
_FILLING = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
"""White space, line ends and comments: what may stand between the parts of an array."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value, from its first character to behind its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class InlinePair:
    """A key of an inline table: its parts, where it starts, its value."""

    key: tuple[str, ...]
    start: int
    value: Node


@dataclass(frozen=True, slots=True)
class InlineTable(Node):
    """`{ ... }`."""

    pairs: tuple[InlinePair, ...]


@dataclass(frozen=True, slots=True)
class Array(Node):
    """`[ ... ]`."""

    items: tuple[Node, ...]


class LineKind(StrEnum):
    """What a statement is."""

    BLANK = "blank"
    COMMENT = "comment"
    HEADER = "header"
    PAIR = "pair"


@dataclass(frozen=True, slots=True)
class Line:
    """One statement with its line end; a value may span several lines of text.

    `table` is the table it stands in, for a header the one it opens; `key` and `value` are those of a pair.
    """

    kind: LineKind
    start: int
    end: int
    table: Path = ()
    key: tuple[str, ...] = ()
    value: Node | None = None

    @property
    def path(self) -> Path:
        """The whole path of what a pair sets, or of the table that a header opens."""
        return self.table + self.key


@dataclass(frozen=True, slots=True)
class Found:
    """A value: its statement and, inside an inline table or an array, the innermost of those and its place there."""

    line: int
    node: Node
    owner: InlineTable | Array | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The statements of a text, which together are the whole of it."""

    text: str
    lines: tuple[Line, ...]

    @property
    def newline(self) -> str:
        """The line end of the text's first line; `\\n` when it has none."""
        return "\r\n" if re.match(r"[^\n]*\r\n", self.text) else "\n"

    def find(self, path: Path) -> Found | None:
        """Where the value at `path` is written, if it is written as one."""
        for number, line in enumerate(self.lines):
            if line.value is not None and path[: len(line.path)] == line.path:
                found = _descend(Found(number, line.value), path[len(line.path) :])
                if found is not None:
                    return found
        return None

    def dotted(self, path: Path) -> Iterator[tuple[int, InlineTable | None, int, int]]:
        """The keys that make the table at `path` by their dots, in order of the text.

        Each as its statement, the inline table it stands in (None: the statement itself), its place there, and how
        many of its parts lead to the table.
        """
        for number, line in enumerate(self.lines):
            if line.value is None:
                continue
            if len(line.table) < len(path) < len(line.path) and line.path[: len(path)] == path:
                yield number, None, 0, len(path) - len(line.table)
            elif path[: len(line.path)] == line.path:
                yield from ((number, *item) for item in _dotted_inline(line.value, path[len(line.path) :]))

    def headers(self, path: Path) -> list[int]:
        """The statements that open the table at `path` or one below it."""
        return [
            number
            for number, line in enumerate(self.lines)
            if line.kind is LineKind.HEADER and line.table[: len(path)] == path
        ]

    def last_pair(self, number: int) -> int:
        """The last key of the table that statement `number` opens, or that statement."""
        last = number
        for place in range(number + 1, len(self.lines)):
            if self.lines[place].kind is LineKind.HEADER:
                break
            if self.lines[place].kind is LineKind.PAIR:
                last = place
        return last


def _descend(found: Found, rest: Path) -> Found | None:
    if not rest:
        return found
    node = found.node
    if isinstance(node, InlineTable):
        for index, pair in enumerate(node.pairs):
            if rest[: len(pair.key)] == pair.key:
                below = _descend(Found(found.line, pair.value, node, index), rest[len(pair.key) :])
                if below is not None:
                    return below
    elif isinstance(node, Array) and isinstance(rest[0], int) and rest[0] < len(node.items):
        return _descend(Found(found.line, node.items[rest[0]], node, rest[0]), rest[1:])
    return None


def _dotted_inline(node: Node, rest: Path) -> Iterator[tuple[InlineTable, int, int]]:
    if isinstance(node, InlineTable):
        for index, pair in enumerate(node.pairs):
            if rest and len(rest) < len(pair.key) and pair.key[: len(rest)] == rest:
                yield node, index, len(rest)
            elif rest[: len(pair.key)] == pair.key:
                yield from _dotted_inline(pair.value, rest[len(pair.key) :])
    elif isinstance(node, Array) and rest and isinstance(rest[0], int) and rest[0] < len(node.items):
        yield from _dotted_inline(node.items[rest[0]], rest[1:])


def read_layout(text: str) -> Layout:
    """The statements of a text that is TOML, without a byte order mark."""
    return Layout(text, tuple(_Reader(text).lines()))


class _Reader:
    """Reads one text from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._table: Path = ()
        self._items: dict[Path, int] = {}

    def lines(self) -> Iterator[Line]:
        position = 0
        while position < len(self._text):
            line = self._line(position)
            yield line
            position = line.end

    def _line(self, start: int) -> Line:
        position = self._skip(_SPACE, start)
        char = self._text[position : position + 1]
        if char == "#":
            return Line(LineKind.COMMENT, start, self._line_end(position), self._table)
        if char in ("", "\r", "\n"):
            return Line(LineKind.BLANK, start, self._line_end(position), self._table)
        if char == "[":
            is_item = self._text.startswith("[[", position)
            parts, position = self._key(position + (2 if is_item else 1))
            self._table = self._opened(parts, is_item=is_item)
            return Line(LineKind.HEADER, start, self._line_end(position), self._table)
        key, position = self._key(position)
        value = self._value(self._skip(_SPACE, position + 1))
        return Line(LineKind.PAIR, start, self._line_end(value.end), self._table, key, value)

    def _opened(self, parts: tuple[str, ...], *, is_item: bool) -> Path:
        """The path of a header: a part that is an array of tables means its last item."""
        path: Path = ()
        for part in parts[:-1]:
            path = self._last_item((*path, part))
        path = (*path, parts[-1])
        if not is_item:
            return path
        self._items[path] = self._items.get(path, 0) + 1
        return self._last_item(path)

    def _last_item(self, path: Path) -> Path:
        return (*path, self._items[path] - 1) if path in self._items else path

    def _skip(self, pattern: re.Pattern[str], position: int) -> int:
        match = pattern.match(self._text, position)
        return match.end() if match else position

    def _line_end(self, position: int) -> int:
        found = self._text.find("\n", position)
        return len(self._text) if found < 0 else found + 1

    def _key(self, position: int) -> tuple[tuple[str, ...], int]:
        """The parts of a key from `position` on, and the place of what ends it."""
        parts: list[str] = []
        while True:
            position = self._skip(_SPACE, position)
            end = self._skip(_BARE_KEY, position)
            if end > position:
                parts.append(self._text[position:end])
            else:
                end = self._skip(_STRINGS, position)
                parts.append(tomllib.loads(f"key = {self._text[position:end]}")["key"])
            position = self._skip(_SPACE, end)
            if self._text[position : position + 1] != ".":
                return tuple(parts), position
            position += 1

    def _value(self, position: int) -> Node:
        char = self._text[position]
        if char == "[":
            return self._array(position)
        if char == "{":
            return self._inline_table(position)
        end = self._skip(_STRINGS, position)
        if end == position:
            end = position + len(self._text[position : self._skip(_PLAIN, position)].rstrip(" \t"))
        return Node(position, end)

    def _array(self, start: int) -> Array:
        items: list[Node] = []
        position = self._skip(_FILLING, start + 1)
        while self._text[position] != "]":
            items.append(self._value(position))
            position = self._skip(_FILLING, items[-1].end)
            if self._text[position] == ",":
                position = self._skip(_FILLING, position + 1)
        return Array(start, position + 1, tuple(items))

    def _inline_table(self, start: int) -> InlineTable:
        pairs: list[InlinePair] = []
        position = self._skip(_FILLING, start + 1)
        while self._text[position] != "}":
            key, place = self._key(position)
            value = self._value(self._skip(_FILLING, place + 1))
            pairs.append(InlinePair(key, position, value))
            position = self._skip(_FILLING, value.end)
            if self._text[position] == ",":
                position = self._skip(_FILLING, position + 1)
        return InlineTable(start, position + 1, tuple(pairs))
