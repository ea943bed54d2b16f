"""Log lines: their form, what is captured, and what the full-screen app keeps."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from overbrainer_core import log_setup
from overbrainer_core.log_setup import OFF, TRACE, LineFormatter, LogEntry, log_to_buffer, log_to_stderr, parse_filter


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    for handler in list(root.handlers):
        if handler not in handlers:
            root.removeHandler(handler)
    root.setLevel(level)
    for name in log_setup._changed:
        logging.getLogger(name).setLevel(logging.NOTSET)
    log_setup._changed.clear()


def record_of(message: str, *, level: int = logging.INFO, error: BaseException | None = None) -> logging.LogRecord:
    info = (type(error), error, None) if error is not None else None
    record = logging.LogRecord("overbrainer.runs", level, "", 0, message, (), info)
    record.created = datetime(2026, 10, 6, 10, 0, 2, 104233, UTC).timestamp()
    return record


def test_a_line_has_the_time_to_microseconds_the_level_aligned_right_and_no_module() -> None:
    line = LineFormatter().format(record_of("train: job running"))
    assert line == "2026-10-06T10:00:02.104233Z  INFO train: job running"


def test_a_line_shows_control_characters_and_the_error_s_own_words() -> None:
    line = LineFormatter().format(record_of("a\x1b[31m\nb", level=logging.ERROR, error=OSError(2, "No such file")))
    assert line.endswith(" ERROR a\\u{1b}[31m\\nb: No such file")


def test_colour_is_only_written_when_asked_for() -> None:
    assert "\x1b" not in LineFormatter().format(record_of("x"))
    assert "\x1b[32m INFO\x1b[0m" in LineFormatter(color=True).format(record_of("x"))


@pytest.mark.parametrize("text", [None, "", "  ", "loud", "overbrainer=loud", "=debug", "debug,,"])
def test_a_filter_that_is_unset_or_wrong_is_the_default(text: str | None) -> None:
    assert parse_filter(text) == {"": logging.WARNING, "overbrainer": logging.INFO}


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("debug", {"": logging.DEBUG}),
        ("off", {"": OFF}),
        ("overbrainer=trace", {"": logging.WARNING, "overbrainer": TRACE}),
        ("warn, overbrainer::llm = DEBUG", {"": logging.WARNING, "overbrainer.llm": logging.DEBUG}),
    ],
)
def test_a_filter_names_levels_by_logger(text: str, levels: dict[str, int]) -> None:
    assert parse_filter(text) == levels


def test_standard_error_gets_our_info_lines_and_only_warnings_of_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    log_to_stderr(None)
    logging.getLogger("overbrainer.llm").info("asked")
    logging.getLogger("overbrainer.llm").debug("details")
    logging.getLogger("httpx").info("request")
    logging.getLogger("httpx").warning("slow")
    assert [line.split(maxsplit=1)[1] for line in stream.getvalue().splitlines()] == ["INFO asked", "WARN slow"]


def test_a_second_set_up_takes_the_place_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    log_to_stderr("overbrainer.runs=debug")
    buffer = log_to_buffer("error")
    logging.getLogger("overbrainer.runs").info("quiet")
    logging.getLogger("overbrainer.runs").error("loud")
    assert stream.getvalue() == ""
    assert [entry.text for entry in buffer.entries()] == ["loud"]


def test_a_standard_error_that_cannot_be_written_loses_the_line_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    log_to_stderr(None)
    logging.getLogger("overbrainer.runs").info("nobody hears it")
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    log_to_stderr(None)
    logging.getLogger("overbrainer.runs").info("somebody hears it")
    assert heard.getvalue().endswith("somebody hears it\n")
    assert "nobody" not in heard.getvalue()


def test_the_buffer_keeps_the_newest_lines_and_tells_its_listener() -> None:
    buffer = log_to_buffer("trace", size=3)
    heard: list[LogEntry] = []
    buffer.listener = heard.append
    for number in range(5):
        logging.getLogger("overbrainer.runs").log(TRACE, "line %d", number)
    kept = buffer.entries()
    assert [(entry.number, entry.text, entry.area, entry.level) for entry in kept] == [
        (number, f"line {number}", "runs", TRACE) for number in (2, 3, 4)
    ]
    assert len(heard) == 5


def test_a_record_whose_arguments_do_not_fit_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    buffer = log_to_buffer(None)
    logging.getLogger("overbrainer.runs").warning("%d", "no number")
    assert buffer.entries() == []
