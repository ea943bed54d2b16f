from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from overbrainer_core.errors import CostCapError
from overbrainer_core.llm.types import CompletionRequest
from overbrainer_core.pipeline.cost_cap import FRAME_TOKENS, LIST_TOKENS, CostCap
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Price, Usage
from tests.peers.capped_run import capped_run

PRICE = Price(input_usd_per_million=0, output_usd_per_million=1_000_000)
REQUEST = CompletionRequest(user="x")


async def test_without_a_cap_or_a_price_nothing_is_held_back() -> None:
    for cap in (CostCap(None, PRICE), CostCap(0.001, None)):
        assert not cap.is_active
        reserved = await cap.reserve(REQUEST, 10_000)
        cap.settle(reserved, Usage(output_tokens=10_000))


async def test_a_request_reserves_its_worst_case_and_gives_back_what_it_did_not_use() -> None:
    cap = CostCap(10, PRICE)
    first = await cap.reserve(REQUEST, 6)
    assert first == 6
    waiting = asyncio.ensure_future(cap.reserve(REQUEST, 6))
    await asyncio.sleep(0)
    assert not waiting.done()
    cap.settle(first, Usage(output_tokens=2))
    assert await waiting == 6
    cap.settle(6, Usage(output_tokens=6))
    with pytest.raises(CostCapError, match=r"\$8\.0000 spent, the next request may cost \$6\.0000"):
        await cap.reserve(REQUEST, 6)


async def test_a_failed_request_costs_nothing() -> None:
    cap = CostCap(6, PRICE)
    cap.settle(await cap.reserve(REQUEST, 6), Usage())
    assert await cap.reserve(REQUEST, 6) == 6


async def test_each_byte_of_a_prompt_may_be_a_token() -> None:
    cap = CostCap(1_000, Price(input_usd_per_million=1_000_000, output_usd_per_million=0))
    assert await cap.reserve(CompletionRequest(user="é", system="abc"), 9) == 5 + FRAME_TOKENS
    assert await cap.reserve(CompletionRequest(user="é", wants_list=True), 9) == 2 + FRAME_TOKENS + LIST_TOKENS


@pytest.mark.parametrize("stage", [Stage.ANSWERS, Stage.QUESTIONS])
async def test_no_stage_ever_passes_its_cap(stage: Stage, tmp_path: Path) -> None:
    stopped = 0
    for seed in range(60):
        run = await capped_run(tmp_path / str(seed), stage, seed)
        assert run.billed_usd <= run.cap_usd
        assert run.told_usd <= run.billed_usd + 1e-9
        assert run.saved == run.answered
        stopped += run.is_stopped
        # it stops because the next request might not fit, not sooner
        assert not run.is_stopped or run.cap_usd - run.told_usd < run.worst_usd
    assert stopped > 10
