"""Which lines of OpenSSH configuration files apply to a host?

`Host` patterns, `Include` and `Match all` are followed; any other `Match` cannot be judged here and is refused. Lines
keep their order, those under `Match final` come last. Nothing is interpreted yet.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core.executors.errors import ExecutorError
from overbrainer_core.text import escape_controls

SYSTEM_DIRECTORY = Path("/etc/ssh")

_MAX_DEPTH = 16
_LINE = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+)(.*?)\s*", re.DOTALL)


class SshConfigError(ExecutorError):
    """An SSH configuration cannot be used, or not by the built-in client."""

    @classmethod
    def unsupported(cls, directive: Directive, host: str) -> SshConfigError:
        """A directive that the built-in client does not know what to do with."""
        return cls(
            f"{escape_controls(str(directive.file))}: {escape_controls(directive.name)} for host "
            f"{escape_controls(host)} is not supported by the built-in SSH client; "
            'set ssh_client = "openssh" on the target (or OVERBRAINER_SSH_CLIENT=openssh), '
            "or give the host an entry without that line"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """A line that applies: its name as written, the text after it, and where it stands."""

    name: str
    text: str
    file: Path
    is_system: bool

    @property
    def key(self) -> str:
        """The name in lower case."""
        return self.name.lower()

    def arguments(self) -> list[str]:
        """The words of the text, quotes taken off, up to a comment."""
        return split_arguments(self.text)

    def first(self) -> str:
        """The first word; the empty text without one."""
        return next(iter(self.arguments()), "")


def split_arguments(text: str) -> list[str]:
    """Words of a configuration line: separated by blanks, in single or double quotes, up to an unquoted `#`."""
    words: list[str] = []
    word, quote, is_open = "", "", False
    position = 0
    while position < len(text):
        char = text[position]
        following = text[position + 1 : position + 2]
        if char == "\\" and following and following in ("\\", '"', "'", *([] if quote else [" "])):
            word, is_open, position = word + following, True, position + 1
        elif quote:
            quote, word = ("", word) if char == quote else (quote, word + char)
        elif char in "\"'":
            quote, is_open = char, True
        elif char in " \t":
            if is_open:
                words.append(word)
            word, is_open = "", False
        elif char == "#" and not is_open:
            return words
        else:
            word, is_open = word + char, True
        position += 1
    return [*words, word] if is_open else words


def matches(patterns: Sequence[str], host: str) -> bool:
    """Whether a host is named by patterns with `*` and `?`; a match with a `!` before it excludes."""
    is_named = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if _matches_one(pattern[1:], host):
                return False
        elif _matches_one(pattern, host):
            is_named = True
    return is_named


def _matches_one(pattern: str, host: str) -> bool:
    parts = {"*": ".*", "?": "."}
    return re.fullmatch("".join(parts.get(char, re.escape(char)) for char in pattern), host, re.DOTALL) is not None


class ConfigReader:
    """Reads the files that apply; `home` is where `~` leads."""

    def __init__(self, host: str, home: Path) -> None:
        self._host = host
        self._home = home
        self._late: list[Directive] = []

    def read_default(self) -> list[Directive]:
        """The lines of the user's file, then those of the system's."""
        lines = list(self._read(self._home / ".ssh" / "config", is_checked=True))
        system = SYSTEM_DIRECTORY / "ssh_config"
        lines += self._read(system, is_system=True)
        return lines + self._late

    def read_only(self, file: Path) -> list[Directive]:
        """The lines of one file that stands for both."""
        if not file.is_file():
            raise SshConfigError(f"the SSH configuration {escape_controls(str(file))} cannot be read")
        return [*self._read(file), *self._late]

    def _read(
        self, file: Path, *, is_system: bool = False, is_checked: bool = False, is_late: bool = False, depth: int = 0
    ) -> Iterator[Directive]:
        if depth > _MAX_DEPTH:
            raise SshConfigError(f"{escape_controls(str(file))}: too many levels of Include")
        applies = True
        for line in _lines(file, is_checked=is_checked):
            parsed = _LINE.fullmatch(line)
            if parsed is None:
                if line.strip() and not line.lstrip().startswith("#"):
                    raise SshConfigError(f"{escape_controls(str(file))}: a line has no value")
                continue
            directive = Directive(name=parsed[1], text=parsed[2], file=file, is_system=is_system)
            if directive.key == "host":
                applies, is_late = matches(directive.arguments(), self._host), False
            elif directive.key == "match":
                applies, is_late = True, self._is_late(directive)
            elif not applies:
                continue
            elif directive.key == "include":
                for included in self._included(directive):
                    yield from self._read(
                        included, is_system=is_system, is_checked=is_checked, is_late=is_late, depth=depth + 1
                    )
            elif is_late:
                self._late.append(directive)
            else:
                yield directive

    def _is_late(self, directive: Directive) -> bool:
        words = [word.lower() for word in directive.arguments()]
        if words not in (["all"], ["final", "all"]):
            raise SshConfigError.unsupported(directive, self._host)
        return words[0] == "final"

    def _included(self, directive: Directive) -> Iterator[Path]:
        base = SYSTEM_DIRECTORY if directive.is_system else self._home / ".ssh"
        for word in directive.arguments():
            pattern = str(self._home) + word[1:] if word.startswith("~/") else os.path.join(base, word)
            yield from (Path(name) for name in sorted(glob.glob(pattern)))


def _lines(file: Path, *, is_checked: bool) -> list[str]:
    """Lines of a file; none when there is no such file."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as handle:
            stat = os.fstat(handle.fileno())
            if is_checked and (stat.st_mode & 0o022 or stat.st_uid not in (0, os.getuid())):
                raise SshConfigError(f"Bad owner or permissions on {escape_controls(str(file))}")
            return handle.read().split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SshConfigError(f"cannot read {escape_controls(str(file))}") from error
