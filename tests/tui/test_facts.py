"""What views and dialogs tell of the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from overbrainer_core.config.settings import LocalTarget, Pipeline, Role, Roles, Settings, Training
from overbrainer_core.flows.session import open_session
from overbrainer_core.pipeline.estimate import Basis, StageEstimate
from overbrainer_core.values.stage import Stage
from overbrainer_tui.facts import cost_facts, plan_facts, project_facts, settings_words
from overbrainer_tui.view_models.spending import CostFacts
from tests.tui.states import write_project

TRAINING = Training(target="local", base_model="Qwen/Qwen3-0.6B", adapter="qlora")
SETTINGS = Settings(
    project_name="demo",
    topics=(),
    providers={},
    roles=Roles(generator=Role(provider="p", model="m"), parent=Role(provider="p", model="m")),
    pipeline=Pipeline(concurrency=5),
    training=TRAINING,
    targets={"local": LocalTarget(name="local", runtime="native")},
)


@pytest.mark.parametrize(
    ("rate", "epochs", "words"),
    [
        (2e-4, 3, "qlora, 3 epochs, lr 2e-4"),
        (3e-3, 1, "qlora, 1 epoch, lr 3e-3"),
        (1.5e-5, 2, "qlora, 2 epochs, lr 1.5e-5"),
    ],
)
def test_settings_are_told_in_words(rate: float, epochs: int, words: str) -> None:
    assert settings_words(replace(TRAINING, learning_rate=rate, epochs=epochs)) == words


def test_the_project_s_facts_follow_its_settings() -> None:
    facts = project_facts(SimpleNamespace(settings=SETTINGS))  # type: ignore[arg-type]
    assert (facts.name, facts.concurrency, facts.target, facts.kind) == ("demo", 5, "local", "local, native")
    assert (facts.model, facts.epochs, facts.merge) == ("Qwen/Qwen3-0.6B", 3, False)
    bare = project_facts(SimpleNamespace(settings=replace(SETTINGS, training=None)))  # type: ignore[arg-type]
    assert bare.target is None


def test_a_plan_s_facts_tell_no_host_and_no_key() -> None:
    plan = SimpleNamespace(
        target=SETTINGS.targets["local"],
        kind_words="local, native",
        training=TRAINING,
        train_examples=10,
        eval_examples=2,
        warnings=("w",),
        resume=SimpleNamespace(run_id="r1", checkpoint=SimpleNamespace(step=40), snapshot="output/checkpoint-40"),
    )
    facts = plan_facts(plan)  # type: ignore[arg-type]
    assert (facts.target, facts.kind, facts.train_examples, facts.eval_examples) == ("local", "local, native", 10, 2)
    assert (facts.warnings, facts.resume) == (("w",), ("r1", 40, "output/checkpoint-40"))


async def test_where_every_model_is_the_demo_s_prices_are_played(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p")
    async with open_session(project, process_env={}, lock=False) as session:
        assert project_facts(session).is_played
    paid = {"OVERBRAINER_PROVIDERS__DEMO__BASE_URL": "https://openrouter.example/v1"}
    async with open_session(project, process_env=paid, lock=False) as session:
        assert not project_facts(session).is_played


def _estimate(requests: int, cost: tuple[float, float] | None) -> StageEstimate:
    return StageEstimate(
        stage=Stage.ANSWERS, requests=requests, input_tokens=(0, 0), output_tokens=(0, 0), cost_usd=cost,
        basis=Basis.SETTINGS,
    )  # fmt: skip


def test_estimates_add_up_and_one_unknown_price_leaves_the_sum_unknown() -> None:
    known = cost_facts([_estimate(3, (0.25, 0.5)), _estimate(4, (0.5, 0.75)), _estimate(0, None)], cap_usd=2.0)
    assert known == CostFacts(requests=7, low_usd=0.75, high_usd=1.25, cap_usd=2.0)
    unknown = cost_facts([_estimate(3, (0.1, 0.5)), _estimate(4, None)], cap_usd=None)
    assert (unknown.requests, unknown.low_usd, unknown.high_usd) == (7, None, None)
    assert cost_facts([], cap_usd=None) == CostFacts(low_usd=0, high_usd=0)
