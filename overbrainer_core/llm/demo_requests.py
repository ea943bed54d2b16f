"""What does a chat request ask the demo's provider for, and what is wrong with it?

Bodies are checked as a real OpenAI-compatible server checks them; fields that change nothing here are
ignored. A problem is a value, with the status and the error object of the reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overbrainer_core.llm.demo_tables import stable_hash

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_MAX_TEMPERATURE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestProblem:
    """A reply that is an error; `param` names the field of the request, empty when none is at fault."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    retry_after_s: int | None = None
    allow: str | None = None

    def body(self) -> dict[str, object]:
        """The error object."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """A sound request; `prompt` holds the texts of all messages, `question` the last one of the user."""

    model: str
    prompt: str = field(repr=False)
    question: str = field(repr=False)
    max_tokens: int | None
    wants_reasoning: bool
    has_response_format: bool

    @property
    def key(self) -> int:
        """The same for every attempt at one request, with structured output or without, whatever its limit."""
        return stable_hash(self.model, self.prompt)


def read_chat_request(body: bytes, models: Mapping[str, object]) -> ChatRequest | RequestProblem:
    """The request in `body`, or what is wrong with it; `models` are those that exist."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return RequestProblem(status=400, message="the body is not valid JSON")
    if not isinstance(document, dict):
        return RequestProblem(status=400, message="the body must be a JSON object")
    model = document.get("model")
    if not isinstance(model, str) or not model:
        return _problem("model", "must be the name of a model")
    if model not in models:
        message = f"the model `{model}` does not exist"
        return RequestProblem(status=404, message=message, code="model_not_found", param="model")
    return _field_problem(document) or _sound_request(model, document)


def _sound_request(model: str, document: dict[str, Any]) -> ChatRequest | RequestProblem:
    texts: list[tuple[str, str]] = []
    messages = document.get("messages")
    if not isinstance(messages, list) or not messages:
        return _problem("messages", "must be a list of at least one message")
    for number, message in enumerate(messages):
        text = _message_text(message)
        if text is None:
            return _problem(f"messages[{number}]", "must be an object with a known role and a text as content")
        texts.append((message["role"], text))
    asked = [text for role, text in texts if role == "user"]
    if not asked:
        return _problem("messages", "must hold a message of the user")
    return ChatRequest(
        model=model,
        prompt="\n".join(text for _, text in texts),
        question=asked[-1],
        max_tokens=document.get("max_tokens") or document.get("max_completion_tokens"),
        wants_reasoning=_wants_reasoning(document),
        has_response_format=_has_response_format(document),
    )


def _field_problem(document: dict[str, Any]) -> RequestProblem | None:
    for name in ("max_tokens", "max_completion_tokens"):
        limit = document.get(name)
        if limit is not None and (not _is_integer(limit) or limit < 1):
            return _problem(name, "must be a whole number of at least 1")
    temperature = document.get("temperature")
    if temperature is not None and not (_is_number(temperature) and 0 <= temperature <= _MAX_TEMPERATURE):
        return _problem("temperature", f"must be a number from 0 to {_MAX_TEMPERATURE}")
    if document.get("stream") not in (None, False):
        return _problem("stream", "must be false, this server does not stream")
    if document.get("n") not in (None, 1):
        return _problem("n", "must be 1")
    return _format_problem(document.get("response_format"))


def _format_problem(response_format: object) -> RequestProblem | None:
    if response_format is None:
        return None
    if not isinstance(response_format, dict):
        return _problem("response_format", "must be an object")
    match response_format.get("type"):
        case "text" | "json_object":
            return None
        case "json_schema":
            schema = response_format.get("json_schema")
            if isinstance(schema, dict) and isinstance(schema.get("schema"), dict) and schema.get("name"):
                return None
            return _problem("response_format.json_schema", "must hold a name and a schema")
    return _problem("response_format.type", "must be text, json_object or json_schema")


def _message_text(message: object) -> str | None:
    """The text of a message, its parts joined; None when it is no message."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    if message["role"] not in _ROLES:
        return None
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    known = [text for text in texts if isinstance(text, str)]
    return "\n".join(known) if len(known) == len(content) else None


def _wants_reasoning(document: dict[str, Any]) -> bool:
    reasoning = document.get("reasoning")
    if isinstance(reasoning, dict):
        return reasoning.get("effort") != "none" and reasoning.get("enabled") is not False
    effort = document.get("reasoning_effort")
    return isinstance(effort, str) and effort != "none"


def _has_response_format(document: dict[str, Any]) -> bool:
    response_format = document.get("response_format")
    return isinstance(response_format, dict) and response_format.get("type") != "text"


def _problem(param: str, reason: str) -> RequestProblem:
    return RequestProblem(status=400, message=f"{param}: {reason}", param=param)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
