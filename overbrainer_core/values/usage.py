"""What did requests use, and what does that cost?"""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one or several completed requests; reasoning tokens are inside the output."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class Price(Struct, frozen=True, kw_only=True):
    """USD per million tokens."""

    input_usd_per_million: float
    output_usd_per_million: float

    def cost_usd(self, usage: Usage) -> float:
        """USD of a usage."""
        return (
            usage.input_tokens * self.input_usd_per_million + usage.output_tokens * self.output_usd_per_million
        ) / 1_000_000


def add_costs(first: float | None, second: float | None) -> float | None:
    """The sum of two costs in USD, an unknown one counting nothing; None when both are unknown."""
    if first is None:
        return second
    return first if second is None else first + second
