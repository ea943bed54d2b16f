"""What does the text of a `.env` file set?

The first of a repeated name wins. Only `${NAME}` outside single quotes expands; a `$` elsewhere is a `$`. `#` starts a
comment at the start of a line and after white space outside quotes. A syntax error is told by its line number alone,
since every line may hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from overbrainer_core.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_BLANKS = re.compile(r"[ \t]*")
_REST_OF_LINE = re.compile(r"[^\n]*")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.]*)\}", re.ASCII)
_BARE = re.compile(r"[^ \t\n'\"\\$]+")
_QUOTED = re.compile(r"[^\"\\$]+")
_MAX_EXPANDED = 4 * 1024 * 1024
"""Most characters that references may give in one file: names that double one another fill any memory."""
_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "$": "$", " ": " ", "n": "\n"}


class DotenvSyntaxError(ConfigError):
    """The text is no `.env` file; `line` is 1-based."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"cannot parse .env (syntax error at line {line})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dotenv:
    """What the file sets, and each `${NAME}` that expanded to nothing, as (name, line)."""

    values: dict[str, str] = field(repr=False)
    unset: tuple[tuple[str, int], ...] = ()


def parse_dotenv(text: str, lookup: Callable[[str], str | None]) -> Dotenv:
    """The variables of the text; `lookup` gives what a `${NAME}` finds before the file's own earlier names.

    Raises:
        DotenvSyntaxError: a line that is no assignment, an open quote, an unknown escape, a NUL, references that give
            more text than any environment holds.
    """
    return _Scanner(text, lookup).parse()


class _Scanner:
    """One pass over the text."""

    def __init__(self, text: str, lookup: Callable[[str], str | None]) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._lookup = lookup
        self._at = 0
        self._values: dict[str, str] = {}
        self._unset: list[tuple[str, int]] = []
        self._expanded = 0

    def parse(self) -> Dotenv:
        if (nul := self._text.find("\0")) >= 0:
            raise self._error(nul)
        while self._at < len(self._text):
            self._take(_BLANKS)
            if self._peek() == "#":
                self._take(_REST_OF_LINE)
            elif self._peek() not in ("\n", ""):
                self._assignment()
            self._at += 1
        return Dotenv(values=self._values, unset=tuple(self._unset))

    def _assignment(self) -> None:
        name = self._name()
        if name == "export" and self._peek() != "=":
            name = self._name()
        if self._peek() != "=":
            raise self._error()
        self._at += 1
        value = self._value()
        self._values.setdefault(name, value)

    def _name(self) -> str:
        name = self._take(_NAME)
        if not name:
            raise self._error()
        self._take(_BLANKS)
        return name

    def _value(self) -> str:
        """The value up to the end of its line, comment included; quoted and bare parts may stand side by side."""
        parts: list[str] = []
        has_blank = bool(self._take(_BLANKS))
        while (char := self._peek()) not in ("\n", ""):
            if char == "#" and has_blank:
                self._take(_REST_OF_LINE)
            elif has_blank and parts:
                raise self._error()
            elif char == "'":
                parts.append(self._single_quoted())
            elif char == '"':
                parts.append(self._double_quoted())
            else:
                parts.append(self._piece(_BARE))
            has_blank = bool(self._take(_BLANKS))
        return "".join(parts)

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise self._error()
        value = self._text[self._at + 1 : end]
        self._at = end + 1
        return value

    def _double_quoted(self) -> str:
        start = self._at
        parts: list[str] = []
        self._at += 1
        while (char := self._peek()) != '"':
            if not char:
                raise self._error(start)
            parts.append(self._piece(_QUOTED))
        self._at += 1
        return "".join(parts)

    def _piece(self, plain: re.Pattern[str]) -> str:
        """One escape, one reference, a lone `$`, or a run of plain characters."""
        char = self._peek()
        if char == "\\":
            escaped = _ESCAPES.get(self._text[self._at + 1 : self._at + 2])
            if escaped is None:
                raise self._error()
            self._at += 2
            return escaped
        if char != "$":
            return self._take(plain)
        reference = _REFERENCE.match(self._text, self._at)
        if reference is None:
            self._at += 1
            return "$"
        value = self._expand(reference.group(1))
        self._at = reference.end()
        return value

    def _expand(self, name: str) -> str:
        value = self._lookup(name)
        if value is None:
            value = self._values.get(name)
        if value is None:
            self._unset.append((name, self._line(self._at)))
            return ""
        self._expanded += len(value)
        if self._expanded > _MAX_EXPANDED:
            raise self._error()
        return value

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match.group()

    def _line(self, position: int) -> int:
        return self._text.count("\n", 0, position) + 1

    def _error(self, position: int | None = None) -> DotenvSyntaxError:
        return DotenvSyntaxError(self._line(self._at if position is None else position))
