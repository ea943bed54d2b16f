"""What others on this machine can see of the processes that a command starts: their arguments and environments."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROC = Path("/proc")


@dataclass
class Seen:
    """Arguments of all processes, and pairs of arguments and environment of those that are not a command itself."""

    arguments: set[bytes] = field(default_factory=set)
    programs: set[tuple[bytes, bytes]] = field(default_factory=set)


class ProcessWatch:
    """Looks at every process whose environment holds a mark, as often as it can.

    The environment of a command itself, whose arguments begin with `command`, is its own business; so is that of a
    child that has not yet become another program.
    """

    def __init__(self, mark: bytes, *, command: bytes) -> None:
        self.seen = Seen()
        self._mark = mark
        self._command = command
        self._is_over = threading.Event()

    def look(self) -> None:
        """Look at all processes once."""
        for directory in PROC.iterdir():
            if directory.name.isdigit():
                with contextlib.suppress(OSError):
                    self._look_at(directory)

    def _look_at(self, directory: Path) -> None:
        before = (directory / "cmdline").read_bytes()
        environment = (directory / "environ").read_bytes()
        if self._mark not in environment:
            return
        arguments = (directory / "cmdline").read_bytes()
        self.seen.arguments |= {before, arguments}
        # the environment is that of these arguments only if no other program took the process's place meanwhile
        if before == arguments and not arguments.startswith(self._command):
            self.seen.programs.add((arguments, environment))

    def _watch(self) -> None:
        while not self._is_over.is_set():
            self.look()
            time.sleep(0.01)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look while the block runs."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join(10)
