"""Which list does a model's reply hold, wherever it stands and however it was cut?

An array of strings anywhere in the text, an array of objects that each hold one string under the same key, or plain
lines with markers. An item is taken as it was meant or not at all: one that lost text to an unescaped quote or a
damaged escape is left out. Reading takes time in proportion to the length of the reply.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from typing import Any

from overbrainer_core.text import replace_surrogates

_OBJECT_KEYS = ("question", "subtopic", "topic", "name", "title", "text")
"""Keys under which an object may hold its item."""
_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_GAP = re.compile(r"[ \t\n\r\f\v,]*")
_SPACE = re.compile(r"\s*")
_RAW_CONTROL = re.compile(r"[\x00-\x1f]")
_DAMAGED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KEYED_OBJECT = re.compile(rf'\{{\s*"(?:{"|".join(_OBJECT_KEYS)})"\s*:')
_BULLET = re.compile(r"[-*•](?:\s+|$)")
_NUMBER = re.compile(r"([0-9]{1,9})[.)]")


def parse_list(reply: str) -> list[str] | None:
    """The items of a reply, trimmed and not blank, at least one; None when it holds no list."""
    items = _ArrayReader(reply).read()
    if items:
        return items
    return _plain_lines(reply) or None


class _ArrayReader:
    """Looks for the first array that gives an item."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closing = [match.start() for match in _QUOTE.finditer(text) if match.group() == '"']
        """Quotes that can end a string: those with an even run of backslashes before them."""
        self._budget = 8 * len(text) + 4096
        """Characters that may still be read as objects: what keeps nested junk from costing quadratic time."""

    def read(self) -> list[str]:
        text = self._text
        start = text.find("[")
        while start >= 0:
            first = self._skip(start + 1)
            if text.startswith("{", first):
                items, resume = self._objects(first)
            else:
                items, resume = self._strings(first), start + 1
            if items:
                return items
            start = text.find("[", resume)
        return []

    def _skip(self, at: int) -> int:
        match = _GAP.match(self._text, at)
        return match.end() if match else at

    def _strings(self, at: int) -> list[str]:
        text = self._text
        items: list[str] = []
        while text.startswith('"', at):
            end = self._closing_quote(at + 1)
            if end is None or _RAW_CONTROL.search(text, at + 1, end):
                break
            if not self._ends_an_item(end + 1):
                break
            item = _item_of(text[at : end + 1])
            if item:
                items.append(item)
            at = self._skip(end + 1)
        return items

    def _closing_quote(self, start: int) -> int | None:
        index = bisect_left(self._closing, start)
        return self._closing[index] if index < len(self._closing) else None

    def _ends_an_item(self, at: int) -> bool:
        """Whether what follows a closing quote shows that it was one: else the item was cut by a quote of its own."""
        text = self._text
        at = _end_of_space(text, at)
        if at >= len(text) or text[at] in ',"]':
            return True
        if text[at] != "}":
            return False
        at = _end_of_space(text, at + 1)
        return at >= len(text) or text[at] == "]"

    def _objects(self, at: int) -> tuple[list[str], int]:
        """The items of an array of objects, and where to look for the next array when there are none."""
        text = self._text
        decoder = json.JSONDecoder()
        found: list[dict[str, Any]] = []
        start = at
        while text.startswith("{", at) and self._budget > 0:
            try:
                value, end = decoder.raw_decode(text, at)
            except json.JSONDecodeError as error:
                self._budget -= error.pos - at + error.pos // 32 + 1  # the error counts the lines before it
                if _KEYED_OBJECT.match(text, at):
                    at = len(text)  # a cut object: the arrays in it are its own
                break
            except RecursionError:
                self._budget = 0
                break
            self._budget -= end - at
            found.append(value)
            at = self._skip(end)
        items = _object_items(found)
        if items is None:
            return [], start + 1
        return items, max(at, start + 1)


def _end_of_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _object_items(objects: list[dict[str, Any]]) -> list[str] | None:
    """One item of each object; empty when they share no key, None when none of them holds an item at all."""
    for key in _OBJECT_KEYS:
        if objects and all(isinstance(entry.get(key), str) for entry in objects):
            items = [_clean(entry[key]) for entry in objects]
            return [item for item in items if item]
    if any(isinstance(entry.get(key), str) for entry in objects for key in _OBJECT_KEYS):
        return []
    return [] if not objects else None


def _item_of(literal: str) -> str:
    """The text of a JSON string, trimmed; empty when it is blank or damaged."""
    try:
        return _clean(json.loads(literal))
    except ValueError:
        return ""


def _clean(item: str) -> str:
    """The item trimmed, or nothing when a damaged escape left a control character in it."""
    trimmed = item.strip()
    return "" if _DAMAGED.search(item) else replace_surrogates(trimmed)


def _plain_lines(reply: str) -> list[str]:
    """Items of lines that begin with a marker; numbered lines count only when their numbers run on from 1."""
    bullets_and_numbers: list[tuple[int | None, str]] = []
    for line in reply.split("\n"):
        text = line.lstrip("\ufeff").strip()
        if bullet := _BULLET.match(text):
            bullets_and_numbers.append((None, text[bullet.end() :].strip()))
        elif number := _NUMBER.match(text):
            bullets_and_numbers.append((int(number.group(1)), text[number.end() :].strip()))
    numbers = [number for number, _ in bullets_and_numbers if number is not None]
    runs_on = numbers == list(range(1, len(numbers) + 1))
    found = [_clean(item) for number, item in bullets_and_numbers if number is None or runs_on]
    return [item for item in found if item]
