"""What lies over the views? A value: a question, the stage menu, the help, the palette. Drawn by `dialogs/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec import Struct

from overbrainer_tui.view_models.input import OneLineInput


class RowTone(StrEnum):
    """How a row of a dialog is told."""

    PLAIN = "plain"
    STRONG = "strong"
    """The consequence, first and bold."""
    WARNING = "warning"
    HEADING = "heading"
    """The label names what the paragraph is about."""
    NOTE = "note"
    """A paragraph in dim."""


class DialogRow(Struct, frozen=True, kw_only=True):
    """A label with its value and a remark after it; wrapped as a whole; an empty row separates."""

    label: str = ""
    value: str = ""
    remark: str = ""
    tone: RowTone = RowTone.PLAIN


class Confirm(Struct, frozen=True, kw_only=True):
    """A question: `y` does `on_yes`, every other key does nothing. `subject` is what the answer is about.

    `spends` names the stages that `y` pays for: their cost is told first.
    """

    title: str
    rows: tuple[DialogRow, ...]
    yes: str
    no: str
    on_yes: Answer
    subject: Any = None
    spends: str | None = None
    is_destructive: bool = False


class Answer(StrEnum):
    """What a `y` asks for."""

    START_RUN = "start_run"
    START_AUTO = "start_auto"
    CANCEL_AUTO = "cancel_auto"
    CANCEL_RUN = "cancel_run"
    STOP_RUN = "stop_run"
    CLEAR_RUNS = "clear_runs"
    QUIT = "quit"


@dataclass(slots=True, kw_only=True)
class StageMenu:
    """The `r` menu with its selected entry."""

    index: int = 0


class Help(Struct, frozen=True, kw_only=True):
    """The keys."""


@dataclass(slots=True, kw_only=True)
class Palette:
    """The command palette: what is typed, and the entry under the cursor."""

    input: OneLineInput = field(default_factory=OneLineInput)
    index: int = 0


Overlay = Confirm | StageMenu | Help | Palette
