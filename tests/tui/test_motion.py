"""Bars close on their value and never pass it; spinner, pulse and fades follow the clock they are given."""

from __future__ import annotations

import itertools

import pytest

from overbrainer_tui.motion import FADE_STEPS, PULSE_STEPS, Eased, fade_share, pulse_step, spinner_frame


def test_the_first_value_lands_at_once() -> None:
    bar = Eased()
    bar.aim(0.5, 0.0)
    assert bar.at(0.0) == 0.5
    assert bar.is_settled(0.0)


def test_a_rise_closes_on_its_value_and_never_passes_it() -> None:
    bar = Eased(smallest=0.001)
    bar.aim(0.2, 0.0)
    bar.aim(0.8, 0.0)
    values = [bar.at(step / 30) for step in range(90)]
    assert values == sorted(values)
    assert max(values) == 0.8
    assert values[7] == pytest.approx(0.8 - 0.6 * 2.718 ** -(7 / 30 / 0.25), abs=0.01)
    assert bar.is_settled(3.0)


def test_a_drop_and_an_end_land_at_once() -> None:
    bar = Eased()
    bar.aim(0.8, 0.0)
    bar.aim(0.3, 1.0)
    assert bar.at(1.0) == 0.3
    bar.aim(1.0, 2.0, jump=True)
    assert bar.at(2.0) == 1.0


def test_aiming_again_at_the_same_value_does_not_start_again() -> None:
    bar = Eased()
    bar.aim(0.0, 0.0)
    bar.aim(1.0, 0.0)
    before = bar.at(0.5)
    bar.aim(1.0, 0.5)
    assert bar.at(0.5) == before


def test_a_new_target_on_the_way_goes_on_from_there() -> None:
    bar = Eased()
    bar.aim(0.0, 0.0)
    bar.aim(0.5, 0.0)
    half_way = bar.at(0.1)
    bar.aim(1.0, 0.1)
    assert bar.at(0.1) == pytest.approx(half_way)


def test_the_spinner_comes_round() -> None:
    assert [spinner_frame(n, "abc") for n in range(4)] == ["a", "b", "c", "a"]


def test_the_pulse_goes_four_steps_down_and_four_up_in_2_4_seconds() -> None:
    steps = [pulse_step(frame) for frame in range(30)]
    assert steps[0] == 0
    assert max(steps) == PULSE_STEPS
    assert pulse_step(30) == 0
    assert all(abs(a - b) <= 1 for a, b in itertools.pairwise(steps))


def test_a_fade_rises_in_few_steps_to_full_strength() -> None:
    shares = [fade_share(step / 100, 0.16) for step in range(17)]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(set(shares)) <= FADE_STEPS + 1
