"""Draw the README's picture: the real app on the demo, in the middle of its training.

Run by hand, `python docs/images/make_training.py` (needs Pillow and the JetBrains Mono font); it makes a demo
project in a temporary directory, trains it, writes `docs/images/training.png` and cancels the run. Drawn cell by cell
from what the app shows, so that no viewer's font moves anything.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

os.environ.update({"COLORTERM": "truecolor", "TEXTUAL_COLOR_SYSTEM": "truecolor"})

from PIL import Image, ImageDraw, ImageFont
from textual.strip import Strip

from overbrainer_core import __version__
from overbrainer_core.errors import OverbrainerError
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.demo import prepare_demo
from overbrainer_core.flows.follow import cancel_run
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import open_session
from overbrainer_core.runs.store import newest_run
from overbrainer_core.training.metrics import read_latest
from overbrainer_tui.app import OverbrainerApp
from overbrainer_tui.engine import Engine
from overbrainer_tui.facts import project_facts
from overbrainer_tui.look import choose_look
from overbrainer_tui.opening import Opening, open_with
from overbrainer_tui.state import AppState

STEP = 190
"""The step at which the picture is taken: after the knee of the curve."""

PICTURE = Path(__file__).with_name("training.png")

CELL = (11, 22)
"""Pixels of one terminal cell."""

FONTS = Path("/usr/share/fonts/truetype/jetbrains-mono")
BACKGROUND = (20, 17, 20)


async def main() -> None:
    """Train, draw, cancel."""
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        root = prepare_demo(Path("overbrainer-demo")).root
        async with open_session(root, process_env=dict(os.environ)) as session:
            chosen = choose_look({"COLORTERM": "truecolor", "TERM": "xterm-256color"}, encoding="UTF-8")
            async with asyncio.TaskGroup() as group:
                state = AppState(project_facts(session), version=__version__)
                engine = Engine(state, session, group)
                app = OverbrainerApp(engine, chosen.look)
                engine.open(lambda opened: open_with(opened, Opening(auto=True, is_asked=False)))
                async with app.run_test(size=(120, 36)) as pilot:
                    while (run := newest_run(session.paths)) is None or _step(session.paths.run(run.id)) < STEP:
                        await pilot.pause(0.5)
                    draw(app.screen._compositor.render_strips()).save(PICTURE, optimize=True)
                    await cancel_run(session, run.id, bus=EventBus(), report=CollectedReport())
                    await pilot.pause(3)
                    await pilot.press("q")
                    await pilot.press("y")


def draw(strips: list[Strip]) -> Image.Image:
    """The screen as an image, one cell after the other."""
    regular, bold = (ImageFont.truetype(str(FONTS / f"JetBrainsMono-{name}.ttf"), 18) for name in ("Regular", "Bold"))
    width, height = CELL
    image = Image.new("RGB", (120 * width, len(strips) * height), BACKGROUND)
    canvas = ImageDraw.Draw(image)
    for row, strip in enumerate(strips):
        column = 0
        for text, style, _ in strip:
            color = tuple(style.color.triplet) if style and style.color and style.color.triplet else (211, 201, 207)
            paint = tuple(style.bgcolor.triplet) if style and style.bgcolor and style.bgcolor.triplet else BACKGROUND
            for char in text:
                place = (column * width, row * height)
                canvas.rectangle((*place, place[0] + width - 1, place[1] + height - 1), fill=paint)
                if "\u2800" <= char <= "\u28ff":
                    draw_dots(canvas, place, ord(char) - 0x2800, color)
                else:
                    font = bold if style and style.bold else regular
                    canvas.text((place[0], place[1] - 1), char, font=font, fill=color)
                column += 1
    return image


DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of each bit of a braille character."""


def draw_dots(canvas: ImageDraw.ImageDraw, place: tuple[int, int], bits: int, color: tuple[int, ...]) -> None:
    """A braille character as terminals draw it themselves."""
    for bit, (column, row) in enumerate(DOTS):
        if bits >> bit & 1:
            x, y = place[0] + 1 + column * 5, place[1] + 2 + row * 5
            canvas.rectangle((x, y, x + 2, y + 2), fill=color)


def _step(directory: Path) -> int:
    try:
        return read_latest(directory / "metrics.jsonl").step
    except OverbrainerError:
        return 0


if __name__ == "__main__":
    asyncio.run(main())
