"""What tests of drawn rows share: the look of the pictures, frames kept as text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from overbrainer_tui.look import ColorLevel, Look, Motion

FRAMES = Path(__file__).parent / "frames"


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
