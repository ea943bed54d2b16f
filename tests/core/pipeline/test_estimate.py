"""Ranges that hold what comes, from answers, from the history, else from the settings."""

from __future__ import annotations

import random

import pytest

from overbrainer_core.config.settings import Role
from overbrainer_core.history import EntryStatus, HistoryEntry
from overbrainer_core.pipeline.estimate import (
    Basis,
    StageEstimate,
    StagePlan,
    estimate_line,
    expect,
    receipt_line,
    total_cost,
    total_line,
)
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Price, Usage

ROLE = Role(provider="p", model="m", max_tokens=1000)
PRICE = Price(input_usd_per_million=1, output_usd_per_million=10)


def plan(stage: Stage = Stage.ANSWERS, requests: int = 100, *, items: float | None = None) -> StagePlan:
    return StagePlan(
        stage=stage,
        requests=requests,
        items=float(requests) if items is None else items,
        replies=requests,
        prompt_bytes=400 * requests,
    )


def entry(stage: Stage, done: int, tokens: tuple[int, int], *, model: str = "m") -> HistoryEntry:
    return HistoryEntry(
        stage=stage,
        started_at="",
        ended_at="",
        status=EntryStatus.OK,
        model=model,
        done=done,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
    )


def test_answers_come_first_then_the_history_then_the_settings() -> None:
    usages = [Usage(input_tokens=100, output_tokens=200)] * 5
    history = [entry(Stage.ANSWERS, 10, (1000, 3000))]
    by_answers = expect(plan(), ROLE, price=PRICE, usages=usages, entries=history)
    assert (by_answers.basis, by_answers.samples) == (Basis.ANSWERS, 5)
    assert (by_answers.input_tokens, by_answers.output_tokens) == ((10_000, 10_000), (20_000, 20_000))
    assert by_answers.cost_usd == pytest.approx((0.21, 0.21))
    by_history = expect(plan(), ROLE, price=PRICE, usages=usages[:4], entries=history)
    assert (by_history.basis, by_history.samples) == (Basis.HISTORY, 1)
    assert (by_history.input_tokens, by_history.output_tokens) == ((7000, 14_000), (21_000, 42_000))
    by_settings = expect(plan(), ROLE, price=PRICE)
    assert (by_settings.basis, by_settings.output_tokens) == (Basis.SETTINGS, (3000, 100_000))


def test_entries_of_another_stage_or_model_and_those_without_a_token_tell_nothing() -> None:
    history = [
        entry(Stage.QUESTIONS, 10, (1, 1)),
        entry(Stage.ANSWERS, 10, (1, 1), model="other"),
        entry(Stage.ANSWERS, 10, (0, 0)),
        entry(Stage.ANSWERS, 0, (1, 1)),
    ]
    assert expect(plan(), ROLE, price=None, entries=history).basis is Basis.SETTINGS


def test_a_half_filled_item_counts_half() -> None:
    history = [entry(Stage.QUESTIONS, 2, (200, 400)), entry(Stage.QUESTIONS, 1, (50, 600))]
    found = expect(plan(Stage.QUESTIONS, 3, items=0.5), ROLE, price=None, entries=history)
    assert found.input_tokens == (25, 59)
    assert found.output_tokens == (100, 300)


@pytest.mark.parametrize("samples", [5, 40, 400])
@pytest.mark.parametrize("requests", [1, 50, 1000])
def test_nine_of_ten_ranges_hold_what_comes(samples: int, requests: int) -> None:
    held = 0
    for seed in range(60):
        chance = random.Random(f"{samples} {requests} {seed}")
        usages = [Usage(input_tokens=100, output_tokens=round(chance.lognormvariate(6, 0.6))) for _ in range(samples)]
        low, high = expect(plan(requests=requests), ROLE, price=None, usages=usages).output_tokens
        held += low <= sum(round(chance.lognormvariate(6, 0.6)) for _ in range(requests)) <= high
    assert held >= 54


def test_output_from_the_settings_never_passes_what_the_limit_allows() -> None:
    role = Role(provider="p", model="m", max_tokens=120, reasoning=True)
    assert expect(plan(), role, price=None).output_tokens == (4000, 12_000)


def test_reasoning_makes_more_output() -> None:
    plain = expect(plan(), ROLE, price=None).output_tokens
    role = Role(provider="p", model="m", max_tokens=16_384, reasoning=True)
    assert expect(plan(), role, price=None).output_tokens[1] > 2 * plain[1]


def test_nothing_to_ask_costs_nothing_whatever_the_price() -> None:
    found = expect(plan(requests=0), ROLE, price=None, usages=[Usage(output_tokens=5)] * 9)
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == ((0, 0), (0, 0), (0.0, 0.0))
    assert estimate_line(found) == "answers: nothing to ask"


def made(cost: tuple[float, float] | None, basis: Basis = Basis.SETTINGS, samples: int = 0) -> StageEstimate:
    return StageEstimate(
        stage=Stage.ANSWERS,
        requests=2,
        input_tokens=(10, 20),
        output_tokens=(30, 40),
        cost_usd=cost,
        basis=basis,
        samples=samples,
    )


def test_lines_tell_what_is_unknown_as_unknown() -> None:
    assert estimate_line(made((0.01, 0.02), Basis.ANSWERS, 40)) == (
        "answers: 2 requests; tokens 10 to 20 in, 30 to 40 out; cost $0.0100 to $0.0200 (from 40 answers)"
    )
    assert estimate_line(made(None)).endswith("cost unknown (from the settings)")
    assert receipt_line(made((0.01, 0.02), Basis.HISTORY, 1), Usage(input_tokens=11, output_tokens=35), 0.015) == (
        "answers: spent $0.0150, tokens 11 in, 35 out; "
        "estimated $0.0100 to $0.0200, tokens 10 to 20 in, 30 to 40 out (from 1 earlier run)"
    )
    assert receipt_line(made(None), Usage(), None) == (
        "answers: spent an unknown amount, tokens 0 in, 0 out; "
        "estimated an unknown amount, tokens 10 to 20 in, 30 to 40 out (from the settings)"
    )


def test_a_total_with_an_unknown_part_is_unknown() -> None:
    known = made((0.5, 1.0))
    assert total_cost([known, known]) == (1.0, 2.0)
    assert total_cost([known, made(None)]) is None
    assert total_line([known]) == "total: cost $0.5000 to $1.0000"
    assert total_line([made(None)]) == "total: cost unknown"
