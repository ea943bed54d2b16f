"""How are settings written as YAML so that PyYAML (YAML 1.1) reads them back unchanged?

Block style, keys sorted, strings always double-quoted, floats always with a dot: a plain `2e-4` would be a string
to the reader, a plain `on` a truth value. Values are what JSON knows; dates are written as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ""})
_ESCAPED = re.compile("[^ !#-\\[\\]-~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def to_yaml(document: Mapping[str, Any]) -> str:
    """The mapping as a YAML document that ends with a newline; keys in alphabetical order at every level."""
    if not document:
        return "{}\n"
    return "\n".join(_mapping_lines(document)) + "\n"


def _mapping_lines(mapping: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for key in sorted(mapping):
        value = mapping[key]
        inline = _inline(value)
        if inline is not None:
            lines.append(f"{_key(key)}: {inline}")
        else:
            lines.append(f"{_key(key)}:")
            lines.extend("  " + line for line in _block_lines(value))
    return lines


def _sequence_lines(items: Sequence[Any]) -> list[str]:
    lines: list[str] = []
    for item in items:
        inline = _inline(item)
        block = [inline] if inline is not None else _block_lines(item)
        lines.append("- " + block[0])
        lines.extend("  " + line for line in block[1:])
    return lines


def _block_lines(value: Any) -> list[str]:
    return _mapping_lines(value) if isinstance(value, Mapping) else _sequence_lines(value)


def _inline(value: Any) -> str | None:
    """The value on the line of its key or dash; None when it needs lines of its own."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return _string(value)
        case Mapping():
            return None if value else "{}"
        case list() | tuple():
            return None if value else "[]"
        case _:
            return _string(str(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    digits, _, exponent = repr(value).partition("e")
    if "." not in digits:
        digits += ".0"
    if not exponent:
        return digits
    return f"{digits}e{int(exponent):+d}"


def _key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS:
        return key
    return _string(key)


def _string(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
