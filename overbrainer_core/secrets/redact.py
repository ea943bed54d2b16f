"""Which parts of a text look like secrets, or are known ones, and must show as `***`?

`redact` masks by shape: private key blocks, tokens with a known prefix, authorization headers, `NAME=value` and
`NAME: value` where the name says so, long runs of base64. `Masker` masks known values first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"
MIN_SECRET_CHARS = 4
"""Shortest known value that is masked: a shorter one would eat ordinary text."""
_WINDOW = 16
"""Length of the parts of a longer secret that are masked too, since a cut text may hold a part alone."""

_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
# Every pattern starts at a place that the run before it cannot reach again, so that a long line takes linear time.
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_BASE64_LINE = re.compile(r"(?m)^[A-Za-z0-9+/]{40,}+={0,2}(?=\r?$)")
_BASE64_RUN = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{200,}+={0,2}")
_DIGIT, _LETTER = re.compile(r"[0-9]"), re.compile(r"[A-Za-z]")
_TOKEN = re.compile(r"\b(rpa_|rps_|hf_)[A-Za-z0-9]{8,}")
_DASHED_TOKEN = re.compile(r"\b(sk-|hvs\.|hvb\.|ghp_|gho_|github_pat_|xox[bap]-|nvapi-|gsk_)[A-Za-z0-9_-]{8,}")
_AUTHORIZATION = re.compile(
    r"(?i)\b((?:proxy-)?authorization[\"']?\s*+[:=]\s*+[\"']?(?:(?:bearer|basic|token)\s++)?)[^\s\"',;]+"
)
_BEARER = re.compile(r"(?i)\b(bearer\s++)[A-Za-z0-9._~+/=-]{8,}")
_URL_PASSWORD = re.compile(r"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*+://[^\s/:@]*+:)[^\s/@]++(?=@)")
_VALUE = re.compile(r"\"[^\"\n]*+(?:\"|$)|'[^'\n]*+(?:'|$)|[^\s\"',;&]+", re.MULTILINE)
_EQUALS_NAME = re.compile(r"(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]++)=")
_COLON_NAME = re.compile(r"(?i)(key|token|secret|password)[\"']?:[ \t]*+")
_LITERALS = (
    *("key", "token", "secret", "password", "authorization", "bearer", "@"),  # a name in a PEM block is a key's
    *("rpa_", "rps_", "hf_", "sk-", "hvs.", "hvb.", "ghp_", "gho_", "github_pat_", "xox", "nvapi-", "gsk_"),
)
"""One of them, in lower case, stands in everything that a pattern above matches, but for long runs of base64."""


def redact(text: str) -> str:
    """The text with everything that looks like a secret as `***`; lines stay lines.

    >>> redact("HF_TOKEN=abc epoch=1")
    'HF_TOKEN=*** epoch=1'
    """
    text = _BASE64_LINE.sub(_mask_if_mixed, text)
    if not _may_name(text):
        return _BASE64_RUN.sub(_mask_if_mixed, text)
    text = _PEM.sub(MASK, text)
    text = _TOKEN.sub(rf"\1{MASK}", text)
    text = _DASHED_TOKEN.sub(rf"\1{MASK}", text)
    text = _AUTHORIZATION.sub(rf"\1{MASK}", text)
    text = _BEARER.sub(rf"\1{MASK}", text)
    text = _URL_PASSWORD.sub(rf"\1{MASK}", text)
    text = _mask_values(text, _EQUALS_NAME)
    text = _mask_values(text, _COLON_NAME)
    return _BASE64_RUN.sub(_mask_if_mixed, text)


def _may_name(text: str) -> bool:
    """Whether a pattern with a literal part can match: without one of the parts none does, which is far faster to tell.

    Letters outside ASCII may count as equal to one inside, so a text that has some always may.
    """
    if not text.isascii():
        return True
    lower = text.lower()
    return any(part in lower for part in _LITERALS)


def _mask_if_mixed(match: re.Match[str]) -> str:
    """Base64 holds letters and digits; a ruler or a word does not."""
    run = match.group()
    return MASK if _DIGIT.search(run) and _LETTER.search(run) else run


def _mask_values(text: str, names: re.Pattern[str]) -> str:
    """Mask the value after each name that speaks of a secret; its quotes stay."""
    parts: list[str] = []
    kept = 0
    for match in names.finditer(text):
        value = _VALUE.match(text, match.end()) if match.start() >= kept else None
        if value is None or not any(word in match.group(1).upper() for word in _WORDS):
            continue
        found = value.group()
        quote = found[0] if found[0] in "\"'" else ""
        closing = quote if len(found) > 1 and found.endswith(quote) else ""
        parts += [text[kept : match.end()], quote, MASK, closing]
        kept = value.end()
    return "".join(parts) + text[kept:]


class Masker:
    """Masks known values, whole or in parts of 16 characters, and then what `redact` finds."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({value for value in values if len(value) >= MIN_SECRET_CHARS}, key=len, reverse=True)
        self._windows = {
            value[start : start + _WINDOW]
            for value in self._values
            if len(value) >= _WINDOW
            for start in range(len(value) - _WINDOW + 1)
        }

    def mask(self, text: str) -> str:
        """The text without any of the values or of what looks like a secret."""
        return redact(self.mask_known(text))

    def mask_known(self, text: str) -> str:
        """The text without any of the values; each stretch of their parts becomes one mask."""
        for value in self._values:
            text = text.replace(value, MASK)
        if not self._windows:
            return text
        parts: list[str] = []
        start = kept = 0
        while start <= len(text) - _WINDOW:
            if text[start : start + _WINDOW] not in self._windows:
                start += 1
                continue
            end = start + _WINDOW
            while end < len(text) and text[end - _WINDOW + 1 : end + 1] in self._windows:
                end += 1
            parts += [text[kept:start], MASK]
            start = kept = end
        return "".join(parts) + text[kept:]

    def __repr__(self) -> str:
        return f"Masker({len(self._values)} values)"
