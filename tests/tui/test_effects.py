"""Effects and outcomes are plain values with one place that handles each."""

from __future__ import annotations

import inspect
from typing import get_args

from overbrainer_tui import outcomes, perform
from overbrainer_tui.effects import Effect, Outcome, Purpose, RunStages


def test_every_effect_is_carried_out_and_every_outcome_is_folded() -> None:
    carried_out, folded = inspect.getsource(perform.Performer.perform), inspect.getsource(outcomes.take)
    for kind in get_args(Effect):
        assert f"{kind.__name__}()" in carried_out
    for kind in get_args(Outcome):
        assert f"{kind.__name__}()" in folded


def test_equal_effects_are_equal() -> None:
    assert RunStages(task=1, command="run") == RunStages(task=1, command="run")
    assert Purpose("chain") is Purpose.CHAIN
