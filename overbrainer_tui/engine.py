"""Who joins state, clock, effects and screen? The engine: what happens goes in, effects come out, the screen is told.

It works without a screen too: after a crash of the screen it goes on waiting for the work. What arrives while something
is being folded waits its turn, so that nothing is folded in the middle of something else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from overbrainer_core.clock import Clock
from overbrainer_core.events.types import Event
from overbrainer_core.flows.session import Session
from overbrainer_core.log_setup import LogBuffer, LogEntry
from overbrainer_core.values.stage import Stage
from overbrainer_tui import keys, outcomes, pointing, quit_actions
from overbrainer_tui.bridge import Bridge
from overbrainer_tui.effects import Effect, Outcome, ReadHistory, WatchSettings
from overbrainer_tui.perform import Performer
from overbrainer_tui.pieces import Place
from overbrainer_tui.state import AppState
from overbrainer_tui.terminal_keys import PointerKind

Fold = Callable[[], list[Effect]]


class Screen(Protocol):
    """What the engine tells."""

    def changed(self) -> None:
        """Something may look different."""
        ...

    def folded(self, task: int, events: Sequence[Event]) -> None:
        """Events of a task were folded."""
        ...

    def leave(self) -> None:
        """The app shall end."""
        ...


class NoScreen:
    """Nobody looks: before the app is up, and after its screen failed."""

    def changed(self) -> None:
        """Nothing is drawn."""

    def folded(self, task: int, events: Sequence[Event]) -> None:
        """Nothing is drawn."""

    def leave(self) -> None:
        """There is nothing to leave."""


class Engine:
    """The running app without its screen."""

    def __init__(self, state: AppState, session: Session, group: asyncio.TaskGroup, *, screen: Screen | None = None):
        self.state = state
        self.screen: Screen = screen or NoScreen()
        self.has_left = asyncio.Event()
        self._clock: Clock = session.clock
        self._waiting: deque[Fold] = deque()
        self._is_folding = False
        bridge = Bridge(session, group, self._on_events)
        self._performer = Performer(
            session,
            group,
            bridge,
            tell=self.tell,
            leave=self._leave,
            is_leaving=lambda: state.quit.is_leaving,
        )

    def open(self, effects: Callable[[AppState], list[Effect]] | None = None) -> None:
        """The app opens: read what was spent, follow the settings, and do what it was opened for."""
        self._fold(lambda: [ReadHistory(after_task=0), WatchSettings()])
        if effects is not None:
            self._fold(lambda: effects(self.state))

    # What comes in

    def key(self, key: str) -> None:
        """A key was pressed."""
        self._fold(lambda: keys.on_key(self.state, key))

    def paste(self, text: str) -> None:
        """A text was pasted."""
        self._fold(lambda: keys.on_paste(self.state, text))

    def pointer(self, kind: PointerKind, place: Place | None) -> None:
        """The mouse did something at a place; what changes nothing is not folded, so that nothing is drawn."""
        if pointing.is_heard(self.state, kind, place):
            self._fold(lambda: pointing.on_pointer(self.state, kind, place))

    def resize(self, width: int, height: int) -> None:
        """The terminal has another size."""

        def fold() -> list[Effect]:
            self.state.resize(width, height)
            return []

        self._fold(fold)

    def tick(self) -> None:
        """Something may be due."""
        self._fold(self.state.tick)

    def signal(self, name: str) -> None:
        """A signal asks the app to end."""
        self._fold(lambda: quit_actions.on_signal(self.state, name))

    def broken(self) -> None:
        """The terminal failed, or its input was closed."""
        self._fold(lambda: quit_actions.on_broken_terminal(self.state))

    def tell(self, outcome: Outcome) -> None:
        """An effect came to something."""
        self._fold(lambda: outcomes.take(self.state, outcome))

    def log(self, entry: LogEntry) -> None:
        """A line was logged."""
        self._fold(lambda: outcomes.take_log(self.state, entry))

    def listen(self, buffer: LogBuffer) -> None:
        """Take the lines of the log from now on, those it holds first."""
        loop = asyncio.get_running_loop()
        for entry in buffer.entries():
            self.log(entry)

        def on_entry(entry: LogEntry) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.log, entry)

        buffer.listener = on_entry

    def _on_events(self, task: int, events: Sequence[Event], lost: int, finished: Sequence[tuple[Stage, int]]) -> None:
        self._fold(lambda: outcomes.take_events(self.state, task, events, lost=lost, finished=finished), is_told=True)
        self.screen.folded(task, events)

    # What goes out

    def _fold(self, fold: Fold, *, is_told: bool = False) -> None:
        """Fold now, or after what is being folded; `is_told` when the screen hears of it otherwise."""
        self._waiting.append(fold)
        if self._is_folding:
            return
        self._is_folding = True
        try:
            while self._waiting:
                self.now()
                for effect in self._waiting.popleft()():
                    self._performer.perform(effect)
        finally:
            self._is_folding = False
        if not is_told:
            self.screen.changed()

    def now(self) -> None:
        """Tell the state what time it is."""
        self.state.at(self._clock.monotonic(), self._clock.now())

    def _leave(self, exit_code: int) -> None:
        self.state.quit.exit_code = exit_code
        self._performer.drop_reads()
        self.has_left.set()
        self.screen.leave()
