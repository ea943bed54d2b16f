"""The text that scrapers read: labels in order, plain numbers, an end."""

from __future__ import annotations

import pytest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from overbrainer_core.prometheus.exposition import exposition, number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (400, "400"),
        (400.0, "400"),
        (0.5, "0.5"),
        (0.00002, "0.00002"),
        (17_179_869_184, "17179869184"),
        (1.5e20, "150000000000000000000"),
        (-3, "-3"),
        (float("nan"), "NaN"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
    ],
)
def test_numbers_are_plain(value: float, text: str) -> None:
    assert number_text(value) == text


def test_labels_keep_their_order_and_are_escaped() -> None:
    family = CounterMetricFamily("made_up", "What it is.", labels=("zebra", "ant"))
    family.add_metric(('a"b\\c\nd', "x"), 3)
    text = exposition([family, GaugeMetricFamily("empty", "Nothing.")])
    assert text == (
        '# HELP made_up What it is.\n# TYPE made_up counter\nmade_up_total{zebra="a\\"b\\\\c\\nd",ant="x"} 3\n# EOF\n'
    )
    (parsed,) = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    assert parsed.samples[0].labels == {"zebra": 'a"b\\c\nd', "ant": "x"}


def test_nothing_is_only_an_end() -> None:
    assert exposition([]) == "# EOF\n"
