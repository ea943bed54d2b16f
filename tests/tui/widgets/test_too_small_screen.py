"""The notice covers the whole screen and goes without a trace."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from overbrainer_tui.look import Look
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.views.training import TrainingView
from overbrainer_tui.widgets.too_small_screen import TooSmall
from tests.tui import records


async def test_the_notice_covers_the_view_and_growing_brings_it_back(
    look: Look, drawing_app: Callable[..., App[None]], screen_lines: Callable[[App[None]], list[str]]
) -> None:
    view, notice = TrainingView(StyleTable(look)), TooSmall(StyleTable(look))
    app = drawing_app(view, notice)
    async with app.run_test(size=(79, 24)) as pilot:
        view.show(records.training())
        notice.show((79, 24))
        await pilot.pause()
        lines = screen_lines(app)
        assert [line.strip() for line in lines if line.strip()] == [
            "terminal too small: 80x24 needed, this one is 79x24",
            "q quits",
        ]
        notice.display = False
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert screen_lines(app)[0].startswith("  Runs 5 ───")
