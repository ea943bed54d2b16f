"""What views and dialogs tell of the settings."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from overbrainer_core.config.settings import LocalTarget, Pipeline, Role, Roles, Settings, Training
from overbrainer_tui.facts import plan_facts, project_facts, settings_words

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
