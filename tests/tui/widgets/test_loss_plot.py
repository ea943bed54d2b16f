"""Loss and eval loss in a plot: what covers what, and where the newest values stand."""

from __future__ import annotations

import pytest

from overbrainer_tui.cells import Tone, row_text
from overbrainer_tui.charting.columns import columns_of
from overbrainer_tui.charting.scales import x_scale, y_scale
from overbrainer_tui.look import Look
from overbrainer_tui.view_models.snapshots import CursorShown, Points, RunSeries
from overbrainer_tui.widgets.loss_plot import LossDrawn, LossLayers, loss_rows


def _drawn(
    loss: Points,
    eval_loss: Points,
    look: Look,
    *,
    max_steps: int = 100,
    is_running: bool = True,
    cursor: CursorShown | None = None,
) -> LossDrawn:
    last = max((*loss.steps, *eval_loss.steps), default=None)
    series = RunSeries(run_id="r", revision=1, loss=loss, eval_loss=eval_loss, max_steps=max_steps, last_step=last)
    x = x_scale(loss.steps or eval_loss.steps, max_steps=max_steps, cells=50, is_fitted=False)
    y = y_scale([*loss.values, *eval_loss.values], 8)
    return loss_rows(
        LossLayers(
            series,
            columns_of(loss.steps, loss.values, x),
            columns_of(eval_loss.steps, eval_loss.values, x),
            is_running,
            cursor,
            x,
            y,
        ),
        50,
        8,
        look,
    )


def _lines(drawn: LossDrawn) -> list[str]:
    return [row_text(row) for row in drawn.plot.rows(0, 50)]


FALLING = Points(steps=(10, 20, 30, 40), values=(2.0, 1.6, 1.3, 1.0))
EVALS = Points(steps=(20, 40), values=(1.7, 1.1))


def test_the_newest_values_stand_at_the_lines_ends(look: Look) -> None:
    lines = "\n".join(_lines(_drawn(FALLING, EVALS, look)))
    assert " 1.0000 train " in lines
    assert " 1.1000 eval " in lines


def test_values_that_would_share_a_row_are_parted_eval_above(look: Look) -> None:
    lines = _lines(_drawn(FALLING, Points(steps=(40,), values=(1.0,)), look))
    train = next(n for n, line in enumerate(lines) if "train" in line)
    evaluation = next(n for n, line in enumerate(lines) if "eval" in line)
    assert evaluation == train - 1


def test_values_on_the_top_row_are_parted_downwards(look: Look) -> None:
    rising = Points(steps=(10, 40), values=(1.0, 2.0))
    lines = _lines(_drawn(rising, Points(steps=(40,), values=(2.0,)), look))
    assert next(n for n, line in enumerate(lines) if "eval" in line) == 0
    assert next(n for n, line in enumerate(lines) if "train" in line) == 1


def test_values_go_to_the_gutter_once_the_line_gets_there(look: Look) -> None:
    drawn = _drawn(FALLING, EVALS, look, max_steps=45)
    assert [(text, tone) for _, text, tone in drawn.gutter] == [
        ("1.0000", Tone("train", "bold")),
        ("1.1000", Tone("eval", "bold")),
    ]
    assert len({row for row, _, _ in drawn.gutter}) == 2
    assert "train" not in "".join(_lines(drawn))


def test_now_and_the_cursor_cross_the_plot_under_the_curves(look: Look) -> None:
    lines = _lines(_drawn(FALLING, Points(), look, cursor=CursorShown(step=90)))
    assert sum("│" in line for line in lines) == 8
    assert sum("╎" in line for line in lines) >= 6
    ended = _lines(_drawn(FALLING, Points(), look, is_running=False))
    assert not any("╎" in line for line in ended)


def test_every_evaluation_has_a_mark(look: Look) -> None:
    assert "".join(_lines(_drawn(Points(), EVALS, look))).count("◆") == 2


def test_ascii_has_no_other_characters(ascii_look: Look) -> None:
    assert "".join(_lines(_drawn(FALLING, EVALS, ascii_look, cursor=CursorShown(step=10)))).isascii()


def test_a_sparse_grid_has_a_dot_every_seven_cells(mono: Look) -> None:
    drawn = _drawn(Points(steps=(1,), values=(1.0,)), Points(steps=(1,), values=(2.2,)), mono, is_running=False)
    row = drawn.ticks[-1][0]
    assert _lines(drawn)[row][14::7].startswith("·")


@pytest.mark.parametrize(
    "points", [Points(), Points(steps=(5,), values=(0.5,)), Points(steps=(5, 6), values=(0.5, 0.5))]
)
def test_few_points_are_drawn(points: Points, look: Look) -> None:
    for loss, evals in ((points, Points()), (Points(), points), (points, points)):
        assert all(len(line) == 50 for line in _lines(_drawn(loss, evals, look)))
