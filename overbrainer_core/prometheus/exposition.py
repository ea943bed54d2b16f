"""How are metrics written as OpenMetrics text?

Labels keep the order of their family, whole numbers have no decimal point, fractions no exponent: the writer of
`prometheus_client` sorts labels and writes every value as a Go float.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def exposition(metrics: Iterable[Metric]) -> str:
    """The text of the metrics, those without a sample left out."""
    lines: list[str] = []
    for metric in metrics:
        if not metric.samples:
            continue
        lines.append(f"# HELP {metric.name} {_escaped(metric.documentation)}")
        lines.append(f"# TYPE {metric.name} {metric.type}")
        for sample in metric.samples:
            labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
            lines.append(f"{sample.name}{'{' + labels + '}' if labels else ''} {number_text(sample.value)}")
    return "\n".join([*lines, "# EOF", ""])


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def number_text(value: float) -> str:
    """A value in plain digits: `400`, `0.5`, `0.00002`; what is no number by its name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")
