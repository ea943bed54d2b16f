"""A stage's end as the object of `--json`."""

from __future__ import annotations

from dataclasses import replace

from overbrainer_core.flows.stages import StageOutcome
from overbrainer_core.pipeline.estimate import Basis, StageEstimate
from overbrainer_core.values.stage import Exclusion, SplitReport, Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.cli.stages import stage_document


def test_a_stage_tells_its_counts_tokens_and_cost() -> None:
    stats = StageStats(done=3, skipped=1, failed=0, excluded=2, usage=Usage(input_tokens=5, output_tokens=6), cost=0.5)
    outcome = StageOutcome(stage=Stage.ANSWERS, stats=stats, summary="", seconds=1.23456)
    assert stage_document(outcome) == {
        "stage": "answers",
        "done": 3,
        "skipped": 1,
        "failed": 0,
        "excluded": 2,
        "input_tokens": 5,
        "output_tokens": 6,
        "cost_usd": 0.5,
        "seconds": 1.235,
        "estimate_usd": None,
    }


def test_a_split_tells_its_parts() -> None:
    report = SplitReport(train=9, eval=1, orphaned=2, excluded=((Exclusion.EMPTY, 3), (Exclusion.TRUNCATED, 1)))
    outcome = StageOutcome(stage=Stage.SPLIT, stats=StageStats(), summary="", seconds=0.1, split=report)
    assert stage_document(outcome) == {"stage": "split", "train": 9, "eval": 1, "excluded": 4, "orphaned": 2}


def test_a_stage_tells_what_was_expected_of_it() -> None:
    estimate = StageEstimate(
        stage=Stage.ANSWERS,
        requests=2,
        input_tokens=(1, 2),
        output_tokens=(3, 4),
        cost_usd=(0.1, 0.30000000004),
        basis=Basis.SETTINGS,
    )
    outcome = StageOutcome(stage=Stage.ANSWERS, stats=StageStats(), summary="", seconds=0, estimate=estimate)
    assert stage_document(outcome)["estimate_usd"] == [0.1, 0.3]
    unknown = replace(outcome, estimate=replace(estimate, cost_usd=None))
    assert stage_document(unknown)["estimate_usd"] is None
