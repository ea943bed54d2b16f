"""What does the demo say, before it becomes a chat completion?

A reply is text with the reason why it ended; its size in tokens is its size in bytes over four.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

UNKNOWN = "I only know the tables of this demo."
"""Said to everything that the tables do not cover."""
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model says; `finish` is `stop`, `length` or `content_filter`."""

    content: str
    reasoning: str | None = None
    finish: str = "stop"

    @property
    def completion_tokens(self) -> int:
        """Tokens of content and reasoning together."""
        return count_tokens((self.reasoning or "") + self.content)

    @property
    def reasoning_tokens(self) -> int:
        """The part of `completion_tokens` that is reasoning."""
        return count_tokens(self.reasoning or "")


def count_tokens(text: str) -> int:
    """Tokens of `text`: a token stands for four bytes, begun ones included."""
    return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)


def within_limit(reply: Reply, max_tokens: int | None) -> Reply:
    """`reply` cut to `max_tokens`, as a server does: the reasoning comes first and is cut last."""
    if max_tokens is None or reply.completion_tokens <= max_tokens:
        return reply
    room = max_tokens * BYTES_PER_TOKEN
    reasoning = _first_bytes(reply.reasoning or "", room)
    content = _first_bytes(reply.content, room - len(reasoning.encode()))
    shown = None if reply.reasoning is None else reasoning
    return replace(reply, content=content, reasoning=shown, finish="length")


def _first_bytes(text: str, size: int) -> str:
    return text.encode(errors="replace")[: max(size, 0)].decode(errors="ignore")
