"""Running work keeps the tables that it uses from changing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overbrainer_core.config import locks
from overbrainer_core.config.settings import Settings
from overbrainer_core.values.stage import Stage

EXTRA = '\n[roles.embedder]\nprovider = "open"\nmodel = "e"\n'
JUDGE = '\n[roles.judge]\nprovider = "claude"\nmodel = "j"\n'


@pytest.mark.parametrize(
    ("stage", "tables"),
    [
        (Stage.SUBTOPICS, {"roles.generator", "roles.embedder", "providers.open"}),
        (Stage.QUESTIONS, {"roles.generator", "roles.embedder", "providers.open"}),
        (Stage.ANSWERS, {"roles.parent", "providers.open"}),
        (Stage.SPLIT, set()),
    ],
)
def test_a_stage_uses_its_roles_and_their_providers(
    parse: Callable[..., Settings], stage: Stage, tables: set[str]
) -> None:
    use = locks.stage_use(stage, parse(EXTRA))
    assert use.who == stage.value
    assert set(use.tables) == tables


def test_run_uses_all_three_roles(parse: Callable[..., Settings]) -> None:
    assert locks.run_use(parse()).tables == {"roles.generator", "roles.parent", "roles.embedder", "providers.open"}


def test_a_training_uses_its_target_the_export_and_the_hub() -> None:
    assert locks.training_use("demo_1", target="lab").tables == {"training", "targets.lab", "export", "hub"}


def test_a_compare_uses_the_judge_or_else_the_parent(parse: Callable[..., Settings]) -> None:
    with_judge = locks.compare_use("c1", parse(JUDGE), target="lab").tables
    assert with_judge == {"roles.judge", "providers.claude", "compare", "targets.lab"}
    assert locks.compare_use("c1", parse(), target="lab").tables >= {"roles.parent", "providers.open"}


def test_the_first_user_of_a_table_is_told() -> None:
    uses = [locks.training_use("one", target="lab"), locks.training_use("two", target="lab")]
    assert locks.user_of("targets.lab", uses) == "one"
    assert locks.user_of("pipeline", uses) is None
    assert locks.refusal("training.epochs", "one") == "refused: training.epochs is used by one; read-only until it ends"
    assert locks.delete_refusal("targets.lab", "one") == "refused: targets.lab is used by one; delete it once it ends"
