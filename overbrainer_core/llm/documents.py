"""What does the body of an answer hold, and which error does it tell?

JSON is read strictly (no NaN, no infinity), with a byte order mark and padding allowed; a lone surrogate becomes
U+FFFD, so that a paid answer can be written. An error inside an answer of 200 is that error.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from overbrainer_core.aio.retry import parse_retry_after
from overbrainer_core.llm.errors import MESSAGE_LIMIT, HttpStatusError, InvalidResponseError
from overbrainer_core.llm.http import HttpReply
from overbrainer_core.text import drop_controls, one_line, replace_surrogates

_log = logging.getLogger("overbrainer.llm")
_BOM = b"\xef\xbb\xbf"
_STATUS_BY_WORD = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout": 408,
    "rate_limit": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "overloaded": 529,
    "overloaded_error": 529,
}
"""Status of the words that providers use for an error's kind."""

Redact = Callable[[str], str]


def parse_document(body: bytes) -> Any:
    """The JSON value of a body.

    Raises:
        InvalidResponseError: it is none; the text does not quote it.
    """
    content = body[len(_BOM) :] if body.startswith(_BOM) else body
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        pass
    try:
        return _parse_odd(content)
    except (ValueError, RecursionError):
        raise InvalidResponseError("not JSON") from None


def _parse_odd(content: bytes) -> Any:
    """The value when it holds a lone surrogate; other oddities stay refused."""
    value = json.loads(content.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    _log.debug("a reply holds a lone surrogate; it is replaced")
    return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


def _refuse(_name: str) -> None:
    raise ValueError("not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    return value


def is_web_page(reply: HttpReply) -> bool:
    """Whether HTML came back where JSON was asked for."""
    start = reply.body[:256].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html")) or "text/html" in reply.headers.get("content-type", "")


def error_of_status(reply: HttpReply, *, base_url_key: str, redact: Redact) -> HttpStatusError:
    """The error of an answer that is no success."""
    headers = reply.headers
    wait_s = parse_retry_after(
        headers.get("retry-after"), milliseconds=headers.get("retry-after-ms"), date=headers.get("date")
    )
    message = clean_message(_message_of(reply.body), redact)
    if reply.status < 500 and is_web_page(reply):
        message = f"{message}; the answer is a web page, is {base_url_key} right?"
    elif 300 <= reply.status < 400:
        message = f"{message or 'redirected'}; redirects are not followed, is {base_url_key} right?"
    return HttpStatusError(reply.status, message, retry_after_s=wait_s)


def _message_of(body: bytes) -> str:
    """`error.message` of a JSON body when it is a text, else the body."""
    raw = body[: 64 * 1024].decode("utf-8", errors="replace")
    try:
        document = parse_document(body)
    except InvalidResponseError:
        return raw
    error = document.get("error") if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else raw


def clean_message(message: str, redact: Redact) -> str:
    """A provider's words on one line, without the key, cut to 300 characters."""
    return drop_controls(one_line(redact(message)))[:MESSAGE_LIMIT]


def parse_success(reply: HttpReply, *, base_url_key: str) -> dict[str, Any]:
    """The JSON object of a successful answer.

    Raises:
        InvalidResponseError: it is no object, or no JSON; a web page names the base URL as the likely mistake.
    """
    try:
        document = parse_document(reply.body)
    except InvalidResponseError:
        if is_web_page(reply):
            raise InvalidResponseError(f"the server answered a web page, not JSON; is {base_url_key} right?") from None
        raise
    if not isinstance(document, dict):
        raise InvalidResponseError("not a JSON object")
    return document


def error_inside(document: dict[str, Any], redact: Redact) -> HttpStatusError | InvalidResponseError | None:
    """The error that a successful answer holds in `error`, with its inner code as status; None when it holds none."""
    error = document.get("error")
    if isinstance(error, str) and error.strip():
        return InvalidResponseError(clean_message(error, redact))
    if not isinstance(error, dict) or not error:
        return None
    message = error.get("message")
    words = clean_message(message if isinstance(message, str) else json.dumps(error, ensure_ascii=False), redact)
    status = _status_of(error)
    return InvalidResponseError(words) if status is None else HttpStatusError(status, words)


def _status_of(error: dict[str, Any]) -> int | None:
    for key in ("code", "status", "type"):
        value = error.get(key)
        if isinstance(value, str):
            if value.isascii() and value.isdecimal() and len(value) == 3:
                value = int(value)
            else:
                value = _STATUS_BY_WORD.get(value.lower())
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def count_of(value: object) -> int:
    """A token counter; one that is missing, null, negative or no whole number counts 0."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    if value is not None:
        _log.debug("a reply's token counter is no whole number; it counts 0")
    return 0


def text_of(content: object) -> str:
    """The text of a message's content: a text, text parts concatenated, or nothing.

    Raises:
        InvalidResponseError: it is of another kind.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_part_text(part) for part in content)
    raise InvalidResponseError("content is neither text nor a list of parts")


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""
