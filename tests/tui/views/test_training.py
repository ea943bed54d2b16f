"""The Training view on a screen: little is painted for a new point, nothing without one, no timer when idle."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from textual.app import App

from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui.cells import row_text
from overbrainer_tui.look import Look, Motion
from overbrainer_tui.pieces import OnChart, OnRuns
from overbrainer_tui.themes.palette import StyleTable
from overbrainer_tui.view_models.snapshots import TrainingShown
from overbrainer_tui.views.training import TrainingView
from tests.tui import records

MakeApp = Callable[..., App[None]]


def _one_more(shown: TrainingShown, step: int, *, loss: float = 0.81) -> TrainingShown:
    assert shown.selected is not None
    curves = records.curves(940)
    curves.add(TrainMetric(time=1.0, step=step, epoch=1.1, max_steps=2600, loss=loss, grad_norm=0.41))
    run = replace(shown.selected, series=curves.series(), step=step, progress=step / 2600, loss=loss)
    return replace(shown, selected=run)


async def test_equal_content_paints_nothing_and_runs_no_timer(look: Look, drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(look))
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        before = view.painted_regions
        view.show(records.training())
        view.redraw()
        await pilot.pause()
        assert view.painted_regions == before
        assert not view.is_waiting()


async def test_the_chart_is_painted_once_a_second_and_catches_up(look: Look, drawing_app: MakeApp) -> None:
    now = [100.0]
    view = TrainingView(StyleTable(look), clock=lambda: now[0])
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        chart = view._chart
        now[0] += 0.2
        view.show(_one_more(records.training(), 950))
        assert view._chart is chart
        assert view.is_waiting()
        now[0] += 1.0
        view.redraw()
        assert view._chart is not chart
        view.show(replace(_one_more(records.training(), 950), selected=replace(
            records.selected_run(cursor=610))))  # fmt: skip
        assert "610" in row_text(view.rows_of("chart-title")[0])


async def test_a_number_that_changes_repaints_its_tile_only(look: Look, drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(Look(motion=Motion.OFF)))
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        counts = {name: canvas.painted_regions for name, canvas in view._canvases.items()}
        run = replace(records.selected_run(), grad_norm=0.5)
        view.show(replace(records.training(), selected=run))
        changed = {name for name, canvas in view._canvases.items() if canvas.painted_regions != counts[name]}
        assert changed == {"tile-grad"}


async def test_the_bar_closes_on_its_value_and_then_rests(look: Look, drawing_app: MakeApp) -> None:
    now = [100.0]
    view = TrainingView(StyleTable(look), clock=lambda: now[0])
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        first = row_text(view.rows_of("bar")[0])
        view.show(_one_more(records.training(), 1900))
        assert row_text(view.rows_of("bar")[0]) == first
        now[0] += 0.25
        view.redraw()
        later = row_text(view.rows_of("bar")[0])
        assert first.count("━") < later.count("━") < 84
        now[0] += 10
        view.redraw()
        assert row_text(view.rows_of("bar")[0]).count("━") == 84
        assert not view.is_waiting()


async def test_another_run_s_bar_lands_at_once(look: Look, drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(look), clock=lambda: 1.0)
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        run = replace(records.selected_run(), run_id="roman_roads_20261030-191200", progress=0.9)
        view.show(replace(records.training(), selected=run))
        assert row_text(view.rows_of("bar")[0]).count("━") == 104


async def test_the_mark_of_a_followed_run_pulses_in_the_frames_it_is_given(look: Look, drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(look))
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        canvas = view.canvas("name")
        assert canvas is not None
        before = canvas.painted_regions
        for frame in range(31):
            view.pulse(frame)
        assert canvas.painted_regions == before + 8
        assert canvas.render_lines(canvas.size.region)[0].text.startswith("● roman_roads")
        view.dress(view._table, is_muted=True)
        muted = canvas.painted_regions
        view.pulse(10)
        assert canvas.painted_regions == muted


async def test_nothing_pulses_with_less_motion(drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(Look(motion=Motion.REDUCED)))
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        view.show(records.training())
        await pilot.pause()
        before = view.painted_regions
        for frame in range(31):
            view.pulse(frame)
        assert view.painted_regions == before


@pytest.mark.parametrize("size", [(80, 22), (120, 38), (200, 53)])
async def test_each_run_that_is_seen_can_be_pointed_at(look: Look, drawing_app: MakeApp, size: tuple[int, int]) -> None:
    view = TrainingView(StyleTable(look))
    async with drawing_app(view).run_test(size=size) as pilot:
        assert view.place_at(5, 3) is None
        content = replace(records.training(), runs=records.runs(selected=4))
        view.show(content)
        await pilot.pause()
        rows = [row_text(row) for row in view.rows_of("runs")]
        top = 1 if size[1] > 26 else 0
        assert view.place_at(5, top) == OnRuns()
        for at, row in enumerate(rows[1:], top + 1):
            place = view.place_at(40, at)
            assert isinstance(place, OnRuns)
            assert place.run_id is not None
            assert place.run_id in row
        assert len(rows) > 2


@pytest.mark.parametrize("size", [(80, 22), (120, 38), (200, 53)])
async def test_a_column_of_the_chart_is_the_step_drawn_there(
    look: Look, drawing_app: MakeApp, size: tuple[int, int]
) -> None:
    view = TrainingView(StyleTable(look))
    async with drawing_app(view).run_test(size=size) as pilot:
        view.show(records.training(cursor=610))
        await pilot.pause()
        titles = [canvas for name in ("chart-title", "chart-0") if (canvas := view.canvas(name)) is not None]
        y = titles[0].place.y + 3
        marks = [
            x for x in range(size[0])
            if (found := view.piece_at(x, y)) is not None and found[0].startswith("chart-")
            and row_text(view.rows_of(found[0])[found[2]])[found[1]] == "│"
        ]  # fmt: skip
        assert len(marks) == 1
        place = view.place_at(marks[0], y)
        assert isinstance(place, OnChart)
        assert place.step is not None
        assert abs(place.step - 610) <= 2600 / 40
        assert view.place_at(marks[0], titles[0].place.y) is None
        assert view.place_at(titles[0].place.x, y) is None
        assert view.place_at(titles[1].place.x + 60, y) in (OnChart(), None)


async def test_without_a_chart_nothing_stands_there(look: Look, drawing_app: MakeApp) -> None:
    view = TrainingView(StyleTable(look))
    async with drawing_app(view).run_test(size=(120, 38)) as pilot:
        shown = records.training()
        assert shown.selected is not None
        view.show(replace(shown, selected=replace(shown.selected, series=None, no_chart="no metrics yet")))
        await pilot.pause()
        assert all(not isinstance(view.place_at(x, y), OnChart) for x in range(0, 120, 7) for y in range(38))
