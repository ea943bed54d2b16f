"""Header and footer on the screen: one cell moves, a tab can be pointed at, nothing else runs."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from textual.app import App
from textual.strip import Strip

from overbrainer_tui.look import Look, Motion
from overbrainer_tui.pieces import OnKey
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import FooterShown, Level, Status
from overbrainer_tui.widgets.bars import FooterBar, HeaderBar
from tests.tui import records

MakeApp = Callable[..., App[None]]
Lines = Callable[[App[None]], list[str]]


async def test_the_spinner_is_a_cell_of_its_own(look: Look, drawing_app: MakeApp, screen_lines: Lines) -> None:
    footer = FooterBar(StyleTable(look))
    app = drawing_app(footer)
    async with app.run_test(size=(80, 24)) as pilot:
        footer.show(records.footer())
        await pilot.pause()
        canvas = footer.canvas("spinner")
        assert canvas is not None
        assert canvas.place.width == 1
        left, right = footer.canvas("footer-left"), footer.canvas("footer-right")
        assert left is not None
        assert right is not None
        before = left.painted_regions + right.painted_regions
        frames: list[int] = []
        footer.on_frame = frames.append
        footer._spin()
        footer._spin()
        assert canvas.rows[0][0].text == look.glyphs.spinner[footer._frame % 10]
        assert frames == [footer._frame - 1, footer._frame]
        assert left.painted_regions + right.painted_regions == before
        await pilot.pause()
        assert screen_lines(app)[-1].startswith(" j/k select · a attach · c cancel   ⠋"[:34])


async def test_a_frame_that_is_painted_at_once_asks_the_framework_for_none(look: Look, drawing_app: MakeApp) -> None:
    footer = FooterBar(StyleTable(look))
    async with drawing_app(footer).run_test(size=(80, 24)) as pilot:
        footer.show(records.footer())
        await pilot.pause()
        canvas = footer.canvas("spinner")
        assert canvas is not None
        painted: list[tuple[int, int, str]] = []

        def paint(x: int, y: int, cells: Strip) -> bool:
            painted.append((x, y, cells.text))
            return len(painted) == 1

        footer.painter = paint
        canvas._exchange_repaint_regions()
        footer._spin()
        at = canvas.region.offset
        assert painted == [(at.x, at.y, canvas.rows[0][0].text)]
        assert not canvas._exchange_repaint_regions()
        footer._spin()
        assert len(painted) == 2
        assert canvas._exchange_repaint_regions()


async def test_the_spinner_stops_with_the_work(look: Look, drawing_app: MakeApp) -> None:
    footer = FooterBar(StyleTable(look))
    async with drawing_app(footer).run_test(size=(80, 24)) as pilot:
        footer.show(records.footer())
        await pilot.pause()
        assert footer.is_spinning()
        footer.show(replace(records.footer(), work=()))
        await pilot.pause()
        assert not footer.is_spinning()
        assert footer.canvas("spinner") is None


async def test_without_motion_no_timer_runs(drawing_app: MakeApp, screen_lines: Lines) -> None:
    look = Look(motion=Motion.OFF)
    footer = FooterBar(StyleTable(look))
    app = drawing_app(footer, look=look)
    async with app.run_test(size=(80, 24)) as pilot:
        footer.show(records.footer())
        await pilot.pause()
        assert not footer.is_spinning()
        assert "… 1 training task" in screen_lines(app)[-1]


async def test_a_new_status_fades_in_once(look: Look, drawing_app: MakeApp) -> None:
    footer = FooterBar(StyleTable(look), clock=lambda: 0.0)
    status = Status(level=Level.INFO, text="saved")
    async with drawing_app(footer).run_test(size=(80, 24)) as pilot:
        footer.show(FooterShown())
        await pilot.pause()
        footer.show(FooterShown(status=status))
        assert footer._fade is not None
        footer._stop_fade()
        footer.show(FooterShown(status=status, is_locked=True))
        assert footer._fade is None


async def test_a_tab_is_its_digit_wherever_it_stands(look: Look, drawing_app: MakeApp) -> None:
    header = HeaderBar(StyleTable(look))
    async with drawing_app(header).run_test(size=(120, 24)) as pilot:
        assert header.place_at(45, 0) is None
        header.show(records.header())
        await pilot.pause()
        assert header.place_at(45, 0) == OnKey("5")
        assert header.place_at(119, 0) is None
