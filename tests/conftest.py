"""What every test gets: a clean environment, a fixed clock, and the failure of a missing peer in CI."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

# NumPy's matrix threads wait busily for one another: beside other work on the same cores a test of
# the tiny trainer then takes many times as long. Read when NumPy is loaded, which is after this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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


PEERS_REQUIRED = os.environ.get("OVERBRAINER_TEST_PEERS") == "required"
"""Set in CI: a peer that is not there is a failure, never a skip."""


PEERS_ABSENT = os.environ.get("OVERBRAINER_TEST_PEERS") == "none"
"""Set where a machine with nothing but Python is played: no peer is looked for, nothing long is run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs more than pip, where that is asked for."""
    if PEERS_ABSENT:
        for item in items:
            if item.get_closest_marker("peer") or item.get_closest_marker("slow") or "ssh" in item.path.name:
                item.add_marker(pytest.mark.skip(reason="no peers here"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a missing peer into a failure where peers are required."""
    report = yield
    if PEERS_REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "this system has no" not in reason:
            report.outcome = "failed"
            report.longrepr = f"a peer is required here: {reason}"
    return report


@pytest.fixture
def no_leftover_processes() -> Iterator[None]:
    """Fail a test that leaves a child process of its own behind."""
    before = children()
    yield
    left = children() - before
    assert not left, f"processes left behind: {sorted(left)}"


def children() -> set[int]:
    """Process IDs of this process's children, where the system tells them."""
    listing = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return {int(pid) for pid in listing.read_text().split()} if listing.exists() else set()
