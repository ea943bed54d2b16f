"""What time is it, and how is a moment written down?

All time enters the core through a `Clock`, so that tests move it. Stored times are RFC 3339 UTC to the
second, `2026-09-22T14:30:05Z`, and are read back only in exactly that form.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Protocol

_is_rfc3339 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", re.ASCII).fullmatch


class Clock(Protocol):
    """Wall time, monotonic time and sleeping."""

    def now(self) -> datetime:
        """The wall time, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of this clock's time."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall time, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running event loop."""
        import asyncio  # listings use this module and no event loop

        await asyncio.sleep(seconds)


def rfc3339(moment: datetime) -> str:
    """The moment as `2026-09-22T14:30:05Z`, fractions of a second dropped."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return utc.isoformat(timespec="seconds")[:-6] + "Z"


def parse_rfc3339(text: str) -> datetime:
    """The moment written by `rfc3339`.

    Raises:
        ValueError: the text has another form, or names a date that does not exist.
    """
    if not _is_rfc3339(text):
        raise ValueError("not a UTC time of the form 2026-09-22T14:30:05Z")
    return datetime.fromisoformat(text)
