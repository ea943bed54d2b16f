"""The status line's rules, and what the project has cost."""

from __future__ import annotations

import logging

from overbrainer_core.log_setup import LogEntry
from overbrainer_tui.view_models.footer import STATUS_S, CostModel, StatusLine
from overbrainer_tui.view_models.snapshots import Cost, Level, Status
from tests.tui.states import NOW


def logged(text: str, level: int) -> LogEntry:
    return LogEntry(number=1, time=NOW, level=level, area="llm", text=text)


def test_a_message_lasts_ten_seconds() -> None:
    line = StatusLine()
    line.say("bad", Level.ERROR, now=100.0)
    assert line.current(100.0 + STATUS_S - 0.1) == Status(level=Level.ERROR, text="bad")
    assert line.current(100.0 + STATUS_S) is None


def test_the_next_message_takes_the_place_of_the_last() -> None:
    line = StatusLine()
    line.say("first", now=0.0)
    line.say("second", now=5.0)
    assert line.current(12.0) == Status(level=Level.INFO, text="second")


def test_a_warning_or_an_error_of_the_log_is_shown_and_lesser_lines_are_not() -> None:
    line = StatusLine()
    line.on_log(logged("info", logging.INFO), now=0.0)
    assert line.current(0.0) is None
    line.on_log(logged("warning", logging.WARNING), now=0.0)
    assert line.current(0.0) == Status(level=Level.WARNING, text="warning")
    line.on_log(logged("error", logging.ERROR), now=0.0)
    assert line.current(0.0) == Status(level=Level.ERROR, text="error")


def test_the_end_of_a_task_is_not_hidden_by_the_log_for_its_ten_seconds() -> None:
    line = StatusLine()
    line.say("answers: 1 item failed", Level.ERROR, now=0.0, is_end=True)
    line.on_log(logged("answers: x failed", logging.ERROR), now=1.0)
    assert line.current(1.0) == Status(level=Level.ERROR, text="answers: 1 item failed")
    line.on_log(logged("later", logging.ERROR), now=STATUS_S + 1)
    assert line.current(STATUS_S + 1) == Status(level=Level.ERROR, text="later")


def test_nothing_spent_or_nothing_known_shows_no_cost() -> None:
    cost = CostModel()
    assert cost.total() is None
    cost.take_history(Cost(usd=None), after_task=0)
    assert cost.total(Cost(usd=None, is_partial=True)) is None


def test_a_part_without_a_price_makes_the_cost_partial() -> None:
    cost = CostModel()
    cost.take_history(Cost(usd=1.5, is_partial=True), after_task=0)
    assert cost.total() == Cost(usd=1.5, is_partial=True)


def test_a_finished_task_counts_once_before_and_after_the_history_is_read_again() -> None:
    cost = CostModel()
    cost.take_history(Cost(usd=1.0), after_task=0)
    assert cost.total(Cost(usd=0.5)) == Cost(usd=1.5)
    cost.task_ended(1, Cost(usd=0.5))
    assert cost.total() == Cost(usd=1.5)
    cost.take_history(Cost(usd=1.5), after_task=1)
    assert cost.total() == Cost(usd=1.5)


def test_a_read_older_than_the_last_task_never_resets_the_base() -> None:
    cost = CostModel()
    cost.task_ended(3, Cost(usd=0.5))
    cost.take_history(Cost(usd=0.0), after_task=2)
    assert cost.total() == Cost(usd=0.5)
