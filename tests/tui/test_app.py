"""The screen of the app at both sizes: what is drawn, what a key changes, and what a failed draw does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip

from overbrainer_core.events.types import ItemDone, Metric, StageFinished, StageStarted
from overbrainer_core.flows.session import open_session
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.app import OverbrainerApp, OverlayBox
from overbrainer_tui.engine import Engine
from overbrainer_tui.look import ColorLevel, Look, Motion
from overbrainer_tui.messages import Pointed
from overbrainer_tui.state import AppState, View
from overbrainer_tui.terminal_keys import Pointer, PointerKind
from overbrainer_tui.views.pipeline import PipelineView
from overbrainer_tui.views.training import TrainingView
from overbrainer_tui.widgets.too_small_screen import TooSmall
from tests.tui.states import RUNNING_ID, STOPPED_ID, app_state, metrics, run_records, write_project

SMALL, LARGE = (80, 24), (120, 40)
STILL = Look(motion=Motion.OFF)

Pressing = Pilot[int]


@asynccontextmanager
async def shown(root: Path, size: tuple[int, int] = SMALL, look: Look = STILL) -> AsyncIterator[Pressing]:
    """The app on a fixed state, on a screen of that size."""
    project = write_project(root)
    async with open_session(project, process_env={}, lock=False) as session, asyncio.TaskGroup() as group:
        engine = Engine(app_state(), session, group)
        app = OverbrainerApp(engine, look)
        async with app.run_test(size=size) as pilot:
            yield pilot
        engine.signal("SIGTERM")
        await engine.has_left.wait()


def app_of(pilot: Pressing) -> OverbrainerApp:
    assert isinstance(pilot.app, OverbrainerApp)
    return pilot.app


def state_of(pilot: Pressing) -> AppState:
    return app_of(pilot).engine.state


def lines(pilot: Pressing) -> list[str]:
    return ["".join(segment.text for segment in strip) for strip in pilot.app.screen._compositor.render_strips()]


async def drawn(pilot: Pressing) -> list[str]:
    """The screen once what was asked for is drawn."""
    await pilot.pause(0.05)
    return lines(pilot)


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_it_opens_on_its_first_view_with_header_and_hints(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, size) as pilot:
        screen = await drawn(pilot)
        assert len(screen) == size[1]
        assert all(len(line) == size[0] for line in screen)
        assert "3 Pipeline  4 Training  5 Logs" in screen[0]
        assert screen[0].rstrip().endswith("roman_roads")
        assert any("Nothing ran yet" in line for line in screen)
        assert screen[-1].startswith(" r run a stage · A auto · q quit · 3-5 views")
        assert screen[-1].rstrip().endswith("v0.1.0  ? help")


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_views_change_by_their_digits(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(tmp_path, size) as pilot:
        await pilot.press("4")
        state_of(pilot).training.take_runs(run_records())
        for metric in metrics(940):
            state_of(pilot).training.apply(0, Metric(run_id=RUNNING_ID, metric=metric))
        app_of(pilot).changed()
        screen = await drawn(pilot)
        assert any(RUNNING_ID in line and "running" in line for line in screen)
        assert any("Loss log" in line for line in screen)
        await pilot.press("5")
        assert "Logs INFO and above" in (await drawn(pilot))[1 if size == SMALL else 2]


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("question_mark", "Keys"),
        ("colon", "Commands"),
        ("ctrl+p", "Commands"),
        ("r", "Run on every topic"),
        ("A", "Run auto mode?"),
    ],
)
async def test_overlays_float_over_a_muted_view_and_go(
    tmp_path: Path, size: tuple[int, int], key: str, title: str
) -> None:
    async with shown(tmp_path, size) as pilot:
        await pilot.press(key)
        screen = await drawn(pilot)
        assert any(f"╭─ {title} ─" in line for line in screen)
        assert "3 Pipeline" in screen[0]
        assert "v0.1.0" not in screen[-1]
        assert pilot.app.query_one(PipelineView)._is_muted
        await pilot.press("escape")
        screen = await drawn(pilot)
        assert not any("╭" in line for line in screen)
        assert not pilot.app.query_one(OverlayBox).display
        assert not pilot.app.query_one(PipelineView)._is_muted


async def test_a_terminal_too_small_shows_two_lines_and_the_same_view_after(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await pilot.press("5")
        await pilot.resize_terminal(79, 24)
        screen = [line.strip() for line in await drawn(pilot) if line.strip()]
        assert screen == ["terminal too small: 80x24 needed, this one is 79x24", "q quits"]
        await pilot.resize_terminal(80, 24)
        assert "Logs INFO and above" in (await drawn(pilot))[1]
        assert not pilot.app.query_one(TooSmall).display


async def test_the_framework_s_own_keys_do_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        before = await drawn(pilot)
        await pilot.press("ctrl+q", "ctrl+z", "f1", "alt+j", "ctrl+backslash")
        assert await drawn(pilot) == before
        assert pilot.app.is_running
        assert pilot.app.focused is None


async def test_a_paste_is_typed_into_the_palette_on_one_line(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await pilot.press("colon")
        pilot.app.post_message(events.Paste("st\nop\n"))
        assert any(": st op" in line for line in await drawn(pilot))


async def test_a_burst_of_events_is_told_once_and_its_ends_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path) as pilot:
        app = app_of(pilot)
        posted: list[str] = []
        post = app.post_message

        def keep(message: Message) -> bool:
            posted.append(type(message).__name__)
            return post(message)

        monkeypatch.setattr(app, "post_message", keep)
        app.engine.state.pipeline.start(1, "answers", concurrency=8)
        started = StageStarted(stage=Stage.ANSWERS, total=500)
        done = [ItemDone(stage=Stage.ANSWERS, id=str(number), usage=Usage(), cost=0.0) for number in range(500)]
        end = StageFinished(stage=Stage.ANSWERS, stats=StageStats(done=500))
        app.engine._on_events(1, [started, *done, end], 0, ())
        screen = await drawn(pilot)
        kinds = ("StageStarted", "ItemDone", "StageFinished")
        assert [name for name in posted if name in kinds] == ["StageStarted", "StageFinished", "ItemDone"]
        assert any("500/500" in line for line in screen)
        app.engine.state.pipeline.end(1)


async def test_nothing_is_drawn_and_no_timer_runs_while_nothing_happens(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await drawn(pilot)
        app = app_of(pilot)
        draws: list[int] = []
        app.post_display_hook = lambda: draws.append(1)  # type: ignore[method-assign]
        await asyncio.sleep(0.4)
        assert draws == []
        assert app._tick_due is None
        assert app._draw_due is None


async def test_a_key_is_drawn_without_waiting_for_the_frame_of_a_busy_screen(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await drawn(pilot)
        app = app_of(pilot)
        app._drawn_at = asyncio.get_running_loop().time() + 3600
        app.changed()
        assert isinstance(app._draw_due, asyncio.TimerHandle)
        await pilot.press("5")
        assert "Logs INFO and above" in "\n".join(await drawn(pilot))


async def test_moving_cells_are_written_at_their_place_unless_something_lies_over_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(tmp_path) as pilot:
        await drawn(pilot)
        app = app_of(pilot)
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        mark = Strip([Segment("*", Style(bold=True))], 1)
        assert app._paint(4, 23, mark)
        assert written == ["\x1b[24;5H\x1b[1m*\x1b[0m"]
        await pilot.press("?")
        await drawn(pilot)
        written.clear()
        assert not app._paint(4, 23, mark)
        assert written == []


async def test_a_status_goes_by_itself_when_its_time_is_over(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        app = app_of(pilot)
        app.engine.now()
        app.engine.state.status.say("short", now=app.engine.state.mono - 8.5)
        app.changed()
        assert "short" in (await drawn(pilot))[-1]
        async with asyncio.timeout(10):
            while "short" in (await drawn(pilot))[-1]:
                await asyncio.sleep(0.05)
        assert "r run a stage" in lines(pilot)[-1]


@pytest.mark.parametrize(
    "look",
    [
        Look(level=ColorLevel.MONO, motion=Motion.OFF),
        Look(level=ColorLevel.C16, motion=Motion.OFF),
        Look(level=ColorLevel.C256, motion=Motion.OFF),
        Look(theme="light", motion=Motion.OFF),
        Look(level=ColorLevel.MONO, motion=Motion.OFF, is_ascii=True),
    ],
    ids=["mono", "16", "256", "light", "ascii"],
)
async def test_every_look_draws_the_same_words(tmp_path: Path, look: Look) -> None:
    async with shown(tmp_path, look=look) as pilot:
        await pilot.press("question_mark")
        screen = await drawn(pilot)
        assert any("Everywhere" in line for line in screen)
        if look.is_ascii:
            assert all(line.isascii() for line in screen)


async def test_a_draw_that_fails_leaves_the_screen_and_not_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("while drawing")

    app: OverbrainerApp | None = None
    with pytest.raises(ExceptionGroup):
        async with shown(tmp_path) as pilot:
            app = app_of(pilot)
            monkeypatch.setattr(TrainingView, "pieces", fail)
            await pilot.press("4")
            state_of(pilot).training.take_runs(run_records())
            app.changed()
            await pilot.pause(0.2)
    assert app is not None
    assert isinstance(app.failure, ZeroDivisionError)
    assert not app._is_up


async def test_leaving_ends_the_app_with_its_exit_code(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await pilot.press("q")
        await pilot.pause(0.05)
        assert pilot.app.return_value == 0
        assert not pilot.app.is_running


async def test_another_theme_is_worn_at_once(tmp_path: Path) -> None:
    async with shown(tmp_path) as pilot:
        await drawn(pilot)
        before = app_of(pilot)._table
        state_of(pilot).theme = "light"
        app_of(pilot).changed()
        await drawn(pilot)
        assert pilot.app.theme == "light"
        assert app_of(pilot)._table is not before


async def test_the_mouse_reaches_tabs_runs_and_answers(tmp_path: Path) -> None:
    async with shown(tmp_path, LARGE) as pilot:
        click = PointerKind.CLICK
        await point(pilot, click, (await drawn(pilot))[0].index("4 Training"), 0)
        assert state_of(pilot).view is View.TRAINING
        state_of(pilot).training.take_runs(run_records())
        app_of(pilot).changed()
        at = next(y for y, line in enumerate(await drawn(pilot)) if STOPPED_ID in line)
        await point(pilot, click, 10, at)
        selected = state_of(pilot).training.selected
        assert selected is not None
        assert selected.id == STOPPED_ID
        await pilot.press("x")
        screen = await drawn(pilot)
        at = next(y for y, line in enumerate(screen) if "y clear" in line)
        await point(pilot, click, 3, 3)
        assert state_of(pilot).overlay is not None
        await point(pilot, click, screen[at].index("n keep"), at)
        assert state_of(pilot).overlay is None
        await point(pilot, click, 5000, 5000)
        assert selected.id == STOPPED_ID


async def test_a_mouse_that_moves_over_nothing_draws_nothing(tmp_path: Path) -> None:
    async with shown(tmp_path, LARGE) as pilot:
        await pilot.press("4")
        await drawn(pilot)
        draws: list[int] = []
        app = app_of(pilot)
        app.post_display_hook = lambda: draws.append(1)  # type: ignore[method-assign]
        for x in range(0, 120, 3):
            await point(pilot, PointerKind.MOVE, x, x // 4)
        assert draws == []


async def point(pilot: Pressing, kind: PointerKind, x: int, y: int) -> None:
    """The mouse does something, and what follows has happened."""
    pilot.app.post_message(Pointed(Pointer(kind, x, y)))
    await pilot.pause()
