"""How does a flow hand its words to the front end that started it?

Results are what the command line prints on standard output; notes are progress words. A front end decides
where they go; a flow never prints.
"""

from __future__ import annotations

from typing import Protocol


class Report(Protocol):
    """Takes the lines of one flow, in the order they arise."""

    def result(self, line: str) -> None:
        """A line of the flow's result."""
        ...

    def note(self, line: str) -> None:
        """A line of progress (info)."""
        ...

    def warn(self, line: str) -> None:
        """A line that asks for attention; the flow goes on."""
        ...


class CollectedReport:
    """Keeps the lines: for a caller that shows them at the end, and for tests."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def result(self, line: str) -> None:
        """Keep a result line."""
        self.results.append(line)

    def note(self, line: str) -> None:
        """Keep a progress line."""
        self.notes.append(line)

    def warn(self, line: str) -> None:
        """Keep a warning."""
        self.warnings.append(line)
