"""May one more request be sent without the stage's cost passing `pipeline.max_cost_usd`?

Each request reserves the most it can cost before it is sent, and gives that back for what it did cost. A request that
does not fit waits for those in flight; when none is left, the stage stops with everything it has saved.
"""

from __future__ import annotations

import asyncio

from overbrainer_core.errors import CostCapError
from overbrainer_core.llm.types import CompletionRequest
from overbrainer_core.values.usage import Price, Usage

FRAME_TOKENS = 64
"""Tokens that a provider's message frame may add to a prompt."""


LIST_TOKENS = 256
"""Tokens that the shape of a list reply, sent with the request, may add."""


class CostCap:
    """The cap of one stage; without a cap or a price nothing is ever held back."""

    def __init__(self, cap_usd: float | None, price: Price | None) -> None:
        self._cap_usd = cap_usd
        self._price = price
        self._spent_usd = 0.0
        self._reserved_usd = 0.0
        self._in_flight = 0
        self._changed = asyncio.Event()

    @property
    def is_active(self) -> bool:
        """Whether requests are held to a cap."""
        return self._cap_usd is not None and self._price is not None

    async def reserve(self, request: CompletionRequest, max_tokens: int) -> float:
        """Wait until the request fits; what it reserved, for `settle`.

        Raises:
            CostCapError: it cannot fit any more.
        """
        if self._cap_usd is None or self._price is None:
            return 0.0
        worst = self._price.cost_usd(_worst_usage(request, max_tokens))
        while self._spent_usd + self._reserved_usd + worst > self._cap_usd:
            if not self._in_flight:
                raise CostCapError(
                    f"pipeline.max_cost_usd ${self._cap_usd:.4f} would be passed: ${self._spent_usd:.4f} spent, "
                    f"the next request may cost ${worst:.4f}; raise it and run the command again to go on"
                )
            self._changed.clear()
            await self._changed.wait()
        self._reserved_usd += worst
        self._in_flight += 1
        return worst

    def settle(self, reserved: float, usage: Usage) -> None:
        """Replace a reservation by what the request used; nothing when it failed."""
        if self._price is None or self._cap_usd is None:
            return
        self._reserved_usd -= reserved
        self._in_flight -= 1
        self._spent_usd += self._price.cost_usd(usage)
        self._changed.set()


def _worst_usage(request: CompletionRequest, max_tokens: int) -> Usage:
    """The most tokens a request can use: one for each byte of its prompt, and its whole limit of output."""
    prompt = len(request.user.encode("utf-8", "replace")) + len((request.system or "").encode("utf-8", "replace"))
    frame = FRAME_TOKENS + (LIST_TOKENS if request.wants_list else 0)
    return Usage(input_tokens=prompt + frame, output_tokens=max_tokens)
