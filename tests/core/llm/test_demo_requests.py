"""Chat requests to the demo's provider: what is read, what is refused."""

import json
from typing import Any

import pytest

from overbrainer_core.llm.demo_requests import ChatRequest, RequestProblem, read_chat_request

MODELS = {"demo/parent": None}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "string_list", "strict": False, "schema": {"type": "object"}}}


def read(**fields: Any) -> ChatRequest | RequestProblem:
    body = {"model": "demo/parent", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10} | fields
    return read_chat_request(json.dumps(body).encode(), MODELS)


def sound(**fields: Any) -> ChatRequest:
    request = read(**fields)
    assert isinstance(request, ChatRequest), request
    return request


def test_a_request_as_the_client_sends_it_is_read() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    request = sound(messages=messages, temperature=0.5, response_format=SCHEMA, reasoning={"effort": "medium"})
    assert (request.prompt, request.question, request.max_tokens) == ("Be brief.\nHello", "Hello", 10)
    assert (request.wants_reasoning, request.has_response_format) == (True, True)


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}]
    assert sound(messages=[{"role": "user", "content": parts}]).question == "What is\nthis?"


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, False),
        ({"reasoning": None}, False),
        ({"reasoning": {"effort": "low"}}, True),
        ({"reasoning": {"effort": "none"}}, False),
        ({"reasoning": {"enabled": False}}, False),
        ({"reasoning_effort": "none"}, False),
        ({"reasoning_effort": "high"}, True),
    ],
)
def test_reasoning_is_given_only_when_asked_for(fields: dict[str, Any], wanted: bool) -> None:
    assert sound(**fields).wants_reasoning is wanted


def test_attempts_at_one_request_share_their_key() -> None:
    plain = sound()
    assert plain.key == sound(response_format=SCHEMA, max_tokens=99).key
    assert plain.key != sound(messages=[{"role": "user", "content": "Bye"}]).key


def test_what_is_asked_never_stands_in_a_repr() -> None:
    assert "Hello" not in repr(sound())


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    problem = read_chat_request(body, MODELS)
    assert isinstance(problem, RequestProblem)
    assert problem.status == 400


def test_an_unknown_model_is_not_found() -> None:
    problem = read(model="gpt-9")
    assert isinstance(problem, RequestProblem)
    assert problem.status == 404
    assert problem.body() == {
        "error": {
            "message": "the model `gpt-9` does not exist",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
    }


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"model": ""}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": ["Hello"]}, "messages[0]"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": []}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0]"),
        ({"messages": [{"role": "wizard", "content": "Hello"}]}, "messages[0]"),
        ({"messages": [{"role": ["user"], "content": "Hello"}]}, "messages[0]"),
        ({"messages": [{"role": "system", "content": "Hello"}]}, "messages"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": "10"}, "max_tokens"),
        ({"max_completion_tokens": -1}, "max_completion_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"stream": True}, "stream"),
        ({"n": 2}, "n"),
        ({"response_format": "json"}, "response_format"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    problem = read(**fields)
    assert isinstance(problem, RequestProblem)
    assert (problem.status, problem.param) == (400, param)
    assert problem.message.startswith(f"{param}: must")
