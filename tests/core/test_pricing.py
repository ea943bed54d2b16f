from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.pricing import find_price
from overbrainer_core.values.usage import Price, Usage


def priced(pricing: Any, model: str = "m") -> Price | None:
    return find_price({"data": [{"id": "other"}, {"id": "m", "pricing": pricing}]}, model)


def test_decimal_text_is_usd_per_token() -> None:
    price = priced({"prompt": "0.000002", "completion": "0.00001"})
    assert price is not None
    assert price.input_usd_per_million == pytest.approx(2)
    assert price.cost_usd(Usage(input_tokens=500_000, output_tokens=100_000)) == pytest.approx(2.0)


# C027
def test_exponents_are_read() -> None:
    assert priced({"prompt": "1e-06", "completion": "0"}) == Price(
        input_usd_per_million=1.0, output_usd_per_million=0.0
    )


def test_numbers_with_their_unit_are_usd_per_million() -> None:
    assert priced({"prompt": 0.5, "completion": 2, "unit": "per_million_tokens"}) == Price(
        input_usd_per_million=0.5, output_usd_per_million=2.0
    )


# C027
@pytest.mark.parametrize(
    "pricing",
    [
        {"prompt": "-1", "completion": "-1"},
        {"prompt": "", "completion": "1"},
        {"prompt": None, "completion": "1"},
        {"prompt": 0.5, "completion": 1},
        {"prompt": "NaN", "completion": "1"},
        {"prompt": "inf", "completion": "1"},
        {"prompt": "1_0", "completion": "1"},
        {"prompt": True, "completion": 1, "unit": "per_million_tokens"},
        {"prompt": -1, "completion": 1, "unit": "per_million_tokens"},
        {"prompt": 0.5, "completion": 1, "unit": "per_token"},
        {"prompt": "0.1"},
        {},
        None,
        "free",
    ],
)
def test_what_is_no_price_is_unknown(pricing: Any) -> None:
    assert priced(pricing) is None


# C027, C028
def test_a_model_is_matched_by_its_whole_id() -> None:
    listing = [{"id": "openrouter/auto", "pricing": {"prompt": "1", "completion": "1"}}, {"id": "codex-auto-review"}]
    assert find_price(listing, "auto") is None
    assert find_price(listing, "openrouter/auto:free") is None
    assert find_price(listing, "openrouter/auto") is not None


@pytest.mark.parametrize("listing", [None, {}, [], {"data": {}}, {"data": ["m", None]}, "x", 3])
def test_odd_listings_hold_no_price(listing: Any) -> None:
    assert find_price(listing, "m") is None
