"""What is an open project: its lock, settings, environment, listeners and waits?

Both front ends open one `Session` for as long as they work on a project. Opening order: project lock (writers
only), environment with `.env`, settings, metrics endpoint. A project that cannot be opened leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from overbrainer_core import __version__
from overbrainer_core.clock import Clock, SystemClock
from overbrainer_core.config.env import Environment, read_environment
from overbrainer_core.config.load import load_settings
from overbrainer_core.config.reload import Stamp, take_stamp
from overbrainer_core.config.settings import Settings
from overbrainer_core.events.bus import EventBus, Observer
from overbrainer_core.history import read_history
from overbrainer_core.project.format import check_writable
from overbrainer_core.project.lock import acquire_lock
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.training.phases import PhaseTracker


@dataclass(slots=True, kw_only=True)
class Session:
    """One open project; `environment`, `settings` and `stamp` are replaced together.

    `start_environment` is the environment the program started with, which a reload of `.env` needs; without it, the
    one the session begins with.
    """

    paths: ProjectPaths
    environment: Environment
    settings: Settings
    stamp: Stamp
    process_env: Mapping[str, str] = field(repr=False)
    clock: Clock = field(default_factory=SystemClock)
    observers: tuple[Observer, ...] = ()
    bus_observers: tuple[Callable[[], Observer], ...] = ()
    timing: RunTiming = field(default_factory=RunTiming)
    is_locked: bool = False
    start_environment: Environment | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """The session begins with the environment of the start unless told otherwise."""
        if self.start_environment is None:
            self.start_environment = self.environment

    def new_bus(self, *more: Observer) -> EventBus:
        """A bus for one piece of work, seen by the session's observers, by new ones of its own, and by these."""
        return EventBus((*self.observers, *(observer() for observer in self.bus_observers), *more))

    def read_settings(self) -> tuple[Environment, Settings]:
        """The environment and the settings as the files give them now; changes nothing, so any thread may ask.

        Raises:
            ConfigError: the files cannot be used.
        """
        environment = read_environment(self.paths, self.process_env, at_start=self.start_environment)
        return environment, load_settings(self.paths, environment)

    def use(self, stamp: Stamp, environment: Environment, settings: Settings) -> None:
        """Work with these settings from now on; `stamp` was taken before they were read, or by who wrote them."""
        self.environment, self.settings, self.stamp = environment, settings, stamp

    def reload_if_changed(self) -> bool:
        """Read the settings again when `overbrainer.toml` or `.env` changed; whether they were.

        Raises:
            ConfigError: the changed files cannot be used; the settings in force stay.
        """
        stamp = take_stamp(self.paths)
        if stamp == self.stamp:
            return False
        self.use(stamp, *self.read_settings())
        return True


@asynccontextmanager
async def open_session(
    root: Path,
    *,
    process_env: Mapping[str, str],
    lock: bool = True,
    observers: Sequence[Observer] = (),
    clock: Clock | None = None,
    timing: RunTiming | None = None,
) -> AsyncIterator[Session]:
    """Open the project in `root` until the block ends.

    The lock is taken only where `overbrainer.toml` is a file, so that nothing is created outside a project.

    Raises:
        LockedError: another process writes to the project.
        ConfigError: the settings or the `.env` file cannot be used, or the project's format is newer.
        UnsafePathError: a link stands in the place of a state file.
    """
    paths = ProjectPaths(root)
    held = acquire_lock(paths) if lock and paths.config.is_file() else None
    try:
        stamp = take_stamp(paths)
        environment = read_environment(paths, process_env)
        settings = load_settings(paths, environment)
        if held is not None:
            check_writable(paths)
        async with _metrics(paths, settings if held is not None else None) as bus_observers:
            yield Session(
                paths=paths,
                environment=environment,
                settings=settings,
                stamp=stamp,
                process_env=process_env,
                clock=clock or SystemClock(),
                observers=tuple(observers),
                bus_observers=bus_observers,
                timing=timing or RunTiming(),
                is_locked=held is not None,
            )
    finally:
        if held is not None:
            held.release()


@asynccontextmanager
async def _metrics(paths: ProjectPaths, settings: Settings | None) -> AsyncIterator[tuple[Callable[[], Observer], ...]]:
    """Serve the metrics where `[metrics] listen` says so; who observes each bus for them."""
    listen = settings.tables["metrics"]["listen"] if settings is not None else None
    if listen is None:
        yield ()
        return
    # prometheus_client is loaded only where metrics are served
    from overbrainer_core.prometheus.exposition import exposition
    from overbrainer_core.prometheus.families import MetricFamilies
    from overbrainer_core.prometheus.server import serving_metrics

    families = MetricFamilies(version=__version__, phase_reader=PhaseTracker)
    families.seed(read_history(paths))
    async with serving_metrics(listen, lambda: exposition(families.collect())) as address:
        yield (families.bus_observer,) if address is not None else ()
