from __future__ import annotations

import pytest

from overbrainer_core.config.settings import Role
from overbrainer_core.llm.errors import HttpStatusError
from overbrainer_core.llm.openai import OpenAiDialect
from overbrainer_core.llm.types import CompletionRequest

DIALECT = OpenAiDialect()


def test_a_key_is_a_bearer_token_and_no_key_is_no_header() -> None:
    assert DIALECT.headers("k") == {"authorization": "Bearer k"}
    assert DIALECT.headers(None) == {}


def test_the_smallest_body_holds_model_messages_and_limit() -> None:
    body = DIALECT.completion_body(Role(provider="p", model="m", max_tokens=9), CompletionRequest(user="Hi"))
    assert body == {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}


def test_an_error_of_a_choice_that_says_nothing_is_that_error() -> None:
    document = {
        "choices": [{"message": {"content": ""}, "finish_reason": "error", "error": {"code": 503, "message": "down"}}]
    }
    with pytest.raises(HttpStatusError, match=r"^HTTP 503: down$"):
        DIALECT.read_completion(document, str)


def test_an_answer_is_kept_though_its_choice_holds_an_error() -> None:
    document = {"choices": [{"message": {"content": "Paid."}, "finish_reason": "error", "error": {"code": 503}}]}
    assert DIALECT.read_completion(document, str).content == "Paid."
