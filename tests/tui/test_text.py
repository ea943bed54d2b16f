"""Numbers, money, durations and sizes are written as the table of numbers says, in bounded widths."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

import pytest

from overbrainer_tui import text
from overbrainer_tui.view_models.snapshots import Cost


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.77824, "0.7782"), (0.0, "0.0000"), (None, "-"), (math.nan, "-"), (math.inf, "-"), (1e-7, "1.00e-7")],
)
def test_a_loss_has_four_decimals(value: float | None, expected: str) -> None:
    assert text.loss(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1.61e-4, "1.61e-4"), (1.2e-7, "1.20e-7"), (0.0, "0"), (None, "-"), (1e-10, "1.00e-10")]
)
def test_a_learning_rate_is_scientific(value: float | None, expected: str) -> None:
    assert text.learning_rate(value) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0s"), (45.9, "45s"), (60, "1m"), (3120, "52m"), (5580, "1h33m"), (3600, "1h00m"), (273600, "3d4h"),
     (None, "-"), (math.nan, "-")],
)  # fmt: skip
def test_a_duration_has_its_two_largest_units(seconds: float | None, expected: str) -> None:
    assert text.duration(seconds) == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(1 / 1.9, ("1.9", "s/step")), (3.4, ("3.4", "steps/s")), (None, ("-", "")), (0.0, ("-", "")),
     (250.0, ("250", "steps/s")), (1 / 1200, ("20m", "/step"))],
)  # fmt: skip
def test_pace_is_told_in_the_unit_that_reads(rate: float | None, expected: tuple[str, str]) -> None:
    assert text.pace(rate) == expected


@pytest.mark.parametrize(
    ("cost", "decimals", "expected"),
    [
        (Cost(usd=0.75), 2, ("$0.75", "")),
        (Cost(usd=0.0111, is_partial=True), 4, ("$0.0111", "+")),
        (Cost(usd=None), 2, ("cost ?", "")),
        (None, 2, ("cost ?", "")),
    ],
)
def test_money_says_when_a_part_is_unknown(cost: Cost | None, decimals: int, expected: tuple[str, str]) -> None:
    assert text.money(cost, decimals=decimals) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(480, "480"), (2100, "2.1k"), (31000, "31k"), (999, "999"), (9960, "10k"), (999_600, "1.0M"), (1_500_000, "1.5M"),
     (0, "0"), (None, "-")],
)  # fmt: skip
def test_counts_are_short(value: int | None, expected: str) -> None:
    assert text.count(value) == expected


@pytest.mark.parametrize(
    ("used", "total", "expected"),
    [(71 * 2**30, 80 * 2**30, ("71", "/80G")), (1.144 * 2**40, 2.2 * 2**40, ("1.1", "/2.2T")),
     (6.6 * 2**30, 20 * 2**30, ("6.6", "/20G")), (None, 2**30, ("-", "/1.0G")), (1, None, ("-", "")),
     (3, 512, ("3", "/512B"))],
)  # fmt: skip
def test_sizes_follow_the_total_s_unit(used: float | None, total: float | None, expected: tuple[str, str]) -> None:
    assert text.size_pair(used, total) == expected


def test_a_percent_is_rounded_down_so_that_100_means_done() -> None:
    assert [text.percent(ratio) for ratio in (0.999, 1.0, 1.5, 0.29, None, -1)] == [
        "99%",
        "100%",
        "100%",
        "29%",
        "-",
        "0%",
    ]


def test_use_is_rounded_and_unknown_use_has_a_form_of_its_own() -> None:
    assert [text.usage(ratio) for ratio in (0.615, None, 1.2)] == ["62%", "--%", "100%"]


@pytest.mark.parametrize(
    ("value", "is_last", "expected"),
    [(500, False, "500"), (1000, False, "1k"), (2500, False, "2.5k"), (2600, True, "2600"), (250_000, False, "250k"),
     (1_500_000, False, "1.5M")],
)  # fmt: skip
def test_axis_steps_are_short_but_for_the_last(value: int, is_last: bool, expected: str) -> None:
    assert text.axis_step(value, is_last=is_last) == expected


@pytest.mark.parametrize("room", [4, 5])
def test_axis_values_fit_their_gutter(room: int) -> None:
    chance = random.Random(2)
    for _ in range(500):
        value = 10 ** chance.uniform(-9, 9)
        assert len(text.axis_value(value, room)) <= room
    assert text.axis_value(0.0, room) == "0.00"
    assert text.axis_value(1.2, room) == "1.20"


def test_widths_stay_within_their_columns() -> None:
    chance = random.Random(3)
    for _ in range(500):
        size = 10 ** chance.uniform(0, 15)
        assert len("".join(text.size_pair(size * chance.random(), size))) <= 10
        assert len(text.count(int(size))) <= 5
        assert len(text.duration(10 ** chance.uniform(0, 7.9))) <= 6
        assert len(" ".join(text.pace(10 ** chance.uniform(-5, 3.9)))) <= 12


def test_clocks_are_utc() -> None:
    moment = datetime(2026, 11, 2, 8, 15, 2, tzinfo=UTC)
    assert text.clock(moment) == "08:15:02"
    assert text.clock(moment, seconds=False) == "08:15"
    assert text.clock(None) == ""
