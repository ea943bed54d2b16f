"""Stored times have one form and are read back in no other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from overbrainer_core.clock import SystemClock, parse_rfc3339, rfc3339


def test_a_moment_is_written_in_utc_to_the_second() -> None:
    moment = datetime(2026, 9, 22, 16, 30, 5, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(moment) == "2026-09-22T14:30:05Z"


def test_what_was_written_is_read_back() -> None:
    assert parse_rfc3339("2026-09-22T14:30:05Z") == datetime(2026, 9, 22, 14, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-09-22T14:30:05",
        "2026-09-22 14:30:05Z",
        "2026-02-30T14:30:05Z",
        "+2026-09-22T14:30:05Z",
        "2026-09-22T14:30:05.0Z",
        "2026-9-22T14:30:05Z",
        "2026-09-22T14:30:05Z\n",
        "",
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"UTC time|out of range|day"):
        parse_rfc3339(text)


async def test_the_system_clock_goes_forward() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0)
    assert clock.monotonic() >= before
    assert clock.now().tzinfo is UTC
