"""Where do log lines go, in which form, and which of them?

Commands write them to standard error, the full-screen app keeps the newest in memory. `OVERBRAINER_LOG` picks what is
captured, as levels by logger: `debug`, `overbrainer.llm=debug`, `warn,overbrainer=trace`, `off`. Unset or not
understood, it is our own at `info` and libraries at `warn`. A record is one line, its control characters shown.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

from overbrainer_core.errors import describe
from overbrainer_core.text import escape_controls, replace_surrogates

TRACE = 5
"""The level below `DEBUG`."""

OFF = logging.CRITICAL + 10
"""Above every level: nothing is captured."""

BUFFER_LINES = 5000
"""Lines kept in memory, the oldest dropped first."""

OWN = "overbrainer"
"""The name of our loggers' root."""

_LEVELS = {
    "off": OFF,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": TRACE,
}
_DEFAULT = {"": logging.WARNING, OWN: logging.INFO}
_COLORS = {"ERROR": "31", "WARN": "33", "INFO": "32", "DEBUG": "34", "TRACE": "35"}

_changed: set[str] = set()


def parse_filter(text: str | None) -> dict[str, int]:
    """The level of each logger a filter names, '' being every other one; the default when it cannot be read."""
    if text is None or not text.strip():
        return dict(_DEFAULT)
    levels: dict[str, int] = {}
    for part in text.split(","):
        name, has_name, word = part.strip().rpartition("=")
        level = _LEVELS.get(word.strip().lower())
        name = name.strip().replace("::", ".")
        if level is None or (has_name and not name):
            return dict(_DEFAULT)
        levels[name] = level
    levels.setdefault("", logging.WARNING)
    return levels


def level_word(level: int) -> str:
    """`ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`."""
    if level >= logging.ERROR:
        return "ERROR"
    if level >= logging.WARNING:
        return "WARN"
    if level >= logging.INFO:
        return "INFO"
    return "DEBUG" if level >= logging.DEBUG else "TRACE"


def _message(record: logging.LogRecord) -> str:
    """The record's words on one line, its exception told by its text and never by a traceback."""
    text = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        text = f"{text}: {describe(record.exc_info[1])}"
    return escape_controls(replace_surrogates(text))


class LineFormatter(logging.Formatter):
    """`<UTC time, microseconds> <LEVEL, right-aligned to 5> <message>`."""

    def __init__(self, *, color: bool = False) -> None:
        super().__init__()
        self._has_color = color

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        word = level_word(record.levelno)
        shown = f"{word:>5}"
        if self._has_color:
            time, shown = f"\x1b[2m{time}\x1b[0m", f"\x1b[{_COLORS[word]}m{shown}\x1b[0m"
        return f"{time} {shown} {_message(record)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One captured line; `number` grows by one with each, `area` is the logger without our own name."""

    number: int
    time: datetime
    level: int
    area: str
    text: str


class LogBuffer(logging.Handler):
    """Keeps the newest lines; `listener` is called for each from whichever thread logs it."""

    def __init__(self, size: int = BUFFER_LINES) -> None:
        super().__init__()
        self._entries: deque[LogEntry] = deque(maxlen=size)
        self._count = 0
        self.listener: Callable[[LogEntry], None] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        try:
            entry = LogEntry(
                number=self._count,
                time=datetime.fromtimestamp(record.created, UTC),
                level=record.levelno,
                area=record.name.removeprefix(f"{OWN}."),
                text=_message(record),
            )
        except Exception:  # noqa: BLE001  # a log call must never fail its caller
            self.handleError(record)
            return
        self._count += 1
        self._entries.append(entry)
        if self.listener is not None:
            self.listener(entry)

    def entries(self) -> list[LogEntry]:
        """What is kept, oldest first."""
        self.acquire()
        try:
            return list(self._entries)
        finally:
            self.release()


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the standard error of the moment; one that cannot be written loses the line quietly."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self.stream = sys.stderr
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: there is no place left to say it."""


def log_to_stderr(filter_text: str | None, *, color: bool = False) -> logging.Handler:
    """Log to standard error from now on, in the place of what was set before."""
    handler = _StderrHandler()
    handler.setFormatter(LineFormatter(color=color))
    return _install(handler, filter_text)


def log_to_buffer(filter_text: str | None, *, size: int = BUFFER_LINES) -> LogBuffer:
    """Log to memory from now on, in the place of what was set before."""
    buffer = LogBuffer(size)
    _install(buffer, filter_text)
    return buffer


def _install(handler: logging.Handler, filter_text: str | None) -> logging.Handler:
    logging.addLevelName(TRACE, "TRACE")
    root = logging.getLogger()
    for old in [old for old in root.handlers if isinstance(old, LogBuffer | _StderrHandler)]:
        root.removeHandler(old)
    for name in _changed:
        logging.getLogger(name).setLevel(logging.NOTSET)
    _changed.clear()
    for name, level in parse_filter(filter_text).items():
        logging.getLogger(name).setLevel(level)
        if name:
            _changed.add(name)
    root.addHandler(handler)
    return handler
