"""The Logs view: levels, scrolling, the pinned line, a job's log, the export."""

from __future__ import annotations

import logging

from overbrainer_core.log_setup import BUFFER_LINES, TRACE, LogEntry
from overbrainer_tui.view_models.logs import LogsModel
from overbrainer_tui.view_models.snapshots import LogSource, SearchShown, log_rows
from tests.tui.states import NOW

ROWS = log_rows(24)


def entry(text: str, level: int = logging.INFO) -> LogEntry:
    return LogEntry(number=0, time=NOW, level=level, area="runs", text=text)


def filled(count: int = 30, level: int = logging.INFO) -> LogsModel:
    model = LogsModel()
    for number in range(count):
        model.add(entry(f"line {number}", level))
    return model


def texts(model: LogsModel) -> list[str]:
    return [row.text for row in model.snapshot().rows]


def press(model: LogsModel, *keys: str) -> None:
    for key in keys:
        assert model.on_key(key)


def test_the_newest_lines_are_at_the_bottom() -> None:
    shown = filled().snapshot()
    assert [row.text for row in shown.rows] == [f"line {n}" for n in range(30 - ROWS, 30)]
    assert (shown.newer, shown.is_pinned, shown.level) == (0, False, "INFO")
    assert (shown.rows[0].level, shown.rows[0].area, shown.rows[0].time) == ("INFO", "runs", NOW)


def test_scrolled_back_new_lines_do_not_move_the_view_and_only_the_count_grows() -> None:
    model = filled()
    press(model, "k", "k")
    before = texts(model)
    assert model.snapshot().newer == 2
    for number in range(5):
        model.add(entry(f"late {number}"))
    assert texts(model) == before
    assert model.snapshot().newer == 7
    press(model, "G")
    assert texts(model)[-1] == "late 4"


def test_scrolling_forward_reaches_the_bottom_and_stays_pinned_until_told_to_follow() -> None:
    model = filled()
    press(model, "pageup", "pagedown", "pagedown")
    assert (model.snapshot().newer, model.snapshot().is_pinned) == (0, True)
    model.add(entry("new"))
    assert model.snapshot().newer == 1
    press(model, "end")
    assert model.snapshot().newer == 0


def test_scrolling_forward_while_following_does_nothing() -> None:
    model = filled()
    press(model, "j", "pagedown")
    assert not model.snapshot().is_pinned


def test_the_view_never_scrolls_past_the_oldest_line() -> None:
    model = filled()
    press(model, *["pageup"] * 9)
    assert texts(model)[0] == "line 0"
    assert len(texts(model)) == ROWS


def test_few_lines_are_never_scrolled() -> None:
    model = filled(3)
    press(model, "k", "pageup", "home")
    assert (len(texts(model)), model.snapshot().newer) == (3, 0)


def test_a_pinned_line_that_the_buffer_dropped_counts_as_the_oldest() -> None:
    model = filled()
    press(model, "pageup")
    for number in range(BUFFER_LINES):
        model.add(entry(f"flood {number}"))
    shown = model.snapshot()
    assert shown.rows[0].text == "flood 0"
    assert shown.newer == BUFFER_LINES - ROWS


def test_the_level_goes_round_from_info_and_follows_each_time() -> None:
    model = filled()
    levels = []
    for _ in range(5):
        press(model, "k", "f")
        shown = model.snapshot()
        levels.append(shown.level)
        assert not shown.is_pinned
    assert levels == ["DEBUG", "TRACE", "ERROR", "WARN", "INFO"]


def test_a_level_shows_itself_and_what_is_more_severe() -> None:
    model = LogsModel()
    for level in (TRACE, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        model.add(entry(logging.getLevelName(level), level))
    press(model, "f", "f", "f")
    assert texts(model) == ["ERROR"]
    press(model, "f")
    assert texts(model) == ["WARNING", "ERROR"]


def test_at_debug_with_nothing_captured_a_note_names_the_variable() -> None:
    model = filled()
    press(model, "f")
    assert "OVERBRAINER_LOG" in model.snapshot().note
    model.add(entry("x", logging.DEBUG))
    assert model.snapshot().note == ""


def test_long_lines_can_be_shifted_to_their_end_and_back() -> None:
    model = LogsModel()
    model.add(entry("x" * 40))
    press(model, *["l"] * 9)
    assert model.snapshot().shift == 40
    press(model, *["h"] * 9)
    assert model.snapshot().shift == 0


def test_the_export_has_every_line_at_the_level_oldest_first() -> None:
    model = LogsModel()
    model.add(entry("kept"))
    model.add(entry("left out", logging.DEBUG))
    model.add(entry("bad", logging.ERROR))
    found = model.export(NOW)
    assert found == (
        "logs-20261102T085900Z.log",
        ["2026-11-02T08:59:00Z INFO  runs: kept", "2026-11-02T08:59:00Z ERROR runs: bad"],
    )
    assert LogsModel().export(NOW) is None


def test_a_job_s_log_shows_only_what_was_read_and_grows_from_the_offset() -> None:
    model = filled()
    model.show_job("r1")
    assert model.snapshot().note == "no job.log for run r1 yet"
    model.take_job_lines("r1", ["a", "b"], start=0, offset=4)
    model.take_job_lines("r1", ["c"], start=4, offset=6)
    model.take_job_lines("r1", ["stale"], start=2, offset=9)
    model.take_job_lines("other", ["foreign"], start=0, offset=9)
    assert texts(model) == ["a", "b", "c"]
    assert (model.snapshot().source, model.snapshot().run_id, model.job_offset) == (LogSource.JOB, "r1", 6)


def test_a_job_s_log_that_became_shorter_is_read_from_its_start_again() -> None:
    model = LogsModel()
    model.show_job("r1")
    model.take_job_lines("r1", ["old"], start=0, offset=100)
    model.take_job_lines("r1", ["new"], start=0, offset=4)
    assert texts(model) == ["new"]


def test_a_job_s_log_has_no_levels_and_is_exported_under_its_run() -> None:
    model = LogsModel()
    model.show_job("r1")
    model.take_job_lines("r1", ["a"], start=0, offset=2)
    press(model, "f")
    assert model.snapshot().level == "INFO"
    assert model.export(NOW) == ("logs-job-r1-20261102T085900Z.log", ["a"])
    model.show_own()
    assert model.snapshot().source is LogSource.OWN


def test_another_key_is_not_the_logs_own() -> None:
    assert not LogsModel().on_key("x")


def searched(model: LogsModel, text: str) -> SearchShown:
    model.begin_search()
    assert model.search_input is not None
    for char in text:
        model.search_input.on_key(char)
        model.search_typed()
    found = model.snapshot().search
    assert found is not None
    return found


def test_a_search_shows_the_newest_match_and_stays_there_while_lines_come() -> None:
    model = LogsModel()
    for number in range(60):
        model.add(entry("an error" if number in (5, 20) else "fine"))
    found = searched(model, "error")
    assert (found.at, found.total) == (2, 2)
    assert found.row is not None
    shown = model.snapshot()
    assert shown.rows[found.row].text.startswith("an error")
    assert shown.newer > 0
    model.add(entry("an error"))
    later = model.snapshot()
    assert later.search is not None
    assert (later.search.at, later.search.total, later.rows) == (2, 3, shown.rows)
    model.end_search(is_kept=True)
    model.step_search(1)
    assert model.snapshot().newer == 0
    model.on_key("G")
    assert not model.is_pinned


def test_a_match_in_view_does_not_move_the_view() -> None:
    model = LogsModel()
    for number in range(60):
        model.add(entry(f"line {number}"))
    before = model.snapshot().rows
    assert searched(model, "line 58").row is not None
    assert model.snapshot().rows == before


def test_another_level_or_source_is_searched_anew() -> None:
    model = LogsModel()
    model.add(entry("an error"))
    assert searched(model, "error").at == 1
    model.end_search(is_kept=True)
    model.on_key("f")
    found = model.snapshot().search
    assert found is not None
    assert (found.at, found.row) == (0, None)
    model.show_job("r1")
    model.take_job_lines("r1", ["ERROR here", "fine"], start=0, offset=20)
    model.step_search(1)
    found = model.snapshot().search
    assert found is not None
    assert (found.at, found.total, found.row) == (1, 1, 0)
    model.end_search(is_kept=False)
    assert model.snapshot().search is None
