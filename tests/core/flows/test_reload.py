"""An edit of a configuration file beside an open project: noticed, told, applied, and never in the way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overbrainer_core.config.reload import take_stamp
from overbrainer_core.errors import ConfigError, Problem
from overbrainer_core.flows import reload
from overbrainer_core.flows.reload import WatchTiming, problem_line, watch_config
from overbrainer_core.flows.session import Session, open_session

CONFIG = """\
[project]
name = "watched"

[providers.here]
protocol = "openai"

[roles]
generator = { provider = "here", model = "small" }
parent = { provider = "here", model = "big" }

[pipeline]
concurrency = 2
"""


class StepClock:
    """A clock whose sleeper goes on when the test says so; keeps how long it would have slept."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._sleeping = asyncio.Event()
        self._go = asyncio.Event()

    def now(self) -> datetime:
        """A fixed moment."""
        return datetime(2026, 11, 2, 8, 15, tzinfo=UTC)

    def monotonic(self) -> float:
        """The seconds slept so far."""
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        """Wait for the test."""
        self.slept.append(seconds)
        self._sleeping.set()
        await self._go.wait()
        self._go.clear()

    async def step(self) -> None:
        """Let the sleeper go on, until it sleeps again."""
        await self._sleeping.wait()
        self._sleeping.clear()
        self._go.set()
        await self._sleeping.wait()


class Watched:
    """A session that is watched, and what the watch told."""

    def __init__(self, session: Session, clock: StepClock) -> None:
        self.session = session
        self.clock = clock
        self.reloads = 0
        self.problems: list[str] = []
        self.is_paused = False
        self.timing = WatchTiming()

    async def watch(self) -> None:
        """Watch until cancelled."""
        await watch_config(
            self.session,
            on_reload=self._on_reload,
            on_problem=lambda error: self.problems.append(problem_line(error)),
            is_paused=lambda: self.is_paused,
            timing=self.timing,
        )

    def _on_reload(self) -> None:
        self.reloads += 1

    async def looks(self, count: int = 2) -> None:
        """Let the watch look so many times."""
        for _ in range(count):
            await self.clock.step()

    @property
    def config(self) -> Path:
        """`overbrainer.toml`."""
        return self.session.paths.config

    def write(self, old: str, new: str) -> None:
        """Replace a text in `overbrainer.toml`."""
        self.config.write_text(self.config.read_text().replace(old, new))


@contextlib.asynccontextmanager
async def watching(root: Path, timing: WatchTiming | None = None, **variables: str) -> AsyncIterator[Watched]:
    """A project that is open and watched."""
    clock = StepClock()
    async with open_session(root, process_env=variables, lock=False, clock=clock) as session:
        watched = Watched(session, clock)
        watched.timing = timing or watched.timing
        task = asyncio.ensure_future(watched.watch())
        try:
            yield watched
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project."""
    (tmp_path / "overbrainer.toml").write_text(CONFIG)
    return tmp_path


async def test_nothing_is_told_while_nothing_changes(root: Path) -> None:
    async with watching(root) as watched:
        before = watched.session.settings
        await watched.looks(5)
        assert (watched.reloads, watched.problems) == (0, [])
        assert watched.session.settings is before


async def test_a_valid_change_is_in_force_within_two_seconds(root: Path) -> None:
    async with watching(root) as watched:
        await watched.looks(1)
        watched.write("concurrency = 2", "concurrency = 7")
        begun = watched.clock.monotonic() - watched.clock.slept[-1]
        while not watched.reloads:
            await watched.looks(1)
        assert watched.session.settings.pipeline.concurrency == 7
        assert watched.session.stamp == take_stamp(watched.session.paths)
        assert watched.clock.monotonic() - watched.clock.slept[-1] - begun < 2
        await watched.looks(4)
        assert watched.reloads == 1


async def test_a_half_written_file_is_never_read(root: Path) -> None:
    async with watching(root) as watched:
        text = watched.config.read_text()
        watched.config.write_text(text[:40])
        await watched.looks(1)
        watched.config.write_text(text.replace("concurrency = 2", "concurrency = 12"))
        await watched.looks(2)
        assert watched.problems == []
        assert watched.session.settings.pipeline.concurrency == 12


async def test_an_invalid_change_is_told_once_and_the_settings_stay(root: Path) -> None:
    async with watching(root) as watched:
        before = watched.session.settings
        watched.write("concurrency = 2", "concurrency = 0")
        await watched.looks(6)
        assert watched.problems == ["overbrainer.toml: pipeline.concurrency: must be at least 1"]
        assert watched.session.settings is before
        watched.write("concurrency = 0", "concurrency = 4000")
        await watched.looks(6)
        assert len(watched.problems) == 2
        watched.write("concurrency = 4000", "concurrency = 4")
        await watched.looks(2)
        assert watched.reloads == 1
        assert watched.session.settings.pipeline.concurrency == 4


async def test_a_problem_is_over_when_the_files_are_as_before(root: Path) -> None:
    async with watching(root) as watched:
        kept = root / "kept"
        watched.config.rename(kept)
        await watched.looks(3)
        assert len(watched.problems) == 1
        assert watched.problems[0].startswith("cannot read ")
        kept.rename(watched.config)
        await watched.looks(2)
        assert watched.reloads == 1
        await watched.looks(2)
        assert watched.reloads == 1


async def test_a_broken_env_file_is_told_by_its_line_only(root: Path) -> None:
    async with watching(root) as watched:
        (root / ".env").write_text("A=1\nOVERBRAINER_HF_TOKEN=hunter2 two words\n")
        await watched.looks()
        assert watched.problems == ["cannot parse .env (syntax error at line 2)"]


async def test_keys_of_the_env_file_change_go_and_come_and_the_shell_wins(root: Path) -> None:
    (root / ".env").write_text("OVERBRAINER_PIPELINE__SEED=1\nOVERBRAINER_PIPELINE__MAX_RETRIES=1\nHERE=start\n")
    async with watching(root, OVERBRAINER_PIPELINE__CONCURRENCY="9") as watched:
        assert watched.session.settings.pipeline.seed == 1
        (root / ".env").write_text(
            "OVERBRAINER_PIPELINE__MAX_RETRIES=3\nOVERBRAINER_PIPELINE__CONCURRENCY=1\nHERE=now\nSEEN=${HERE}\n"
        )
        await watched.looks()
        pipeline = watched.session.settings.pipeline
        assert (pipeline.seed, pipeline.max_retries, pipeline.concurrency) == (42, 3, 9)
        assert watched.session.environment.get("SEEN") == "start"
        assert watched.session.environment.get("HERE") == "now"


async def test_every_reload_expands_with_the_environment_of_the_start(root: Path) -> None:
    (root / ".env").write_text("HERE=start\n")
    async with watching(root) as watched:
        for count, value in enumerate(("second", "third"), start=1):
            (root / ".env").write_text(f"HERE={value}\nSEEN=${{HERE}}\n")
            await watched.looks()
            assert watched.reloads == count
            assert watched.session.environment.get("SEEN") == "start"


async def test_a_variable_that_is_not_set_is_a_warning(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with watching(root) as watched:
        (root / ".env").write_text("A=${NOPE}\n")
        with caplog.at_level(logging.WARNING, logger="overbrainer.config"):
            await watched.looks()
        assert caplog.messages == [".env line 1: ${NOPE} is not set and expands to nothing"]


async def test_nothing_is_looked_at_while_paused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(root) as watched:
        watched.is_paused = True
        watched.write("concurrency = 2", "concurrency = 7")
        await watched.looks(3)
        assert watched.session.settings.pipeline.concurrency == 2
        watched.is_paused = False
        await watched.looks(2)
        assert watched.session.settings.pipeline.concurrency == 7


async def test_a_write_of_the_program_itself_is_no_reload(root: Path) -> None:
    async with watching(root) as watched:
        watched.write("concurrency = 2", "concurrency = 7")
        session = watched.session
        session.use(take_stamp(session.paths), *session.read_settings())
        await watched.looks(3)
        assert watched.reloads == 0


class HangingLook:
    """A look that does not come back until told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.goes_on = threading.Event()
        self.began = 0
        self._take = take_stamp
        monkeypatch.setattr(reload, "take_stamp", self)

    def __call__(self, paths: object) -> object:
        """Take the stamp now, hand it over late."""
        self.began += 1
        stamp = self._take(paths)  # type: ignore[arg-type]
        self.goes_on.wait(15)
        return stamp


SHORT = WatchTiming(limit_s=0.01)


async def test_a_look_that_hangs_blocks_nothing_and_is_told_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hanging = HangingLook(monkeypatch)
    caplog.set_level(logging.INFO, logger="overbrainer.config")
    async with watching(root, SHORT) as watched:
        watched.write("concurrency = 2", "concurrency = 7")
        await watched.looks(4)
        assert hanging.began == 1
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        hanging.goes_on.set()
        await eventually(watched, lambda: watched.reloads == 1)
        assert watched.session.settings.pipeline.concurrency == 7
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def eventually(watched: Watched, holds: Callable[[], bool]) -> None:
    """Let the watch look until it holds."""
    for _ in range(200):
        await watched.looks(1)
        if holds():
            return
    raise AssertionError("it never held")


async def test_the_watch_ends_while_a_look_hangs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = HangingLook(monkeypatch)
    async with watching(root, SHORT) as watched:
        await watched.looks(2)
        assert hanging.began == 1
    assert not hanging.goes_on.is_set()
    hanging.goes_on.set()


@pytest.mark.parametrize("how", ["paused", "saved"])
async def test_a_look_that_a_save_overtook_is_dropped(root: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    async with watching(root, SHORT) as watched:
        watched.write("concurrency = 2", "concurrency = 7")
        await watched.looks(1)
        hanging = HangingLook(monkeypatch)
        await watched.looks(1)
        assert hanging.began == 1
        session = watched.session
        watched.write("concurrency = 7", "concurrency = 8")
        if how == "paused":
            watched.is_paused = True
        else:
            session.use(take_stamp(session.paths), *session.read_settings())
        hanging.goes_on.set()
        await watched.looks(5)
        assert session.settings.pipeline.concurrency == (2 if how == "paused" else 8)
        assert watched.reloads == 0


async def test_a_change_within_a_coarse_second_is_seen(root: Path) -> None:
    second = 1_700_000_000 * 10**9
    os.utime(root / "overbrainer.toml", ns=(second, second))
    async with watching(root) as watched:
        watched.write("concurrency = 2", "concurrency = 7")
        os.utime(watched.config, ns=(second, second))
        await watched.looks()
        assert watched.session.settings.pipeline.concurrency == 7


async def test_a_fifo_in_the_place_of_a_file_hangs_nothing(root: Path) -> None:
    async with watching(root) as watched:
        os.mkfifo(root / ".env")
        await watched.looks(3)
        assert watched.problems == ["cannot read .env: it is not a regular file"]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConfigError("cannot parse .env (syntax error at line 4)"), "cannot parse .env (syntax error at line 4)"),
        (
            ConfigError("invalid", problems=[Problem("a.b", "must be text"), Problem("c", "missing")]),
            "overbrainer.toml: a.b: must be text",
        ),
        (ConfigError("two\n  lines"), "two lines"),
    ],
)
def test_a_problem_is_one_line(error: ConfigError, line: str) -> None:
    assert problem_line(error) == line
