"""What is the most that a question's `y` can cost? Told in its first line, estimated while the question is open.

An estimate belongs to the opening of a question or menu: one that arrives later than that is dropped. Nothing waits for
it, and where it cannot be had the line says so.
"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_tui.view_models.overlay import DialogRow, RowTone

EVERY_STAGE = "run"
"""The name under which all stages together are estimated."""


class CostFacts(Struct, frozen=True, kw_only=True):
    """What stages are expected to cost, in USD; None where no price is known. `cap_usd` ends them before it.

    `error` says why nothing could be estimated.
    """

    requests: int = 0
    low_usd: float | None = None
    high_usd: float | None = None
    cap_usd: float | None = None
    error: str | None = None


class SpendingModel:
    """The estimates of what is asked now."""

    def __init__(self) -> None:
        self.ticket = 0
        self._known: dict[str, CostFacts | None] = {}

    def begin(self) -> None:
        """A question or menu opens: earlier estimates are forgotten."""
        self.ticket += 1
        self._known.clear()

    def ask(self, name: str) -> bool:
        """Whether this is to be estimated now: it has not been asked for since the opening."""
        if name in self._known:
            return False
        self._known[name] = None
        return True

    def take(self, ticket: int, name: str, facts: CostFacts) -> None:
        """An estimate has come."""
        if ticket == self.ticket:
            self._known[name] = facts

    def facts(self, name: str) -> CostFacts | None:
        """What was estimated; None while it is being."""
        return self._known.get(name)


def cost_row(facts: CostFacts | None, *, is_played: bool = False) -> DialogRow:
    """The first line of a question that spends."""
    value, remark = cost_words(facts, is_played=is_played)
    return DialogRow(value=value, remark=remark, tone=RowTone.STRONG)


def cost_words(facts: CostFacts | None, *, is_played: bool = False) -> tuple[str, str]:
    """What it costs, and a remark; `is_played` where every provider is the demo's."""
    if is_played:
        return "costs $0.00 of real money", "the prices shown are played"
    if facts is None:
        return "estimating the cost", ""
    if facts.error is not None:
        return "cost unknown", facts.error
    if not facts.requests:
        return "costs nothing", "nothing is left to ask"
    requests = f"{facts.requests} {'request' if facts.requests == 1 else 'requests'}"
    if facts.high_usd is None or facts.low_usd is None:
        if facts.cap_usd is not None:
            return f"costs at most {_dollars(facts.cap_usd)}", f"pipeline.max_cost_usd; {requests}, price unknown"
        return "cost unknown", f"{requests}, price unknown"
    expected = f"{_dollars(facts.low_usd)} to {_dollars(facts.high_usd)}"
    if facts.cap_usd is not None and facts.cap_usd < facts.high_usd:
        return f"costs at most {_dollars(facts.cap_usd)}", f"pipeline.max_cost_usd; {requests}, about {expected}"
    return f"costs about {_dollars(facts.high_usd)} at most", f"{requests}, {expected} expected"


def _dollars(usd: float) -> str:
    """Cents from ten cents on, else as many decimals as stages are told with."""
    return f"${usd:.2f}" if usd >= 0.1 or not usd else f"${usd:.4f}"
