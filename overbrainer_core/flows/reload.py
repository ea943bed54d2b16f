"""How does an open project follow the edits that a person makes in `overbrainer.toml` and `.env` beside it?

A change counts once two looks in a row see the same files, so that a half-written one is never read. A valid change is
in force at once, for what starts from then on; an invalid one is told once and the settings in force stay. A look that
hangs, on a network volume that is gone, holds up neither the event loop nor the exit.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from overbrainer_core.aio.threads import start_abandonable
from overbrainer_core.config.env import Environment
from overbrainer_core.config.reload import Stamp, take_stamp
from overbrainer_core.config.settings import Settings
from overbrainer_core.errors import ConfigError, OverbrainerError, describe
from overbrainer_core.flows.session import Session

_log = logging.getLogger("overbrainer.config")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTiming:
    """Waits of the watch, in seconds: a change is noticed within the sum of the first two."""

    interval_s: float = 1.0
    """Between two looks while nothing changes."""
    settle_s: float = 0.25
    """From the look that sees a change to the one that must see the same, before the files are read."""
    limit_s: float = 10.0
    """How long a look may take before it is told that the files do not answer."""


async def watch_config(
    session: Session,
    *,
    on_reload: Callable[[], None],
    on_problem: Callable[[ConfigError], None],
    is_paused: Callable[[], bool] = lambda: False,
    timing: WatchTiming | None = None,
) -> None:
    """Keep the session's settings those of its files until cancelled.

    Args:
        on_reload: the settings in force are those of the files again: new ones, or, after a problem was told, the
            same as before.
        on_problem: the changed files cannot be used; told once for each broken state of them. The text of its line is
            `problem_line`.
        is_paused: while true nothing is looked at and the result of a look is dropped: a save or an editor has the
            files. Whoever writes them tells the session its own stamp (`Session.use`), which is then no change.
    """
    waits = timing or WatchTiming()
    watch = _Watch(session, on_reload=on_reload, on_problem=on_problem, is_paused=is_paused, limit_s=waits.limit_s)
    try:
        while True:
            await session.clock.sleep(waits.settle_s if watch.is_settling else waits.interval_s)
            if not is_paused():
                await watch.look()
    finally:
        watch.close()


def problem_line(error: ConfigError) -> str:
    """The first problem of files that cannot be used, on one line that names the file."""
    if error.problems:
        return f"overbrainer.toml: {error.problems[0]}"
    return " ".join(describe(error).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What was seen: the files' stamp and, where they were read, what they give or why they cannot be used."""

    stamp: Stamp
    read: tuple[Environment, Settings] | None = None
    problem: ConfigError | None = None


def _look(session: Session, *, seen: Stamp | None, refused: Stamp | None) -> _Look:
    """Look at the files, and read them when they changed and `seen`, the look before, saw the same state."""
    stamp = take_stamp(session.paths)
    if stamp in (session.stamp, refused) or stamp != seen:
        return _Look(stamp=stamp)
    try:
        return _Look(stamp=stamp, read=session.read_settings())
    except ConfigError as error:
        return _Look(stamp=stamp, problem=error.with_traceback(None))  # its frames hold the text of the files
    except OverbrainerError as error:
        return _Look(stamp=stamp, problem=ConfigError(describe(error)))


class _Watch:
    """What the watch remembers from look to look; one look at a time."""

    def __init__(
        self,
        session: Session,
        *,
        on_reload: Callable[[], None],
        on_problem: Callable[[ConfigError], None],
        is_paused: Callable[[], bool],
        limit_s: float,
    ) -> None:
        self._session = session
        self._on_reload = on_reload
        self._on_problem = on_problem
        self._is_paused = is_paused
        self._limit_s = limit_s
        self._pending: asyncio.Future[_Look] | None = None
        self._began_with = session.stamp
        self._seen: Stamp | None = None
        self._refused: Stamp | None = None
        self._is_slow = False

    @property
    def is_settling(self) -> bool:
        """Whether a change was seen that the next look may confirm."""
        return self._seen is not None

    def close(self) -> None:
        """Stop caring about a look that has not come back."""
        if self._pending is not None:
            self._pending.cancel()

    async def look(self) -> None:
        """Begin a look, or wait again for the one that has not come back, and act on what it saw."""
        if self._pending is None:
            self._began_with = self._session.stamp
            work = partial(_look, self._session, seen=self._seen, refused=self._refused)
            self._pending = start_abandonable(work, name="watch_config")
        await asyncio.wait((self._pending,), timeout=self._limit_s)
        self._tell_pace(is_slow=not self._pending.done())
        if self._pending.done():
            look = self._pending.result()
            self._pending = None
            # a save, an editor or a stage was faster: what was seen is older than what is in force
            if not self._is_paused() and self._session.stamp == self._began_with:
                self._act(look)

    def _tell_pace(self, *, is_slow: bool) -> None:
        if is_slow and not self._is_slow:
            _log.warning("overbrainer.toml and .env do not answer: changes in them are not seen meanwhile")
        elif self._is_slow and not is_slow:
            _log.info("overbrainer.toml and .env answer again")
        self._is_slow = is_slow

    def _act(self, look: _Look) -> None:
        self._seen = None
        if look.read is not None:
            self._reload(look.stamp, *look.read)
        elif look.problem is not None:
            self._refused = look.stamp
            self._on_problem(look.problem)
        elif look.stamp == self._session.stamp:
            was_refused, self._refused = self._refused is not None, None
            if was_refused:
                self._on_reload()
        elif look.stamp != self._refused:
            self._seen = look.stamp

    def _reload(self, stamp: Stamp, environment: Environment, settings: Settings) -> None:
        self._refused = None
        self._session.use(stamp, environment, settings)
        for warning in environment.warnings:
            _log.warning("%s", warning)
        self._on_reload()
