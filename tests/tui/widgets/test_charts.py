"""The whole chart: pieces that fit together at any size, for any run, at a bounded cost."""

from __future__ import annotations

import math
import random
import time

import pytest
from msgspec.structs import replace

from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui.cells import row_text, width_of
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import text_of
from overbrainer_tui.view_models.series import RunCurves
from overbrainer_tui.view_models.snapshots import Points, RunSeries
from overbrainer_tui.widgets.charts import RIGHT_GUTTER, ChartInput, ChartShape, chart_pieces, step_at
from tests.tui import records

SHAPE = ChartShape(x=0, y=0, width=65, plot_rows=16)
NARROW = ChartShape(x=0, y=0, width=76, plot_rows=8, left_gutter=4, has_axis=False, lr_rows=1, grad_rows=1)


def _lines(chart: ChartInput, shape: ChartShape, look: Look) -> list[str]:
    pieces = chart_pieces(chart, shape, look)
    for piece in pieces:
        assert all(width_of(row) == piece.width for row in piece.rows), piece.name
    assert sum(piece.width for piece in pieces if piece.name != "chart-title") == shape.width
    assert {len(piece.rows) for piece in pieces if piece.name != "chart-title"} == {shape.height - 1}
    return [line.rstrip() for line in text_of(pieces, shape.width, shape.height)]


def _chart(last: int = 940, *, is_running: bool = True, cursor: int | None = None) -> ChartInput:
    curves = records.curves(last)
    return ChartInput(
        series=curves.series(),
        is_running=is_running,
        cursor=curves.cursor_at(cursor) if cursor is not None else None,
    )


def test_axis_and_gutters_stand_as_drawn(look: Look) -> None:
    lines = _lines(_chart(), SHAPE, look)
    assert lines[0].startswith("Loss log ──────────── ━━ train   ◆ eval   best eval 0.9")
    assert lines[0].endswith(" at 900")
    assert lines[17] == "      ┴──────────────────┴──────────────────┴──────────┴"
    assert lines[18] == "      step 0          940                  2k       2600"
    assert lines[19].startswith("   lr ")
    assert lines[20].endswith(" 2.00e-4")
    assert lines[22].startswith(" grad ")
    assert all(line.startswith("      ") for n, line in enumerate(lines[1:17]) if "." not in line[:6])


def test_the_narrow_chart_has_no_axis_line(look: Look) -> None:
    lines = _lines(_chart(), NARROW, look)
    assert len(lines) == 12
    assert lines[9].startswith("     step 0")
    assert lines[9].endswith("2600")
    assert lines[10].startswith("  lr ")
    assert lines[11].startswith("grad ")


def test_the_cursor_s_values_take_the_legend_s_place(look: Look) -> None:
    lines = _lines(_chart(cursor=610), SHAPE, look)
    assert lines[0].startswith("Loss    step 610   ━━ 1.0")
    assert "lr 2.00e-4   grad " in lines[0]
    assert " 610 " in lines[18]


def test_a_fitted_axis_starts_at_the_first_step(look: Look) -> None:
    lines = _lines(replace(_chart(), is_fitted=True), SHAPE, look)
    assert lines[0].startswith("Loss log fit ")
    assert lines[18].strip().startswith("step 10 ")
    assert lines[18].strip().endswith("940")


def test_a_legend_that_does_not_fit_loses_its_end(look: Look) -> None:
    lines = _lines(_chart(), replace(SHAPE, width=40), look)
    assert lines[0].startswith("Loss log ")
    assert lines[0].endswith("━━ train   ◆ eval")


def test_the_key_changes_with_what_is_drawn_only() -> None:
    chart = _chart()
    assert chart.key == _chart().key
    assert chart.key != _chart(950).key
    assert chart.key != _chart(cursor=610).key
    assert chart.key != replace(chart, is_fitted=True).key


@pytest.mark.parametrize("rows", [1, 5, 8, 16, 31])
def test_any_series_is_drawn_in_any_shape(rows: int, look: Look, ascii_look: Look) -> None:
    chance = random.Random(rows)
    odd = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e-300, 1e300)
    for _ in range(60):
        count = chance.choice((0, 1, 2, 3, 50, 500))
        steps = tuple(sorted(chance.sample(range(10 * count + 1), count)))

        def points(steps: tuple[int, ...] = steps) -> Points:
            values = tuple(chance.choice(odd) if chance.random() < 0.2 else chance.uniform(0, 3) for _ in steps)
            return Points(steps=steps, values=values)

        series = RunSeries(
            run_id="r",
            revision=1,
            loss=points(),
            eval_loss=points(),
            lr=points(),
            grad_norm=points(),
            max_steps=chance.choice((None, 1, 5000)),
            last_step=steps[-1] if steps else None,
        )
        shape = replace(
            SHAPE,
            width=chance.randrange(30, 140),
            plot_rows=rows,
            lr_rows=chance.randrange(3),
            grad_rows=chance.randrange(4),
            has_axis=chance.random() < 0.5,
        )
        chart = ChartInput(series=series, is_running=chance.random() < 0.5, is_fitted=chance.random() < 0.5)
        for drawn_as in (look, ascii_look):
            assert len(_lines(chart, shape, drawn_as)) == shape.height


def test_a_constant_run_and_a_single_point_are_drawn(look: Look) -> None:
    for values in ((0.5,), (0.5,) * 9):
        points = Points(steps=tuple(range(1, len(values) + 1)), values=values)
        series = RunSeries(run_id="r", revision=1, loss=points, lr=points, grad_norm=points, last_step=len(values))
        text = "\n".join(_lines(ChartInput(series=series, is_running=False), SHAPE, look))
        assert "0.5000" in text


def test_steps_past_the_maximum_end_the_axis_in_full(look: Look) -> None:
    curves = RunCurves("r")
    for step in (4000, 4100):
        curves.add(TrainMetric(time=1.0, step=step, max_steps=4000, loss=1.0))
    lines = _lines(ChartInput(series=curves.series(), is_running=False), SHAPE, look)
    assert lines[18].rstrip().endswith("4100")


def test_a_run_of_200000_points_costs_no_more_than_a_screen(look: Look) -> None:
    curves = RunCurves("r")
    for step in range(1, 200_001):
        curves.add(TrainMetric(time=1.0, step=step, max_steps=200_000, loss=1.0 + 1000 / (step + 500)))
    chart, small = ChartInput(series=curves.series(), is_running=True), _chart()

    def seconds(chart: ChartInput) -> float:
        best = math.inf
        for _ in range(5):
            started = time.thread_time()
            chart_pieces(chart, SHAPE, look)
            best = min(best, time.thread_time() - started)
        return best

    assert seconds(chart) < 12 * seconds(small)


def test_one_more_point_changes_little(look: Look) -> None:
    before = {piece.name: piece for piece in chart_pieces(_chart(940), SHAPE, look)}
    curves = records.curves(940)
    curves.add(TrainMetric(time=1.0, step=941, epoch=1.1, max_steps=2600, loss=0.82, grad_norm=0.41))
    after = chart_pieces(ChartInput(series=curves.series(), is_running=True), SHAPE, look)
    changed = [piece.name for piece in after if piece != before[piece.name]]
    assert "chart-left" not in changed
    assert "chart-48" not in changed


def test_the_right_gutter_holds_the_widest_value(look: Look) -> None:
    piece = next(p for p in chart_pieces(_chart(), SHAPE, look) if p.name == "chart-right")
    assert piece.width == RIGHT_GUTTER
    assert any(row_text(row).strip() == "2.00e-4" for row in piece.rows)


def test_the_step_at_a_column_is_the_nearest_that_has_a_point() -> None:
    chart = _chart(940)
    steps = chart.series.loss.steps
    found = [step_at(chart, SHAPE, column) for column in range(SHAPE.plot_width)]
    known = [step for step in found if step is not None]
    assert known == sorted(known)
    assert set(known) <= set(steps)
    assert (found[0], known[-1]) == (steps[0], steps[-1])
    assert found[-1] is None
    assert len(known) == round(940 / 2600 * SHAPE.plot_width) + 1


def test_where_there_are_evaluations_only_they_are_found() -> None:
    series = RunSeries(run_id="r", revision=1, eval_loss=Points(steps=(100, 200), values=(1.0, 0.9)), max_steps=200,
                       last_step=200)  # fmt: skip
    chart = ChartInput(series=series, is_running=False)
    assert [step_at(chart, SHAPE, column) for column in (0, 20, SHAPE.plot_width - 1)] == [100, 100, 200]
    empty = ChartInput(series=RunSeries(run_id="r", revision=2), is_running=False)
    assert step_at(empty, SHAPE, 3) is None
