from __future__ import annotations

from typing import Any

import httpx
import pytest

from overbrainer_core.llm.documents import clean_message, count_of, error_inside, is_web_page, parse_document, text_of
from overbrainer_core.llm.errors import HttpStatusError, InvalidResponseError
from overbrainer_core.llm.http import HttpReply


@pytest.mark.parametrize(
    "body", [b"", b"{", b"NaN", b"[1e400]", b"\xff", b"[" * 100_000, b'{"a":"\\ud83d","b":1e400}', b'"\\ud83d" x']
)
def test_what_is_no_strict_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidResponseError):
        parse_document(body)


def test_big_numbers_and_odd_texts_are_read() -> None:
    assert parse_document(b'{"a":123456789012345678901234567890}')["a"] > 2**64
    assert parse_document(b'["\\ud83d x", {"k\\udc00": [1.5]}]') == ["\ufffd x", {"k\ufffd": [1.5]}]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429, "message": "m"}, 429),
        ({"code": "429", "message": "m"}, 429),
        ({"code": "RATE_LIMIT_EXCEEDED", "message": "m"}, 429),
        ({"type": "insufficient_quota", "message": "m"}, 402),
        ({"code": None, "type": "server_error", "message": "m"}, 500),
        ({"code": 7, "message": "m"}, None),
        ({"code": True, "message": "m"}, None),
        ({"message": {"odd": 1}}, None),
    ],
)
def test_the_inner_code_of_an_error_is_its_status(error: dict[str, Any], status: int | None) -> None:
    found = error_inside({"error": error}, str)
    assert (found.status if isinstance(found, HttpStatusError) else None) == status
    assert found is not None


@pytest.mark.parametrize("error", [None, {}, "", " ", 7, []])
def test_no_error_is_none(error: Any) -> None:
    assert error_inside({"error": error}, str) is None


def test_messages_are_one_line_without_controls_and_without_the_key() -> None:
    assert clean_message("a\n\x1b[31mb k-1 \u202e" + "x" * 500, lambda text: text.replace("k-1", "***")).startswith(
        "a [31mb *** xxx"
    )
    assert len(clean_message("x" * 500, str)) == 300


def test_a_web_page_is_recognised() -> None:
    def reply(body: bytes, kind: str = "application/json") -> HttpReply:
        return HttpReply(200, httpx.Headers({"content-type": kind}), body)

    assert is_web_page(reply(b"\n <!DOCTYPE html>"))
    assert is_web_page(reply(b"<html lang=en>"))
    assert is_web_page(reply(b"hello", "text/html; charset=utf-8"))
    assert not is_web_page(reply(b'{"a":"<html>"}'))


def test_counters_and_contents() -> None:
    assert [count_of(value) for value in (3, 0, -1, None, "3", 3.0, True, 2**70)] == [3, 0, 0, 0, 0, 0, 0, 0]
    assert text_of(None) == ""
    assert text_of([{"type": "output_text", "text": "a"}, {"text": "b"}, 3, {"type": "text", "text": None}]) == "ab"
    with pytest.raises(InvalidResponseError):
        text_of({"text": "x"})
