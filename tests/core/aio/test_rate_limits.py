"""What is learnt from each kind of refusal, without time or a server."""

from __future__ import annotations

import pytest

from overbrainer_core.aio.rate_limits import Allowance, Limits, Refusal, Turn


class Asked:
    """Sends requests in numbered order and tells an allowance what became of them."""

    def __init__(self, most: int = 16) -> None:
        self.allowance = Allowance(most)
        self.sent = 0
        self.now = 0.0

    def send(self, in_flight: int) -> Turn:
        self.sent += 1
        return Turn(self.sent, in_flight)

    def accept(self, turn: Turn) -> None:
        self.now += 0.1
        self.allowance.accept(turn, self.now)

    def refuse(self, turn: Turn, refusal: Refusal = Refusal.UNSAID, *, wait_s: float = 1.0, in_flight: int = 0) -> None:
        self.allowance.refuse(turn, refusal, last=self.sent, now=self.now, until=self.now + wait_s, in_flight=in_flight)
        self.now += wait_s


def test_nothing_is_lowered_before_a_refusal() -> None:
    asked = Asked()
    for level in range(1, 17):
        asked.accept(asked.send(level))
    assert asked.allowance.at_once == 16
    assert asked.allowance.is_free
    assert asked.allowance.limits == Limits()


def test_the_limit_goes_below_the_smallest_company_that_was_refused() -> None:
    asked = Asked()
    turns = [asked.send(level) for level in range(1, 17)]
    for turn in (turns[8], turns[5], turns[11]):
        asked.refuse(turn)
    assert asked.allowance.at_once == 5
    assert asked.allowance.limits == Limits(at_once=5)


def test_one_refusal_lowers_the_limit_gently_and_is_no_limit_to_tell() -> None:
    asked = Asked()
    asked.refuse(asked.send(9))
    assert asked.allowance.at_once == 12
    assert asked.allowance.limits == Limits()


def test_company_that_was_taken_after_the_refused_one_makes_it_chance() -> None:
    asked = Asked()
    turns = [asked.send(4) for _ in range(6)]
    asked.refuse(turns[0])
    assert asked.allowance.at_once == 12
    for turn in turns[1:4]:
        asked.accept(turn)
    assert asked.allowance.at_once == 16
    asked.refuse(turns[4])
    assert asked.allowance.at_once == 16


def test_smaller_company_contradicts_nothing() -> None:
    asked = Asked()
    turns = [asked.send(level) for level in (9, 4, 4, 4, 4, 4)]
    asked.refuse(turns[0])
    for turn in turns[1:]:
        asked.accept(turn)
    assert asked.allowance.at_once == 12


def test_success_raises_the_limit_the_slower_the_surer_it_is() -> None:
    asked = Asked(most=5)
    needed: list[int] = []
    for _ in range(4):
        asked.refuse(asked.send(5), Refusal.AT_ONCE)
        count = 0
        while asked.allowance.at_once == 4:
            asked.accept(asked.send(4))
            count += 1
        needed.append(count)
    assert needed == [8, 16, 32, 64]
    assert asked.allowance.is_sure_of_company


def test_a_limit_that_is_not_reached_does_not_rise() -> None:
    asked = Asked()
    asked.refuse(asked.send(9), Refusal.AT_ONCE)
    for _ in range(100):
        asked.accept(asked.send(2))
    assert asked.allowance.at_once == 12


def test_an_overload_halves_what_is_in_flight_once() -> None:
    asked = Asked()
    turns = [asked.send(level) for level in range(1, 17)]
    asked.refuse(turns[3], Refusal.OVERLOAD, wait_s=0, in_flight=15)
    asked.refuse(turns[7], Refusal.OVERLOAD, wait_s=0, in_flight=14)
    assert asked.allowance.at_once == 8


def test_a_refusal_that_says_it_is_the_rate_lowers_no_company() -> None:
    asked = Asked()
    asked.refuse(asked.send(9), Refusal.RATE)
    assert asked.allowance.at_once == 16
    assert asked.allowance.limits == Limits()


def test_the_rate_that_was_taken_gives_the_pace() -> None:
    asked = Asked()
    for _ in range(10):
        asked.accept(asked.send(2))
    turns = [asked.send(2), asked.send(2)]
    asked.refuse(turns[0], Refusal.RATE, wait_s=9.1)
    asked.refuse(turns[1], Refusal.RATE, wait_s=0)
    # ten answers in ten seconds, the pause included, less a margin
    assert asked.allowance.limits.per_minute == pytest.approx(57)
    before = asked.allowance.interval_s
    asked.refuse(asked.send(1), Refusal.RATE)
    assert asked.allowance.interval_s == pytest.approx(before * 1.1)
    for _ in range(10):
        asked.accept(asked.send(1))
    assert asked.allowance.interval_s == pytest.approx(before * 1.1 * 0.98)


def test_refused_alone_again_and_again_is_the_rate() -> None:
    asked = Asked()
    for _ in range(3):
        for _ in range(5):
            asked.accept(asked.send(1))
        asked.refuse(asked.send(1))
    assert asked.allowance.interval_s == 0
    for _ in range(5):
        asked.accept(asked.send(1))
    turns = [asked.send(1), asked.send(1)]
    for turn in turns:
        asked.refuse(turn)
    assert asked.allowance.interval_s > 0
    assert asked.allowance.at_once == 16


def test_after_a_pause_that_was_too_short_one_request_tries_alone() -> None:
    asked = Asked()
    found: list[bool] = []
    asked.refuse(asked.send(3), Refusal.RATE)
    found.append(asked.allowance.has_failed_reopening)
    asked.refuse(asked.send(1), Refusal.RATE)
    found.append(asked.allowance.has_failed_reopening)
    asked.accept(asked.send(1))
    found.append(asked.allowance.has_failed_reopening)
    assert found == [False, True, False]


def test_a_limit_that_no_longer_holds_is_forgotten() -> None:
    asked = Asked()
    for turn in [asked.send(5), asked.send(6)]:
        asked.refuse(turn, Refusal.AT_ONCE)
    assert asked.allowance.limits == Limits(at_once=4)
    while asked.allowance.at_once < 16:
        asked.accept(asked.send(asked.allowance.at_once))
    assert asked.allowance.limits == Limits()


def test_a_limit_is_never_below_one() -> None:
    asked = Asked(most=1)
    asked.refuse(asked.send(1), Refusal.AT_ONCE)
    assert asked.allowance.at_once == 1
    assert asked.allowance.limits == Limits()
