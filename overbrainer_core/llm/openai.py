"""How is a model asked in the `openai` protocol, and how is its reply read?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from overbrainer_core.config.settings import Role
from overbrainer_core.llm.documents import Redact, count_of, error_inside, text_of
from overbrainer_core.llm.errors import InvalidResponseError
from overbrainer_core.llm.reasoning import find_reasoning
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.values.completion import FinishReason
from overbrainer_core.values.usage import Usage

STRING_LIST = {
    "type": "json_schema",
    "json_schema": {
        "name": "string_list",
        "strict": False,
        "schema": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "string"}}},
            "required": ["items"],
            "additionalProperties": False,
        },
    },
}
"""`response_format` of a list request."""

_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}


class OpenAiDialect:
    """Bodies, headers and replies of the `openai` protocol."""

    completion_path = "chat/completions"
    embeddings_path = "embeddings"

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request; none without a key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def completion_body(self, role: Role, request: CompletionRequest) -> dict[str, Any]:
        """The body of a completion request."""
        messages = [{"role": "user", "content": request.user}]
        if request.system is not None:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": role.model,
            "messages": messages,
            "max_tokens": request.max_tokens or role.max_tokens,
        }
        if role.temperature is not None:
            body["temperature"] = role.temperature
        if role.reasoning_effort == "none":
            body["reasoning_effort"] = "none"
        elif role.reasoning:
            body["reasoning"] = {"effort": role.reasoning_effort or "medium"}
        if request.wants_list:
            body["response_format"] = STRING_LIST
        return body

    def read_completion(self, document: dict[str, Any], redact: Redact) -> Completion:
        """The reply.

        Raises:
            HttpStatusError: it holds an error with a status.
            InvalidResponseError: it has not the shape of a reply.
        """
        choice = _first_choice(document, redact)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise InvalidResponseError("a choice without a message")
        reasoning = find_reasoning(message, text_of(message.get("content")))
        usage = _usage(document.get("usage"))
        finish = _finish(message, choice)
        if _is_empty(choice) and not (reasoning.content.strip() or reasoning.text or usage.output_tokens):
            inner = error_inside(choice, redact) or error_inside(document, redact)
            raise inner or InvalidResponseError("an empty answer without a finish reason", is_retryable=True)
        return Completion(
            content=reasoning.content,
            finish_reason=finish,
            reasoning=reasoning.text,
            reasoning_kind=reasoning.kind,
            usage=usage,
        )

    def embeddings_body(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """The body of an embeddings request."""
        return {"model": model, "input": list(texts), "encoding_format": "float"}

    def read_embeddings(self, document: dict[str, Any], expected: int, redact: Redact) -> list[list[float]]:
        """One vector per text, in the order given.

        Raises:
            HttpStatusError: the reply holds an error with a status.
            InvalidResponseError: vectors are missing, repeated, empty, of different lengths or no numbers.
        """
        entries = document.get("data")
        if not isinstance(entries, list):
            raise error_inside(document, redact) or InvalidResponseError("no data")
        if len(entries) != expected:
            raise InvalidResponseError(f"{len(entries)} embeddings for {expected} inputs")
        vectors: dict[int, list[float]] = {}
        for entry in entries:
            index = entry.get("index") if isinstance(entry, dict) else None
            if not isinstance(index, int) or not 0 <= index < expected or index in vectors:
                raise InvalidResponseError(f"embeddings without an order for {expected} inputs")
            vectors[index] = _vector(entry.get("embedding"))
        found = [vectors[index] for index in range(expected)]
        if len({len(vector) for vector in found}) > 1:
            raise InvalidResponseError("embeddings of different lengths")
        return found


def _first_choice(document: dict[str, Any], redact: Redact) -> dict[str, Any]:
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise error_inside(document, redact) or InvalidResponseError("no choices")
    choice = choices[0]
    if not isinstance(choice, dict):
        raise InvalidResponseError("a choice without a message")
    return choice


def _is_empty(choice: dict[str, Any]) -> bool:
    """Whether the choice says neither why it ended nor that it ended well: a model that still warms up, or an error."""
    finish = choice.get("finish_reason")
    return finish is None or finish in ("", "error") or bool(choice.get("error"))


def _finish(message: dict[str, Any], choice: dict[str, Any]) -> FinishReason:
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        return FinishReason.REFUSAL
    reason = choice.get("finish_reason")
    return _FINISH.get(reason, FinishReason.OTHER) if isinstance(reason, str) else FinishReason.OTHER


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=count_of(usage.get("prompt_tokens")), output_tokens=count_of(usage.get("completion_tokens"))
    )


def _vector(value: object) -> list[float]:
    if not isinstance(value, list) or not value:
        raise InvalidResponseError("an embedding that is no list of numbers")
    for number in value:
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise InvalidResponseError("an embedding that is no list of numbers")
    return [float(number) for number in value]
