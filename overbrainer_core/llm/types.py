"""What is asked of a model, and what comes back?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.usage import Usage

OnRetry = Callable[[str], None]
"""Told the text of a failure before the request is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """One turn: an optional system prompt and a user message.

    `max_tokens` replaces the role's limit; `wants_list` asks for structured output, where the protocol has it.
    """

    user: str
    system: str | None = None
    max_tokens: int | None = None
    wants_list: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole reply; `content` without the reasoning, `reasoning` None when no text of it came."""

    content: str
    finish_reason: FinishReason
    reasoning: str | None = None
    reasoning_kind: ReasoningKind = ReasoningKind.NONE
    usage: Usage = field(default_factory=Usage)
