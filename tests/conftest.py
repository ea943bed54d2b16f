"""What every test gets: a clean environment, a fixed clock, and the failure of a missing peer in CI."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting, key or terminal preference of the person who runs the tests reaches them."""
    prefixes = ("OVERBRAINER_", "VAULT_")
    names = {
        "HF_TOKEN",
        "RUNPOD_API_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENROUTER_API_KEY",
        "NO_COLOR",
    }
    for name in list(os.environ):
        if (name.upper().startswith(prefixes) and not name.startswith("OVERBRAINER_TEST_")) or name in names:
            monkeypatch.delenv(name)
    return


@pytest.fixture
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


class FakeClock:
    """A clock that moves only when told; `sleep` moves it at once."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 2, 8, 15, 0, tzinfo=UTC)
        self.seconds = 1000.0

    def now(self) -> datetime:
        """The fixed wall time."""
        return self.moment

    def monotonic(self) -> float:
        """The fixed monotonic time."""
        return self.seconds

    def advance(self, seconds: float) -> None:
        """Move both times forward."""
        self.moment += timedelta(seconds=seconds)
        self.seconds += seconds

    async def sleep(self, seconds: float) -> None:
        """Move forward without waiting."""
        self.advance(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock at 2026-11-02T08:15:00Z."""
    return FakeClock()
