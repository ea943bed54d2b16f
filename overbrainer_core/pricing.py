"""What does a model cost, by its provider's own listing?

OpenRouter tells USD per token as decimal text; NanoGPT tells numbers with `unit` `per_million_tokens`. Anything else, a
negative or odd number included, is no price: an unknown cost is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from overbrainer_core.text import finite, parse_number
from overbrainer_core.values.usage import Price

PER_MILLION = "per_million_tokens"


def find_price(listing: Any, model: str) -> Price | None:
    """The price of the model whose ID is exactly this, or None.

    Args:
        listing: the decoded listing: an object with `data`, or the array itself.
    """
    for entry in _entries(listing):
        if isinstance(entry, dict) and entry.get("id") == model:
            return _price_of(entry.get("pricing"))
    return None


def _entries(listing: Any) -> Iterable[Any]:
    entries = listing.get("data") if isinstance(listing, dict) else listing
    return entries if isinstance(entries, list) else ()


def _price_of(pricing: Any) -> Price | None:
    if not isinstance(pricing, dict):
        return None
    is_per_million = pricing.get("unit") == PER_MILLION
    prompt = _usd_per_million(pricing.get("prompt"), is_per_million=is_per_million)
    completion = _usd_per_million(pricing.get("completion"), is_per_million=is_per_million)
    if prompt is None or completion is None:
        return None
    return Price(input_usd_per_million=prompt, output_usd_per_million=completion)


def _usd_per_million(value: Any, *, is_per_million: bool) -> float | None:
    if isinstance(value, str):
        number = parse_number(value.strip())
        scale = 1 if is_per_million else 1_000_000
    else:
        number = finite(value) if is_per_million else None
        scale = 1
    if number is None or number < 0:
        return None
    return finite(number * scale)
