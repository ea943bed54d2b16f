from __future__ import annotations

from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.usage import Usage


def test_a_request_is_one_user_message_unless_told_otherwise() -> None:
    request = CompletionRequest(user="Why?")
    assert (request.system, request.max_tokens, request.wants_list) == (None, None, False)


def test_a_reply_has_no_reasoning_and_no_usage_unless_told_otherwise() -> None:
    completion = Completion(content="x", finish_reason=FinishReason.STOP)
    assert (completion.reasoning, completion.reasoning_kind, completion.usage) == (None, ReasoningKind.NONE, Usage())
