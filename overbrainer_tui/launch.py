"""How is the app started, and what is settled after its screen is gone?

Everything that can refuse does so before a screen is drawn. Work runs in a task group of this module, not in the app:
when the screen is left, or fails, what must end is waited for here, and what is worth saying is said on standard error
once the terminal is given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import locale
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from msgspec.structs import replace

import overbrainer_core
from overbrainer_core.config.env import read_environment
from overbrainer_core.errors import ConfigError, InterruptedByUser, OverbrainerError, describe
from overbrainer_core.events.bus import Observer
from overbrainer_core.events.event_log import EventLog
from overbrainer_core.flows.session import Session, open_session
from overbrainer_core.log_setup import LogBuffer, LogEntry, log_to_buffer
from overbrainer_core.project.format import predates_versions
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunState, load_run
from overbrainer_core.runs.store import run_ids
from overbrainer_tui.engine import Engine, NoScreen
from overbrainer_tui.facts import project_facts
from overbrainer_tui.look import ChosenLook, choose_look, framework_environment
from overbrainer_tui.opening import Opening, open_with
from overbrainer_tui.quit_actions import INTERRUPTED
from overbrainer_tui.state import AppState
from overbrainer_tui.user_settings import load_theme
from overbrainer_tui.view_models.quit import waiting_for

if TYPE_CHECKING:
    from overbrainer_tui.app import OverbrainerApp

_log = logging.getLogger("overbrainer.app")

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


LOADED_S = 2.0
"""Seconds after which the first screen has been drawn."""


class AppOptions(Protocol):
    """What the command line says about the app."""

    directory: Path
    events: str | None
    readonly: bool
    no_color: bool
    environment: dict[str, str]


class ScreenError(OverbrainerError):
    """The app could not draw, or lost its terminal."""


def run_app(options: AppOptions, *, is_demo: bool = False, auto_yes: bool = False) -> int:
    """Open the project in the full-screen app and return the exit code.

    Raises:
        OverbrainerError: the project cannot be opened; nothing was drawn. Or the screen failed (`ScreenError`).
    """
    environment = dict(options.environment)
    if options.no_color:
        environment["NO_COLOR"] = "1"
    theme, trouble = load_theme(environment)
    chosen = choose_look(environment, theme=theme, encoding=locale.getpreferredencoding(do_setlocale=False))
    if trouble is not None:
        chosen = replace(chosen, warnings=(*chosen.warnings, trouble))
    os.environ.update(framework_environment(chosen.look))  # read once, when the framework is imported
    gc.disable()  # what loads now is kept, so that looking for garbage in it finds none
    return asyncio.run(_main(options, chosen, is_demo=is_demo, auto_yes=auto_yes))


async def _main(options: AppOptions, chosen: ChosenLook, *, is_demo: bool, auto_yes: bool) -> int:
    paths = ProjectPaths(options.directory)
    values = read_environment(paths, options.environment).values
    with contextlib.ExitStack() as stack:
        buffer = log_to_buffer(values.get("OVERBRAINER_LOG"))
        stack.callback(logging.getLogger().removeHandler, buffer)
        for warning in chosen.warnings:
            _log.warning("%s", warning)
        observers = stack.enter_context(_event_log(options.events))
        async with open_session(
            options.directory,
            process_env=options.environment,
            lock=not options.readonly,
            observers=observers,
        ) as session:
            state = AppState(
                project_facts(session),
                version=overbrainer_core.__version__,
                is_readonly=options.readonly,
                demo_directory=str(options.directory) if is_demo else None,
            )
            state.theme, state.is_theme_forced = chosen.look.theme, chosen.is_theme_forced
            opening = await asyncio.to_thread(_opening, paths, is_demo=is_demo, auto_yes=auto_yes)
            return await run_session(session, state, chosen, buffer, opening=opening)


def _opening(paths: ProjectPaths, *, is_demo: bool, auto_yes: bool) -> Opening:
    """What the app opens with."""
    if is_demo:
        return _demo_opening(paths, auto_yes=auto_yes)
    return Opening(is_old=predates_versions(paths), running=_newest_running(paths))


RECENT_RUNS = 20
"""Runs, newest first, among which one that still runs is looked for: opening costs the same with a thousand."""


def _newest_running(paths: ProjectPaths) -> str | None:
    """A run that goes on and that nobody follows yet, by its record."""
    try:
        recent = sorted(run_ids(paths), reverse=True)[:RECENT_RUNS]
    except OverbrainerError:
        return None
    for run_id in recent:
        with contextlib.suppress(OverbrainerError):
            if load_run(paths, run_id).state is RunState.RUNNING:
                return run_id
    return None


def _demo_opening(paths: ProjectPaths, *, auto_yes: bool) -> Opening:
    """A demo goes on where it is: with its newest run, or from the stages."""
    from overbrainer_core.flows.demo import Finished, Follow, next_step  # only for a demo

    match next_step(paths):
        case Follow(run_id=run_id):
            return Opening(follow=run_id)
        case Finished(run_id=run_id):
            return Opening(show=run_id)
        case start:
            return Opening(auto=True, is_asked=not auto_yes, resume_from=start.resume_from)


async def run_session(
    session: Session, state: AppState, chosen: ChosenLook, buffer: LogBuffer, *, opening: Opening
) -> int:
    """Run the app on an open session until it is left and its work has ended; the exit code.

    Raises:
        ScreenError: the screen failed.
        InterruptedByUser: a signal ended the app.
    """
    from overbrainer_tui.app import OverbrainerApp  # after the framework's variables are set
    from overbrainer_tui.terminal_driver import TerminalDriver

    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        engine = Engine(state, session, group)
        engine.listen(buffer)
        app = OverbrainerApp(engine, chosen.look, driver_class=TerminalDriver)
        TerminalDriver.on_broken = app.break_off
        TerminalDriver.has_mouse = chosen.has_mouse
        group.create_task(_look_up_repository(state), name="look up the repository")
        asyncio.get_running_loop().call_later(LOADED_S, _keep_loaded)
        with _signals(engine):
            engine.open(lambda state: open_with(state, opening))
            failure = await _show(app)
            if not engine.has_left.is_set():
                await _settle(engine, buffer, sys.stderr)
    for note in state.quit.notes:
        print_line(sys.stderr, note)
    if state.quit.exit_code == INTERRUPTED:
        raise InterruptedByUser("interrupted by signal")
    if failure is not None and not isinstance(failure, EOFError):  # a closed input is a way to quit
        raise ScreenError(f"the screen failed: {_where(failure)}") from None
    return state.quit.exit_code


def _keep_loaded() -> None:
    """Everything that the app needs is there: the search for garbage starts, and leaves it out from now on."""
    gc.freeze()
    gc.enable()


async def _show(app: OverbrainerApp) -> BaseException | None:
    """Run the app until it is left; the failure that ended its screen, if one did."""
    try:
        await app.run_async(mouse=False)
    except Exception as error:  # noqa: BLE001  # the screen's root: the work goes on without it
        return app.failure or error
    return app.failure


async def _settle(engine: Engine, buffer: LogBuffer, stream: TextIO) -> None:
    """The screen failed: say what is waited for, and each warning meanwhile, until the work has ended."""
    engine.screen = NoScreen()
    state = engine.state
    before = buffer.listener

    def on_entry(entry: LogEntry) -> None:
        if entry.level >= logging.WARNING:
            print_line(stream, entry.text)
        if before is not None:
            before(entry)

    buffer.listener = on_entry
    engine.broken()
    for text in waiting_for(state.pipeline, state.training.tasks, is_exporting=state.is_exporting):
        print_line(stream, f"waiting for {text}...")
    await engine.has_left.wait()


def print_line(stream: TextIO, line: str) -> None:
    """Write a line where the terminal may be gone."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"{line}\n")
        stream.flush()


def _where(error: BaseException) -> str:
    """A failure and the place it came from: the app has no traceback screen."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or isinstance(error, OSError | EOFError):
        return describe(error)
    name = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{type(error).__name__}: {describe(error)} ({name}:{trace.tb_lineno})"


@contextlib.contextmanager
def _signals(engine: Engine) -> Iterator[None]:
    """Signals that end a program end the app, without asking."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, engine.signal, number.name)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _event_log(destination: str | None) -> Iterator[tuple[Observer, ...]]:
    """The observer of `--events`; `-` only where standard error is not the terminal that is drawn on."""
    if destination is None:
        yield ()
        return
    if destination == "-" and sys.stderr.isatty():
        raise ConfigError("--events - would write over the screen; send standard error to a file, or name one")
    log: Any = EventLog(destination)
    try:
        yield (log,)
    finally:
        log.close()


async def _look_up_repository(state: AppState) -> None:
    """Only a key needs it: the first paint does not wait for the package's metadata."""
    state.repository = await asyncio.to_thread(repository_url)


def repository_url() -> str:
    """The `Repository` address of the package's own metadata, '' without one."""
    import importlib.metadata  # slow to import

    try:
        entries = importlib.metadata.metadata("overbrainer").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    for entry in entries:
        label, _, url = str(entry).partition(",")
        if label.strip().lower() == "repository":
            return url.strip()
    return ""
