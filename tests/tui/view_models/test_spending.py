"""The first line of a question that spends: the most it can cost, or why that is not known."""

from __future__ import annotations

import pytest

from overbrainer_tui.view_models.overlay import RowTone
from overbrainer_tui.view_models.spending import CostFacts, SpendingModel, cost_row, cost_words

CAP = "pipeline.max_cost_usd"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (None, ("estimating the cost", "")),
        (CostFacts(), ("costs nothing", "nothing is left to ask")),
        (CostFacts(error="no estimate within 10 s"), ("cost unknown", "no estimate within 10 s")),
        (CostFacts(requests=480), ("cost unknown", "480 requests, price unknown")),
        (CostFacts(requests=1, cap_usd=2.5), ("costs at most $2.50", f"{CAP}; 1 request, price unknown")),
        (
            CostFacts(requests=480, low_usd=0.3, high_usd=1.2),
            ("costs about $1.20 at most", "480 requests, $0.30 to $1.20 expected"),
        ),
        (
            CostFacts(requests=16, low_usd=0.0009, high_usd=0.01, cap_usd=1.0),
            ("costs about $0.0100 at most", "16 requests, $0.0009 to $0.0100 expected"),
        ),
        (
            CostFacts(requests=480, low_usd=0.3, high_usd=9.0, cap_usd=2.5),
            ("costs at most $2.50", f"{CAP}; 480 requests, about $0.30 to $9.00"),
        ),
        (
            CostFacts(requests=3, low_usd=0.0, high_usd=0.0),
            ("costs about $0.00 at most", "3 requests, $0.00 to $0.00 expected"),
        ),
    ],
)
def test_the_most_it_can_cost_is_said_first(facts: CostFacts | None, words: tuple[str, str]) -> None:
    assert cost_words(facts) == words


def test_what_is_played_costs_nothing_whatever_is_estimated() -> None:
    row = cost_row(CostFacts(requests=9, high_usd=3.0, low_usd=1.0), is_played=True)
    assert (row.value, row.tone) == ("costs $0.00 of real money", RowTone.STRONG)


def test_an_estimate_is_asked_for_once_for_each_opening() -> None:
    model = SpendingModel()
    model.begin()
    assert model.ask("answers")
    assert not model.ask("answers")
    assert model.ask("run")
    model.begin()
    assert model.ask("answers")


def test_an_estimate_of_an_earlier_opening_is_dropped() -> None:
    model = SpendingModel()
    model.begin()
    model.ask("answers")
    earlier = model.ticket
    model.begin()
    model.ask("answers")
    model.take(earlier, "answers", CostFacts(requests=1))
    assert model.facts("answers") is None
    model.take(model.ticket, "answers", CostFacts(requests=2))
    assert model.facts("answers") == CostFacts(requests=2)
