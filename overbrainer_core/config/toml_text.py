"""How is the text of `overbrainer.toml` parsed, so that an error tells a place and never the text?"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from overbrainer_core.config.kinds import MAX_FILE_INTEGER
from overbrainer_core.errors import ConfigError, Problem

_LOCATION = re.compile(r"\(at line (\d+), column (\d+)\)$")
_ABSURD_KEY = re.compile(r"[\w.\-\"'\[\]]+", re.ASCII)
_MAX_DOTS = 200
"""Most dots in one key: a key of a hundred thousand parts takes all memory before it is refused."""


def parse_toml(text: str) -> dict[str, Any]:
    """The document's tables.

    Raises:
        ConfigError: `TOML syntax error in overbrainer.toml at line N, column M`, 1-based, in characters; without a
            place where none is known.
    """
    place = _absurd_key(text)
    if place is None:
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _place(str(error), text)
        except (ValueError, RecursionError):
            place = ""
        else:
            if _integers_fit(document):
                return document
            place = ""
    reason = f"TOML syntax error in overbrainer.toml{place}"
    raise ConfigError(f"invalid configuration: {reason}", problems=[Problem("", reason)])


def _place(message: str, text: str) -> str:
    if message.endswith("(at end of document)"):
        lines = text.replace("\r\n", "\n").split("\n")
        return f" at line {len(lines)}, column {len(lines[-1]) + 1}"
    found = _LOCATION.search(message)
    return f" at line {found.group(1)}, column {found.group(2)}" if found else ""


def _absurd_key(text: str) -> str | None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MAX_DOTS and ".." not in line:
            key = line.partition("=")[0].strip()
            if key.count(".") > _MAX_DOTS and _ABSURD_KEY.fullmatch(key):
                return f" at line {number}, column 1"
    return None


def _integers_fit(value: object) -> bool:
    """Whether every integer is one of TOML's 64 bits."""
    if isinstance(value, dict):
        return all(_integers_fit(item) for item in value.values())
    if isinstance(value, list):
        return all(_integers_fit(item) for item in value)
    return not isinstance(value, int) or -MAX_FILE_INTEGER - 1 <= value <= MAX_FILE_INTEGER
