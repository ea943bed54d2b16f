"""Every key of the schema has its meaning, and the bounds told to people are those of the checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from overbrainer_core.config.fields import SECTION_TABLES, fields_in, schema_fields
from overbrainer_core.config.key_facts import FACTS, Bounds

Lines = Callable[..., list[str]]
POD = '\n[targets.pod]\nkind = "runpod"\ngpu_types = "auto"\nmax_hours = 1\n'
TABLES = {
    "topics": '[[topics]]\nname = "t"\nsubtopics = 1\nquestions_per_subtopic = 1\n',
    "roles": '[roles.judge]\nprovider = "claude"\nmodel = "m"\nreasoning = true\n',
    "training": '[training]\ntarget = "here"\nbase_model = "m"\nadapter = "lora"\n',
    "targets.runpod": POD,
}


@pytest.mark.parametrize("section", ["", *SECTION_TABLES])
def test_each_key_has_its_facts_and_no_fact_is_about_a_key_that_is_not_there(section: str) -> None:
    assert list(FACTS[section]) == list(schema_fields(section))
    assert all(facts.meaning for facts in FACTS[section].values())


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "interval"),
    [
        (Bounds(low=1), (1, 9e99), (0, 0.999, -1), ">= 1"),
        (Bounds(low=0, low_open=True), (1e-300,), (0, -1), "> 0"),
        (Bounds(0, 1, low_open=True), (0.001, 1), (0, 1.001), "(0, 1]"),
        (Bounds(0, 1, high_open=True), (0, 0.999), (-0.001, 1), "[0, 1)"),
    ],
)
def test_open_and_closed_ends_are_told_apart(
    bounds: Bounds, inside: tuple[float, ...], outside: tuple[float, ...], interval: str
) -> None:
    assert all(bounds.admits(value) for value in inside)
    assert not any(bounds.admits(value) for value in (*outside, math.nan, math.inf, -math.inf))
    assert bounds.interval() == interval


def test_the_refusal_says_what_is_wanted() -> None:
    assert Bounds(low=1).refusal(is_integer=True) == "must be at least 1"
    assert Bounds(1, 1024).refusal(is_integer=True) == "must be between 1 and 1024"
    assert Bounds(0, low_open=True).refusal(is_integer=False) == "must be greater than 0"
    assert Bounds(0, 720, low_open=True).refusal(is_integer=False) == "must be in (0, 720]"


def bounded() -> Iterator[tuple[str, str]]:
    """Every key with bounds."""
    for section in SECTION_TABLES:
        for key, field in fields_in(section).items():
            if field.bounds is not None:
                yield section, key


@pytest.mark.parametrize(("section", "key"), bounded())
def test_the_checks_take_what_lies_inside_and_refuse_what_lies_outside(problems: Lines, section: str, key: str) -> None:
    field = fields_in(section)[key]
    bounds = field.bounds
    assert bounds is not None
    is_integer = field.kind == "integer"
    step = 1 if is_integer else 1e-6
    ends = [end for end in (bounds.low, bounds.high) if end is not None]
    probes = [end + move for end in ends for move in (-step, 0, step)]
    for probe in probes:
        if is_integer and probe < 0:
            continue  # no value of these keys, whatever the bounds
        text = f"{int(probe)}" if is_integer else f"{probe!r}"
        lines = [line for line in problems(file_with(section, key, text)) if f".{key}: " in line]
        assert (not lines) == bounds.admits(probe), (probe, lines)


def file_with(section: str, key: str, text: str) -> str:
    """The section's table with one key."""
    table = TABLES.get(section, f"[{section}]\n")
    lines = [line for line in table.splitlines() if not line.startswith(f"{key} =")]
    if key == "max_volume_gb":
        lines += ['network_volume_id = "abc"', 'data_center_ids = ["EU-RO-1"]']
    if section == "roles" and key == "temperature":
        lines = [line for line in lines if not line.startswith("reasoning")]
    return "\n" + "\n".join([*lines, f"{key} = {text}"]) + "\n"
