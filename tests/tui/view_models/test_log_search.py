"""Searching in numbered lines: newest first, around the ends, upper and lower case alike."""

from __future__ import annotations

from overbrainer_tui.view_models.log_search import LogSearch

LINES = list(enumerate(["one error", "two", "an ERROR too", "three", "error 4", "five"], start=10))


def searching(pattern: str) -> LogSearch:
    search = LogSearch()
    search.begin()
    assert search.input is not None
    for char in pattern:
        search.input.on_key(char)
        search.typed()
    return search


def test_what_is_typed_finds_the_newest_line_first() -> None:
    search = searching("Error")
    assert search.nearest(LINES, 15) == 14
    assert search.position(LINES) == (3, 3)
    search.forget()
    assert search.nearest(LINES, 13) == 12


def test_above_the_bottom_there_may_be_none_and_the_oldest_is_shown() -> None:
    assert searching("five").nearest(LINES, 11) == 15


def test_the_next_and_the_one_before_go_around_the_ends() -> None:
    search = searching("error")
    search.nearest(LINES, 15)
    assert [search.step(LINES, 1, 15) for _ in range(3)] == [10, 12, 14]
    assert [search.step(LINES, -1, 15) for _ in range(3)] == [12, 10, 14]


def test_without_a_match_nothing_is_looked_at() -> None:
    search = searching("nowhere")
    assert search.nearest(LINES, 15) is None
    assert search.step(LINES, 1, 15) is None
    assert search.position(LINES) == (0, 0)


def test_lines_that_came_are_searched_and_the_line_looked_at_stays() -> None:
    search = searching("error")
    search.nearest(LINES, 15)
    search.outdate()
    more = [*LINES, (16, "the last error")]
    assert search.position(more) == (3, 4)
    assert search.step(more, 1, 16) == 16


def test_a_line_that_the_buffer_dropped_is_no_longer_looked_at() -> None:
    search = searching("error")
    search.nearest(LINES, 10)
    search.outdate()
    assert search.position(LINES[1:]) == (0, 2)
    assert search.step(LINES[1:], -1, 15) == 14


def test_keeping_nothing_and_clearing_end_the_search() -> None:
    search = searching("")
    search.keep()
    assert (search.input, search.pattern) == (None, "")
    search = searching("error")
    search.nearest(LINES, 15)
    search.keep()
    assert (search.input, search.pattern, search.current) == (None, "error", 14)
    search.clear()
    assert (search.pattern, search.current) == ("", None)
    assert search.found(LINES) == []
