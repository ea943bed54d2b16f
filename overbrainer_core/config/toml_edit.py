"""How does the text of a TOML document change when one key or table is set, added or removed?

Each function takes a text and gives the new one; only the characters of what changes differ. Comments and blank lines
stay where they are, so a comment above something that is removed comes to stand above what follows; a comment behind
a value stays behind it, and goes with its line. New lines end as the others do. Texts must be TOML already.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from overbrainer_core.config.toml_layout import (
    Array,
    Found,
    InlineTable,
    Layout,
    LineKind,
    Path,
    read_layout,
)

Pair = tuple[str, str]
"""A key and the text of its value, both as TOML writes them."""


class TableMissingError(Exception):
    """The table of the key is nowhere in the text."""


def set_value(text: str, path: Path, pair: Pair, *, comment: str = "") -> str:
    """Give the key at `path` a value: its own text changes, or a line is added at the end of its table.

    Args:
        pair: the last part of the path and the value, as written.
        comment: what to write behind the value on a line of its own that is added, `# ...`.

    Raises:
        TableMissingError: the table has to be added first.
    """
    layout = read_layout(text)
    found = layout.find(path)
    if found is not None:
        return text[: found.node.start] + pair[1] + text[found.node.end :]
    table = path[:-1]
    holder = layout.find(table)
    if holder is not None and isinstance(holder.node, InlineTable):
        return _add_inline(text, holder.node, " = ".join(pair))
    line = f"{' = '.join(pair)}{f' {comment}' if comment else ''}"
    for number, opened in enumerate(layout.lines):
        if opened.kind is LineKind.HEADER and opened.table == table:
            return _add_line(layout, layout.last_pair(number), line)
    return _set_dotted(layout, table, line)


def _set_dotted(layout: Layout, table: Path, line: str) -> str:
    """Add a key to a table that exists by the dots of other keys alone."""
    places = list(layout.dotted(table))
    if not places:
        raise TableMissingError
    number, inline, index, depth = places[-1]
    if inline is not None:
        pair = inline.pairs[index]
        return _add_inline(layout.text, inline, f"{_prefix(layout.text, pair.start, depth)}{line}")
    start = layout.lines[number].start
    return _add_line(layout, number, f"{_prefix(layout.text, start, depth).lstrip()}{line}")


_KEY_PART = re.compile(r"""[ \t]*(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]*\.""")


def _prefix(text: str, start: int, depth: int) -> str:
    """The first parts of a dotted key as they are written, with the dot behind each."""
    position = start
    for _ in range(depth):
        match = _KEY_PART.match(text, position)
        position = match.end() if match else position
    return text[start:position]


def _add_line(layout: Layout, after: int, line: str) -> str:
    """Add a line behind a statement, indented like it."""
    previous = layout.lines[after]
    head, tail = layout.text[: previous.end], layout.text[previous.end :]
    indent = re.match(r"[ \t]*", head[previous.start :])
    gap = "" if head.endswith("\n") else layout.newline
    return f"{head}{gap}{indent.group() if indent else ''}{line}{layout.newline}{tail}"


def _add_inline(text: str, table: InlineTable, pair: str) -> str:
    """Add a pair behind the last of an inline table; the space before its `}` stays."""
    if not table.pairs:
        return f"{text[: table.start]}{{ {pair} }}{text[table.end :]}"
    place = table.pairs[-1].value.end
    return f"{text[:place]}, {pair}{text[place:]}"


def add_table(text: str, path: Path, pairs: Sequence[Pair], *, header: str, name: str, inline: bool = False) -> str:
    """Add a table behind the last one of its kind (those below `path`'s parent), or at the end of the text.

    Args:
        header: the line that opens it, `[targets.x]`; `name` is its last part, for a parent that is written inline.
        inline: write it as one line of its parent when that has a header.
    """
    layout = read_layout(text)
    parent = path[:-1]
    body = f"{{ {', '.join(' = '.join(pair) for pair in pairs)} }}"
    holder = layout.find(parent)
    if holder is not None and isinstance(holder.node, InlineTable):
        return _add_inline(text, holder.node, f"{name} = {body}")
    if holder is not None and isinstance(holder.node, Array):
        return _add_item(text, holder.node, body)
    opened = [number for number in layout.headers(parent) if layout.lines[number].table == parent]
    if inline and opened:
        return _add_line(layout, layout.last_pair(opened[0]), f"{name} = {body}")
    lines = [header, *(" = ".join(pair) for pair in pairs)]
    return _add_block(layout, _block_end(layout, parent), lines)


def _block_end(layout: Layout, parent: Path) -> int:
    """The place behind the last table below `parent` and the comments that hang on its last key."""
    headers = layout.headers(parent) if parent else []
    if not headers:
        return len(layout.text)
    last = layout.last_pair(headers[-1])
    after = last + 1
    while after < len(layout.lines) and layout.lines[after].kind is LineKind.COMMENT:
        after += 1
    if after < len(layout.lines) and layout.lines[after].kind is not LineKind.BLANK:
        after = last + 1  # the comments belong to the header below them
    return layout.lines[after - 1].end


def _add_block(layout: Layout, place: int, lines: Sequence[str]) -> str:
    """Add lines with a blank one before and, where the next line is not blank, behind them."""
    newline = layout.newline
    head, tail = layout.text[:place], layout.text[place:]
    if head and not head.endswith("\n"):
        head += newline
    if head and not re.search(r"(?:^|\n)[ \t]*\r?\n\Z", head):
        head += newline
    block = "".join(f"{line}{newline}" for line in lines)
    gap = newline if tail and not re.match(r"[ \t]*\r?\n", tail) else ""
    return f"{head}{block}{gap}{tail}"


def _add_item(text: str, array: Array, item: str) -> str:
    """Add an item behind the last of an array, on a line of its own when the last has one."""
    if not array.items:
        return f"{text[: array.start]}[{item}]{text[array.end :]}"
    last = array.items[-1]
    line_start = text.rfind("\n", 0, last.start) + 1
    indent = text[line_start : last.start]
    if line_start <= array.start or indent.strip(" \t"):
        return f"{text[: last.end]}, {item}{text[last.end :]}"
    comma = _comma(text, last.end)
    place = text.find("\n", comma or last.end, array.end)
    if place < 0:
        return f"{text[: last.end]}, {item}{text[last.end :]}"
    line_end = "\r\n" if text[place - 1] == "\r" else "\n"
    rest = text[last.end : place + 1] if comma else f",{text[last.end : place + 1]}"
    return f"{text[: last.end]}{rest}{indent}{item}{',' if comma else ''}{line_end}{text[place + 1 :]}"


def _comma(text: str, position: int) -> int | None:
    """The place behind the comma that follows a value, comments between them skipped; None without one."""
    match = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*,").match(text, position)
    return match.end() if match else None


def remove(text: str, path: Path) -> str:
    """Remove a key, or a table with its keys and the comments between them; what is not there stays away.

    Of the blank lines around a removed table one goes with it.
    """
    layout = read_layout(text)
    found = layout.find(path)
    if found is not None:
        return _remove_value(layout, found)
    spans = [_block_span(layout, number) for number in layout.headers(path)]
    inline: list[tuple[InlineTable, int]] = []
    for number, table, index, _ in layout.dotted(path):
        if table is None:
            spans.append((layout.lines[number].start, layout.lines[number].end))
        else:
            inline.append((table, index))
    if inline:  # one at a time: their places move with each
        return remove(_remove_pair(text, *inline[-1]), path)
    for start, end in sorted(set(spans), reverse=True):
        text = text[:start] + text[end:]
    return text


def _remove_value(layout: Layout, found: Found) -> str:
    if isinstance(found.owner, InlineTable):
        return _remove_pair(layout.text, found.owner, found.index)
    if isinstance(found.owner, Array):
        return _remove_item(layout.text, found.owner, found.index)
    line = layout.lines[found.line]
    return layout.text[: line.start] + layout.text[line.end :]


def _remove_pair(text: str, table: InlineTable, index: int) -> str:
    pairs = table.pairs
    if index + 1 < len(pairs):
        start, end = pairs[index].start, pairs[index + 1].start
    elif index:
        start, end = pairs[index - 1].value.end, pairs[index].value.end
    else:
        start, end = table.start + 1, _comma(text, pairs[0].value.end) or pairs[0].value.end
    return text[:start] + text[end:]


def _remove_item(text: str, array: Array, index: int) -> str:
    """Remove an item with its comma (the one before it when none follows), and its line when nothing else is there."""
    start, end = array.items[index].start, array.items[index].end
    comma = _comma(text, end)
    if index and comma is None:
        before = array.items[index - 1].end
        if "\n" not in text[before:start]:
            return text[:before] + text[end:]
        between = _comma(text, before) or before + 1
        text = text[: between - 1] + text[between:]
        start, end = start - 1, end - 1
    end = comma or end
    line_start = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n").match(text, end)
    if rest and line_start > array.start and not text[line_start:start].strip(" \t"):
        return text[:line_start] + text[rest.end() :]
    space = re.compile(r"[ \t]*").match(text, end)
    return text[:start] + text[space.end() if space else end :]


def _block_span(layout: Layout, number: int) -> tuple[int, int]:
    """A header with the keys below it, and one of the blank lines around them."""
    first, last = number, layout.last_pair(number)

    def is_blank(place: int) -> bool:
        return 0 <= place < len(layout.lines) and layout.lines[place].kind is LineKind.BLANK

    if first == 0 or is_blank(first - 1):
        if is_blank(last + 1):
            last += 1
        elif last + 1 == len(layout.lines) and first:
            first -= 1
    return layout.lines[first].start, layout.lines[last].end
