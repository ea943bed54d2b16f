"""A canvas paints the cells that changed and no other; the same rows paint nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.geometry import Region

from overbrainer_tui.cells import BRIGHT, DIM, Line, Row, Span
from overbrainer_tui.look import Look
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.widgets.canvas import Canvas, strip_of


def _row(text: str, width: int = 20) -> Row:
    line = Line(width)
    line.put(0, "loss", DIM)
    line.put(6, text, BRIGHT)
    return line.row()


def _canvas(look: Look) -> Canvas:
    canvas = Canvas(StyleTable(look))
    canvas.styles.width, canvas.styles.height = 20, 2
    canvas.show((_row("0.7782"), _row("質問")))
    return canvas


async def test_only_changed_cells_are_painted_again(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    canvas = _canvas(look)
    async with drawing_app(canvas).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        before = canvas.painted_regions
        canvas.show((_row("0.7792"), _row("質問")))
        assert canvas.painted_regions == before + 1
        assert canvas._repaint_regions == {Region(10, 0, 1, 1)}


async def test_the_same_rows_paint_nothing(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    canvas = _canvas(look)
    async with drawing_app(canvas).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        before = canvas.painted_regions
        canvas.show((_row("0.7782"), _row("質問")))
        canvas.dress(canvas._table)
        assert canvas.painted_regions == before
        assert not canvas._repaint_regions


async def test_parts_of_rows_have_the_width_asked_for(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    canvas = _canvas(look)
    async with drawing_app(canvas).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        for start in range(20):
            for strip in canvas.render_lines(Region(start, 0, 20 - start, 2)):
                assert strip.cell_length == 20 - start


async def test_rows_that_are_missing_are_ground(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    canvas = _canvas(look)
    async with drawing_app(canvas).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        canvas.show((_row("0.7782"),))
        assert canvas.render_lines(Region(0, 0, 20, 2))[1].text.strip() == ""


async def test_other_styles_paint_every_row_once(look: Look, drawing_app: Callable[..., App[None]]) -> None:
    canvas = _canvas(look)
    async with drawing_app(canvas).run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        canvas.dress(StyleTable(Look(theme="light")))
        assert canvas._repaint_regions == {Region(0, 0, 20, 2)}


def test_blanks_carry_no_colour_of_text(look: Look) -> None:
    strip = strip_of((Span("a", DIM), Span("   ", BRIGHT)), StyleTable(look))
    last = list(strip)[-1].style
    assert last is not None
    assert last.color is None
    assert last.bgcolor is not None


def test_markup_and_controls_are_plain_text(look: Look) -> None:
    strip = strip_of((Span("[/] [a] [bold]", DIM),), StyleTable(look))
    assert strip.text == "[/] [a] [bold]"
