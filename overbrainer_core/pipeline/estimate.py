"""How many requests will a stage send, and about how many tokens will they take?

A `StagePlan` is the work that is left, piece by piece; `expect` turns it into a range, from this project's own answers
where there are some, else from its history, else from what its settings and prompts let expect. Nothing here asks
anybody or reads a file.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.config.settings import Role
from overbrainer_core.history import HistoryEntry
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Price, Usage

ENOUGH_ANSWERS = 5
"""Answers from which their own lengths are trusted."""
HISTORY_SPREAD = (0.7, 1.4)
"""Factors around what an item took on average in the stages before."""
TOKENS_PER_BYTE = (1 / 6, 1 / 2.5)
"""Prompt tokens for each byte, of the plainest and of the densest text."""
QUESTION_BYTES = 90
"""Bytes of a question that does not exist yet."""
ITEM_TOKENS = (6, 40)
"""Output tokens of one item of a list."""
REPEATED = 1.3
"""Factor for batches that bring repetitions, and replies that are no list."""
ANSWER_TOKENS = (30, 1500)
"""Output tokens of an answer."""
REASONING_TOKENS = (10, 6000)
"""Output tokens of a reply's reasoning, where the role asks for it."""

Tokens = tuple[int, int]
"""The least and the most tokens that are expected."""


class Basis(StrEnum):
    """From what an estimate was made."""

    ANSWERS = "answers"
    HISTORY = "history"
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """The work that a stage has left.

    `items` is that work in whole items of the stage, a half-filled subtopic being half a one; `replies` the list items
    or answers expected; `prompt_bytes` what all requests send together.
    """

    stage: Stage
    requests: int
    items: float
    replies: int
    prompt_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate:
    """What a stage is expected to take; `samples` counts the answers or stages that it was estimated from."""

    stage: Stage
    requests: int
    input_tokens: Tokens
    output_tokens: Tokens
    cost_usd: tuple[float, float] | None
    basis: Basis
    samples: int = 0


def expect(
    plan: StagePlan,
    role: Role,
    *,
    price: Price | None,
    usages: Sequence[Usage] = (),
    entries: Sequence[HistoryEntry] = (),
) -> StageEstimate:
    """The estimate of a plan; `usages` are those of answers of the role's model, `entries` the whole history."""
    basis, samples = Basis.SETTINGS, 0
    own = [entry for entry in entries if _tells(entry, plan.stage, role)]
    if plan.stage is Stage.ANSWERS and len(usages) >= ENOUGH_ANSWERS:
        basis, samples = Basis.ANSWERS, len(usages)
        inputs = _from_samples([usage.input_tokens for usage in usages], plan.requests)
        outputs = _from_samples([usage.output_tokens for usage in usages], plan.requests)
    elif own:
        basis, samples = Basis.HISTORY, len(own)
        inputs = _from_history([(entry.input_tokens, entry.done + entry.excluded) for entry in own], plan.items)
        outputs = _from_history([(entry.output_tokens, entry.done + entry.excluded) for entry in own], plan.items)
    else:
        inputs, outputs = _from_settings(plan, role)
    return StageEstimate(
        stage=plan.stage,
        requests=plan.requests,
        input_tokens=inputs,
        output_tokens=outputs,
        cost_usd=_cost(inputs, outputs, price) if plan.requests else (0.0, 0.0),
        basis=basis,
        samples=samples,
    )


def _tells(entry: HistoryEntry, stage: Stage, role: Role) -> bool:
    return entry.stage is stage and entry.model == role.model and entry.has_tokens and entry.done + entry.excluded > 0


def _cost(inputs: Tokens, outputs: Tokens, price: Price | None) -> tuple[float, float] | None:
    if price is None:
        return None
    low, high = (
        price.cost_usd(Usage(input_tokens=tokens_in, output_tokens=tokens_out))
        for tokens_in, tokens_out in zip(inputs, outputs, strict=True)
    )
    return low, high


def _from_samples(tokens: Sequence[int], requests: int) -> Tokens:
    """The sum over so many requests like those: lengths vary, and so does the mean of a few samples."""
    count = len(tokens)
    mean = statistics.fmean(tokens)
    deviation = statistics.stdev(tokens, mean)
    width = (2 + 8 / count) * deviation * math.sqrt(requests + requests**2 / count)
    total = mean * requests
    return math.floor(max(total - width, min(tokens) * requests / 2)), math.ceil(total + width)


def _from_history(taken: Sequence[tuple[int, int]], items: float) -> Tokens:
    """The sum over so many items: around the average of all, as wide as single stages differ."""
    average = sum(tokens for tokens, _ in taken) / sum(count for _, count in taken)
    each = [tokens / count for tokens, count in taken]
    low = min(average * HISTORY_SPREAD[0], *each)
    high = max(average * HISTORY_SPREAD[1], *each)
    return math.floor(low * items), math.ceil(high * items)


def _from_settings(plan: StagePlan, role: Role) -> tuple[Tokens, Tokens]:
    is_list = plan.stage is not Stage.ANSWERS
    each = ITEM_TOKENS if is_list else ANSWER_TOKENS
    reasoning = REASONING_TOKENS if role.reasoning else (0, 0)
    ceiling = plan.requests * role.max_tokens
    repeated = REPEATED if is_list else 1.0
    inputs = (
        math.floor(plan.prompt_bytes * TOKENS_PER_BYTE[0]),
        math.ceil(plan.prompt_bytes * TOKENS_PER_BYTE[1] * repeated),
    )
    outputs = (
        min(ceiling, plan.replies * each[0] + plan.requests * reasoning[0]),
        min(ceiling, math.ceil((plan.replies * each[1] + plan.requests * reasoning[1]) * repeated)),
    )
    return inputs, outputs


def total_cost(estimates: Sequence[StageEstimate]) -> tuple[float, float] | None:
    """What all of them cost together; None when one of them is unknown."""
    known = [estimate.cost_usd for estimate in estimates if estimate.cost_usd is not None]
    if len(known) < len(estimates):
        return None
    return sum(low for low, _ in known), sum(high for _, high in known)


def basis_words(estimate: StageEstimate) -> str:
    """From what it was estimated: `from 40 answers`."""
    match estimate.basis:
        case Basis.ANSWERS:
            return f"from {estimate.samples} answers"
        case Basis.HISTORY:
            return f"from {estimate.samples} earlier run{'s' if estimate.samples != 1 else ''}"
        case Basis.SETTINGS:
            return "from the settings"


def cost_words(cost_usd: tuple[float, float] | None) -> str:
    """`cost $0.0100 to $0.0200`, or `cost unknown`."""
    return "cost unknown" if cost_usd is None else f"cost ${cost_usd[0]:.4f} to ${cost_usd[1]:.4f}"


def estimate_line(estimate: StageEstimate) -> str:
    """What a stage is expected to take, in one line."""
    if not estimate.requests:
        return f"{estimate.stage}: nothing to ask"
    return (
        f"{estimate.stage}: {estimate.requests} request{'s' if estimate.requests != 1 else ''}; "
        f"{_tokens_words(estimate)}; "
        f"{cost_words(estimate.cost_usd)} ({basis_words(estimate)})"
    )


def total_line(estimates: Sequence[StageEstimate]) -> str:
    """What all stages cost together, in one line."""
    return f"total: {cost_words(total_cost(estimates))}"


def receipt_line(estimate: StageEstimate, usage: Usage, cost_usd: float | None) -> str:
    """What a stage took, beside what was expected."""
    spent = "an unknown amount" if cost_usd is None else f"${cost_usd:.4f}"
    known = estimate.cost_usd
    expected = "an unknown amount" if known is None else f"${known[0]:.4f} to ${known[1]:.4f}"
    return (
        f"{estimate.stage}: spent {spent}, tokens {usage.input_tokens} in, {usage.output_tokens} out; "
        f"estimated {expected}, {_tokens_words(estimate)} ({basis_words(estimate)})"
    )


def _tokens_words(estimate: StageEstimate) -> str:
    (input_low, input_high), (output_low, output_high) = estimate.input_tokens, estimate.output_tokens
    return f"tokens {input_low} to {input_high} in, {output_low} to {output_high} out"
