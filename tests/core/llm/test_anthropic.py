from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.config.settings import Role
from overbrainer_core.llm.anthropic import AnthropicDialect
from overbrainer_core.llm.errors import HttpStatusError, InvalidResponseError, UnsupportedError
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.usage import Usage

DIALECT = AnthropicDialect()


def body(role: Role, **request: Any) -> dict[str, Any]:
    return DIALECT.completion_body(role, CompletionRequest(**{"user": "Why?", **request}))


def read(document: dict[str, Any]) -> Completion:
    return DIALECT.read_completion(document, str)


def test_headers_hold_the_version_always_and_the_key_when_there_is_one() -> None:
    assert DIALECT.headers(None) == {"anthropic-version": "2023-06-01"}
    assert DIALECT.headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}


def test_a_request_without_reasoning() -> None:
    role = Role(provider="a", model="claude", temperature=0.5, max_tokens=100)
    assert body(role, system="Be brief.", wants_list=True) == {
        "model": "claude",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Why?"}],
        "temperature": 0.5,
    }


@pytest.mark.parametrize(
    ("budget", "effort", "expected"),
    [
        (None, None, {"thinking": {"type": "adaptive"}}),
        (None, "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (2048, "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ],
)
def test_a_fixed_budget_wins_over_an_effort(budget: int | None, effort: str | None, expected: dict[str, Any]) -> None:
    role = Role(provider="a", model="claude", reasoning=True, thinking_budget=budget, reasoning_effort=effort)
    found = body(role)
    assert {key: found[key] for key in found if key in ("thinking", "output_config")} == expected


def test_text_blocks_are_put_together_and_thinking_is_a_summary() -> None:
    completion = read(
        {
            "content": [
                {"type": "thinking", "thinking": "First."},
                {"type": "text", "text": "One, "},
                {"type": "tool_use", "text": "no"},
                {"type": "thinking", "thinking": "Then."},
                {"type": "text", "text": "two."},
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 5},
        }
    )
    assert completion == Completion(
        content="One, two.",
        finish_reason=FinishReason.STOP,
        reasoning="First.\nThen.",
        reasoning_kind=ReasoningKind.SUMMARY,
        usage=Usage(input_tokens=7, output_tokens=9),
    )


@pytest.mark.parametrize("block", [{"type": "thinking", "thinking": ""}, {"type": "redacted_thinking", "data": "x"}])
def test_thinking_without_text_is_redacted(block: dict[str, Any]) -> None:
    completion = read({"content": [block, {"type": "text", "text": "x"}], "stop_reason": "stop_sequence"})
    assert (completion.reasoning_kind, completion.reasoning) == (ReasoningKind.REDACTED, None)
    assert completion.finish_reason is FinishReason.STOP
    assert completion.usage == Usage()


@pytest.mark.parametrize(
    ("word", "reason"), [("max_tokens", "length"), ("refusal", "refusal"), ("pause_turn", "other"), (None, "other")]
)
def test_the_reason_of_the_end_is_mapped(word: Any, reason: str) -> None:
    assert read({"content": [], "stop_reason": word}).finish_reason == reason


def test_an_error_in_a_200_is_that_error() -> None:
    with pytest.raises(HttpStatusError) as caught:
        read({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}})
    assert caught.value.status == 429
    with pytest.raises(InvalidResponseError, match="no content"):
        read({})


def test_there_are_no_embeddings() -> None:
    with pytest.raises(UnsupportedError) as caught:
        DIALECT.embeddings_body("m", ["a"])
    assert str(caught.value) == "embeddings are not supported by this protocol"
    assert caught.value.is_fatal
    with pytest.raises(UnsupportedError):
        DIALECT.read_embeddings({}, 1, str)
