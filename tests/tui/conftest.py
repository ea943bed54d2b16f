"""What tests of drawn rows share: the look of the pictures, frames kept as text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.widget import Widget

import overbrainer_tui
from overbrainer_tui.look import ColorLevel, Look, Motion
from overbrainer_tui.themes.registry import install_themes

FRAMES = Path(__file__).parent / "frames"
STYLES = Path(overbrainer_tui.__file__).parent
SHEETS = ("styles/base.tcss", "views/pipeline.tcss", "views/training.tcss", "views/logs.tcss")


@pytest.fixture
def look() -> Look:
    """24-bit, dark, everything moves."""
    return Look()


@pytest.fixture
def mono() -> Look:
    """No colour: attributes only, nothing moves."""
    return Look(level=ColorLevel.MONO, motion=Motion.OFF)


@pytest.fixture
def ascii_look() -> Look:
    """ASCII glyphs without colour."""
    return Look(level=ColorLevel.MONO, motion=Motion.OFF, is_ascii=True)


@pytest.fixture
def check_frame() -> Callable[[str, Sequence[str]], None]:
    """Compare lines with the frame of a name; `OVERBRAINER_TEST_WRITE_FRAMES=1` writes it instead, to be read."""

    def check(name: str, lines: Sequence[str]) -> None:
        path = FRAMES / f"{name}.txt"
        text = "".join(f"{line.rstrip()}\n" for line in lines)
        if os.environ.get("OVERBRAINER_TEST_WRITE_FRAMES") == "1":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return check


class DrawingApp(App[None]):
    """Only the widgets given, dressed as the app dresses them."""

    CSS_PATH: ClassVar[list[Path]] = [STYLES / name for name in SHEETS]  # type: ignore[assignment]
    CSS = "Screen { layers: base overlay too-small; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, look: Look, widgets: Sequence[Widget]) -> None:
        super().__init__(ansi_color=not look.paints_ground)
        self._widgets = widgets
        install_themes(self, look)

    def compose(self) -> ComposeResult:
        """The widgets, one under another."""
        yield from self._widgets


@pytest.fixture
def drawing_app() -> Callable[..., DrawingApp]:
    """Make an app of widgets."""

    def make(*widgets: Widget, look: Look | None = None) -> DrawingApp:
        return DrawingApp(look or Look(), widgets)

    return make


@pytest.fixture
def screen_lines() -> Callable[[App[None]], list[str]]:
    """The characters on an app's screen, row by row."""

    def read(app: App[None]) -> list[str]:
        return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]

    return read
