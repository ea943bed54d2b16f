"""How does a value of `overbrainer.toml` or of a variable become the type its key asks for?

A kind reads a file's value and a variable's text by its own rules and refuses with a bare `ValueError`: the words of
the refusal are the kind's, so that no value is ever quoted. A boolean is never a number, a number never a text;
numeric text and whole floats count as numbers.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from overbrainer_core.config.settings import SecretText

MAX_COUNT = 2**32 - 1
"""Largest whole number of most keys: what the readers of the same file hold."""
MAX_FILE_INTEGER = 2**63 - 1
"""Largest integer of TOML."""
MAX_SEED = 2**64 - 1
"""Largest seed, reached from the environment only."""

_INTEGER = re.compile(r"\+?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(inf|infinity|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_FINITE_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=e))(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_INTEGER_SHAPED = re.compile(r"[+-]?\d+", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}


@dataclass(frozen=True, slots=True)
class Typed:
    """A variable's value that its kind has read already."""

    value: Any


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a key: what it expects in words, and how the file's value and a variable's text are read."""

    expected: str
    from_file: Callable[[object], Any]
    from_text: Callable[[str], Any]
    json_type: str = "string"
    choices: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """What is said of a value that is not of this kind."""
        if self.choices:
            return f"invalid value, expected one of {self.expected}"
        return f"has the wrong type, expected {self.expected}"


def _text_of_file(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _integer_text(text: str, *, maximum: int) -> int:
    if not _INTEGER.fullmatch(text) or len(text) > 40 or int(text) > maximum:
        raise ValueError
    return int(text)


def _integer(value: object, *, maximum: int) -> int:
    if isinstance(value, str):
        return _integer_text(value, maximum=maximum)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError
    if not -MAX_FILE_INTEGER <= value <= maximum:
        raise ValueError
    return int(value)


def _number_text(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise ValueError
    return float(text)


def _number(value: object) -> float:
    if isinstance(value, str):
        return _number_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _boolean_text(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[text.lower()]


def _loose_integer_text(text: str) -> int:
    """A number of a target: trimmed, a whole float counts."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return _integer_text(text, maximum=MAX_COUNT)
    return _integer(_number_text(text), maximum=MAX_COUNT)


def _loose_integer(value: object) -> int:
    return _loose_integer_text(value) if isinstance(value, str) else _integer(value, maximum=MAX_COUNT)


def _loose_number(value: object) -> float:
    return _number(value.strip() if isinstance(value, str) else value)


def _names_text(text: str) -> str | tuple[str, ...]:
    text = text.strip()
    if text == "auto":
        return text
    return tuple(item.strip() for item in text.split(",")) if text else ()


def _names(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _names_text(value)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError
    return tuple(value)


def _address(value: object) -> str:
    """`IP:PORT` or `[IPv6]:PORT`; a host name is none."""
    host, colon, port = _text_of_file(value).rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    address = ipaddress.ip_address(host[1:-1] if is_bracketed else host)
    if not colon or (address.version == 6) != is_bracketed or not re.fullmatch(r"\d{1,5}", port, re.ASCII):
        raise ValueError
    if int(port) > 65535:
        raise ValueError
    return f"{host}:{int(port)}"


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError
    return value


def _no_text(text: str) -> Any:
    raise ValueError


def _integer_kind(maximum: int, file_maximum: int) -> Kind:
    return Kind(
        "an integer",
        lambda value: _integer(value, maximum=file_maximum),
        lambda text: _integer_text(text, maximum=maximum),
        "integer",
    )


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def choice(*names: str) -> Kind:
    """A kind that takes exactly one of `names`."""

    def pick(value: object) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return Kind(_quoted(names), pick, pick, "string", names)


def _open_choice(*names: str) -> Kind:
    """As `choice` for a variable; the file may hold any text, which the checks refuse by name."""
    return Kind(_quoted(names), _text_of_file, choice(*names).from_text, "string", names)


TEXT = Kind("a string", _text_of_file, str)
SECRET = Kind(
    "a string",
    lambda value: SecretText(_text_of_file(value)),
    SecretText,
)
COUNT = _integer_kind(MAX_COUNT, MAX_COUNT)
SECONDS = _integer_kind(MAX_FILE_INTEGER, MAX_FILE_INTEGER)
SEED = _integer_kind(MAX_SEED, MAX_FILE_INTEGER)
NUMBER = Kind("a number", _number, _number_text, "number")
BOOLEAN = Kind("true or false", _boolean, _boolean_text, "boolean")
TARGET_COUNT = Kind("an integer", _loose_integer, _loose_integer_text, "integer")
TARGET_NUMBER = Kind("a number", _loose_number, _loose_number, "number")
NAMES = Kind('"auto" or a list of strings', _names, _names_text)
ADDRESS = Kind("an address such as 127.0.0.1:9464", _address, _address)
FREE = Kind("a table", _table, _no_text, "object")

QUANTIZE_TYPES = ("Q4_K_M", "Q4_K_S", "Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "Q3_K_M", "Q2_K", "F16", "BF16")
QUANTIZE = _open_choice(*QUANTIZE_TYPES)


def free_value(text: str, in_file: object = None) -> Any:
    """What a variable under `training.axolotl_extra` means; a text equal to the file's own string stays a string.

    `true` and `false`, canonical integers of 64 bits and finite floats are typed; padded or oversized integers, `nan`
    and all else stay strings.
    """
    if text == in_file:
        return text
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER_SHAPED.fullmatch(text):
        is_integer = _CANONICAL_INTEGER.fullmatch(text) and -(2**63) <= int(text) <= MAX_FILE_INTEGER
        return int(text) if is_integer else text
    if _FINITE_FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    return text
