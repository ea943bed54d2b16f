"""Which log lines are shown? Our own by level, or the selected run's `job.log`; following the newest, or pinned.

Scrolled back, the view is pinned on the line then at its bottom: new lines do not move it. A pinned line that the
bounded buffer dropped counts as the oldest. The view never scrolls past the oldest line. A line that is looked for is
scrolled into view and pinned there.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace
from datetime import datetime

from overbrainer_core.clock import rfc3339
from overbrainer_core.log_setup import BUFFER_LINES, TRACE, LogEntry, level_word
from overbrainer_core.text import cell_width
from overbrainer_tui.view_models.input import OneLineInput
from overbrainer_tui.view_models.log_search import LogSearch
from overbrainer_tui.view_models.snapshots import LogRow, LogSource, LogsShown, SearchShown, log_rows

LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, TRACE)
"""The order in which `f` goes through the levels."""

PAGE = 10
"""Lines of a page."""

SHIFT = 8
"""Cells that one key shifts the lines by."""


class _Scroll:
    """Which line is at the bottom: the newest, or the one with the pinned number."""

    def __init__(self) -> None:
        self.pinned: int | None = None

    def back(self, numbers: list[int], lines: int, rows: int) -> None:
        """Scroll back and pin."""
        if len(numbers) > rows:
            self.pinned = numbers[max(rows - 1, self.bottom(numbers, rows) - lines)]

    def forward(self, numbers: list[int], lines: int, rows: int) -> None:
        """Scroll forward; nothing while following; the bottom stays pinned."""
        if self.pinned is not None and numbers:
            self.pinned = numbers[min(len(numbers) - 1, self.bottom(numbers, rows) + lines)]

    def reveal(self, numbers: list[int], number: int, rows: int) -> None:
        """Pin the view where it is, or, when the line is not in it, with the line in its middle."""
        index, bottom = _index_of(numbers, number), self.bottom(numbers, rows)
        if not bottom - rows < index <= bottom:
            bottom = min(len(numbers) - 1, max(rows - 1, index + rows // 2))
        self.pinned = numbers[bottom]

    def bottom(self, numbers: list[int], rows: int) -> int:
        """The index of the line at the bottom, -1 without lines."""
        last = len(numbers) - 1
        if self.pinned is None or last < 0:
            return last
        index = _index_of(numbers, self.pinned)
        return min(last, max(index, rows - 1))


def _index_of(numbers: list[int], number: int) -> int:
    """The index of the last number not above `number`, 0 when all are above."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return max(0, low - 1)


class LogsModel:
    """The Logs view's state."""

    def __init__(self) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=BUFFER_LINES)
        self._count = 0
        self._level = logging.INFO
        self._visible: list[LogEntry] | None = None
        self._scroll = _Scroll()
        self._rows = log_rows(24)
        self._shift = 0
        self._is_captured_below_info = False
        self.source = LogSource.OWN
        self.job_run: str | None = None
        self.job_offset = 0
        self._job: deque[tuple[int, str]] = deque(maxlen=BUFFER_LINES)
        self._job_count = 0
        self._job_note = ""
        self._search = LogSearch()

    def add(self, entry: LogEntry) -> None:
        """A line was logged; it gets a number of the view's own."""
        self._entries.append(replace(entry, number=self._count))
        self._count += 1
        self._is_captured_below_info = self._is_captured_below_info or entry.level < logging.INFO
        self._visible = None
        self._search.outdate()

    def resize(self, height: int) -> None:
        """The terminal has `height` rows."""
        self._rows = log_rows(height)

    # Keys

    def on_key(self, key: str) -> bool:
        """Scroll, shift, change the level; False when the key is none of these."""
        numbers = self._numbers()
        match key:
            case "k" | "up":
                self._scroll.back(numbers, 1, self._rows)
            case "pageup":
                self._scroll.back(numbers, PAGE, self._rows)
            case "home":
                self._scroll.back(numbers, len(numbers), self._rows)
            case "j" | "down":
                self._scroll.forward(numbers, 1, self._rows)
            case "pagedown":
                self._scroll.forward(numbers, PAGE, self._rows)
            case "G" | "end":
                self._scroll.pinned = None
            case "l" | "right":
                self._shift = min(self._shift + SHIFT, self._longest() // SHIFT * SHIFT)
            case "h" | "left":
                self._shift = max(0, self._shift - SHIFT)
            case "f":
                self._next_level()
            case _:
                return False
        return True

    def _next_level(self) -> None:
        if self.source is LogSource.OWN:
            self._level = LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)]
            self._visible = None
            self._show_others()

    def _show_others(self) -> None:
        """Other lines are shown from here on: from the newest, unshifted, what was found in the former forgotten."""
        self._scroll.pinned = None
        self._shift = 0
        self._search.forget()

    def show_job(self, run_id: str) -> None:
        """Show the `job.log` of a run; its lines are read next."""
        if run_id != self.job_run:
            self.job_run, self.job_offset, self._job_note = run_id, 0, ""
            self._job.clear()
        self.source = LogSource.JOB
        self._show_others()

    def show_own(self) -> None:
        """Show our own lines."""
        self.source = LogSource.OWN
        self._show_others()

    def take_job_lines(self, run_id: str, lines: list[str], *, start: int, offset: int, note: str = "") -> None:
        """Whole lines read from `start`, up to `offset`; from 0 again when the file was found shorter."""
        if run_id != self.job_run or start not in (0, self.job_offset):
            return
        if start == 0:
            self._job.clear()
        self.job_offset = offset
        self._job_note = note
        for line in lines:
            self._job.append((self._job_count, line))
            self._job_count += 1
        self._search.outdate()

    @property
    def is_pinned(self) -> bool:
        """Whether the view is scrolled back."""
        return self._scroll.pinned is not None

    # Searching

    @property
    def is_searching(self) -> bool:
        """Whether a text is looked for."""
        return bool(self._search.pattern)

    @property
    def search_input(self) -> OneLineInput | None:
        """The line in which a search is typed, None while none is."""
        return self._search.input

    def begin_search(self) -> None:
        """Type what to look for."""
        self._search.begin()

    def end_search(self, *, is_kept: bool) -> None:
        """The search was typed: go on with it, or look for nothing any more."""
        if is_kept:
            self._search.keep()
        else:
            self._search.clear()

    def search_typed(self) -> None:
        """Another text was typed: show the newest line that holds it."""
        self._search.typed()
        if self._search.current is None:
            numbers = self._numbers()
            bottom = self._scroll.bottom(numbers, self._rows)
            self._reveal(self._search.nearest(self._lines(), numbers[bottom] if numbers else 0))

    def step_search(self, by: int) -> None:
        """Show the next newer (1) or older (-1) line that holds it."""
        numbers = self._numbers()
        bottom = self._scroll.bottom(numbers, self._rows)
        self._reveal(self._search.step(self._lines(), by, numbers[bottom] if numbers else 0))

    def _reveal(self, number: int | None) -> None:
        if number is not None:
            self._scroll.reveal(self._numbers(), number, self._rows)

    def _lines(self) -> list[tuple[int, str]]:
        if self.source is LogSource.OWN:
            return [(entry.number, entry.text) for entry in self._own()]
        return list(self._job)

    def _search_shown(self, numbers: list[int]) -> SearchShown | None:
        search = self._search
        if search.input is None and not search.pattern:
            return None
        at, total = search.position(self._lines())
        row = numbers.index(search.current) if search.current in numbers else None
        typed = (search.input.text, search.input.cursor) if search.input is not None else None
        return SearchShown(text=search.pattern, typed=typed, at=at, total=total, row=row)

    # Lines

    def _own(self) -> list[LogEntry]:
        if self._visible is None:
            self._visible = [entry for entry in self._entries if entry.level >= self._level]
        return self._visible

    def _numbers(self) -> list[int]:
        if self.source is LogSource.OWN:
            return [entry.number for entry in self._own()]
        return [number for number, _ in self._job]

    def _longest(self) -> int:
        return max((cell_width(row.text) for row in self.snapshot().rows), default=0)

    def export(self, now: datetime) -> tuple[str, list[str]] | None:
        """The file name and every retained line at the level shown, oldest first; None when there is none."""
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        if self.source is LogSource.JOB:
            lines = [text for _, text in self._job]
            name = f"logs-job-{self.job_run}-{stamp}.log"
        else:
            lines = [f"{rfc3339(e.time)} {level_word(e.level):<5} {e.area}: {e.text}" for e in self._own()]
            name = f"logs-{stamp}.log"
        return (name, lines) if lines else None

    def snapshot(self) -> LogsShown:
        """What the view draws."""
        numbers = self._numbers()
        bottom = self._scroll.bottom(numbers, self._rows)
        top = max(0, bottom + 1 - self._rows)
        if self.source is LogSource.OWN:
            shown = self._own()[top : bottom + 1]
            rows = tuple(LogRow(text=e.text, time=e.time, level=level_word(e.level), area=e.area) for e in shown)
        else:
            rows = tuple(LogRow(text=text) for _, text in list(self._job)[top : bottom + 1])
        return LogsShown(
            source=self.source,
            run_id=self.job_run if self.source is LogSource.JOB else None,
            level=level_word(self._level),
            rows=rows,
            newer=len(numbers) - 1 - bottom,
            is_pinned=self.is_pinned,
            shift=self._shift,
            search=self._search_shown(numbers[top : bottom + 1]),
            note=self._note(bool(rows)),
        )

    def _note(self, has_rows: bool) -> str:
        if self.source is LogSource.JOB:
            return "" if has_rows else self._job_note or f"no job.log for run {self.job_run} yet"
        if self._level < logging.INFO and not self._is_captured_below_info:
            return "OVERBRAINER_LOG decides what is captured: set it to debug or trace before the start"
        return "" if has_rows else "nothing logged at this level yet"
