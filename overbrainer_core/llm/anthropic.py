"""How is a model asked in the `anthropic` protocol, and how is its reply read?"""

from __future__ import annotations

from typing import Any

from overbrainer_core.config.settings import Role
from overbrainer_core.llm.documents import Redact, count_of, error_inside
from overbrainer_core.llm.errors import InvalidResponseError, UnsupportedError
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.usage import Usage

VERSION = "2023-06-01"
"""`anthropic-version` of every request."""

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "refusal": FinishReason.REFUSAL,
}


class AnthropicDialect:
    """Bodies, headers and replies of the `anthropic` protocol; it has neither embeddings nor structured lists."""

    completion_path = "messages"
    embeddings_path = None

    def headers(self, key: str | None) -> dict[str, str]:
        """Headers of every request, the version always."""
        headers = {"anthropic-version": VERSION}
        return {**headers, "x-api-key": key} if key else headers

    def completion_body(self, role: Role, request: CompletionRequest) -> dict[str, Any]:
        """The body of a completion request; a fixed thinking budget wins over an effort."""
        body: dict[str, Any] = {"model": role.model, "max_tokens": request.max_tokens or role.max_tokens}
        if request.system is not None:
            body["system"] = request.system
        body["messages"] = [{"role": "user", "content": request.user}]
        if role.temperature is not None:
            body["temperature"] = role.temperature
        if role.reasoning and role.thinking_budget is not None:
            body["thinking"] = {"type": "enabled", "budget_tokens": role.thinking_budget}
        elif role.reasoning:
            body["thinking"] = {"type": "adaptive"}
            if role.reasoning_effort is not None:
                body["output_config"] = {"effort": role.reasoning_effort}
        return body

    def read_completion(self, document: dict[str, Any], redact: Redact) -> Completion:
        """The reply.

        Raises:
            HttpStatusError: it holds an error with a status.
            InvalidResponseError: it has not the shape of a reply.
        """
        blocks = document.get("content")
        if not isinstance(blocks, list):
            raise error_inside(document, redact) or InvalidResponseError("no content")
        known = [block for block in blocks if isinstance(block, dict)]
        content = "".join(_texts(known, "text", "text"))
        thinking = [text for text in _texts(known, "thinking", "thinking") if text.strip()]
        kind = ReasoningKind.NONE
        if thinking:
            kind = ReasoningKind.SUMMARY
        elif any(block.get("type") in ("thinking", "redacted_thinking") for block in known):
            kind = ReasoningKind.REDACTED
        reason = document.get("stop_reason")
        return Completion(
            content=content,
            finish_reason=_FINISH.get(reason, FinishReason.OTHER) if isinstance(reason, str) else FinishReason.OTHER,
            reasoning="\n".join(thinking) or None,
            reasoning_kind=kind,
            usage=_usage(document.get("usage")),
        )

    def embeddings_body(self, _model: str, _texts: object) -> dict[str, Any]:
        """There is none.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("embeddings")

    def read_embeddings(self, _document: dict[str, Any], _expected: int, _redact: Redact) -> list[list[float]]:
        """There is none.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("embeddings")


def _texts(blocks: list[dict[str, Any]], kind: str, key: str) -> list[str]:
    found = [block.get(key) for block in blocks if block.get("type") == kind]
    return [text for text in found if isinstance(text, str)]


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    return Usage(input_tokens=count_of(usage.get("input_tokens")), output_tokens=count_of(usage.get("output_tokens")))
