"""The Training view at every size: frames as drawn, the order of what is dropped, rows that keep their width."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from overbrainer_tui.cells import width_of
from overbrainer_tui.look import Look
from overbrainer_tui.pieces import Piece, text_of
from overbrainer_tui.view_models.snapshots import (
    EmptyShown,
    ErrorShown,
    MachineShown,
    RunsShown,
    SelectedRun,
    TrainingShown,
)
from overbrainer_tui.views.training_pieces import MIN_PLOT_ROWS, chart_input, training_layout, training_pieces
from overbrainer_tui.widgets.charts import chart_pieces
from tests.tui import records

Check = Callable[[str, Sequence[str]], None]


def _pieces(shown: TrainingShown, width: int, height: int, look: Look) -> list[Piece]:
    pieces = training_pieces(shown, width, height, look)
    chart = chart_input(shown.selected) if shown.selected is not None and shown.runs.rows else None
    if chart is not None:
        pieces += chart_pieces(chart, training_layout(shown, width, height).chart, look)
    return pieces


def _lines(shown: TrainingShown, width: int, height: int, look: Look) -> list[str]:
    """The view's lines; `height` is the screen's, header and footer included."""
    return [line.rstrip() for line in text_of(_pieces(shown, width, height - 2, look), width, height - 2)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 55), (100, 30), (80, 50), (120, 24)])
@pytest.mark.parametrize("state", ["running", "succeeded"])
def test_frames(width: int, height: int, state: str, look: Look, check_frame: Check) -> None:
    shown = records.training(940 if state == "running" else 2600, state=state)
    check_frame(f"training-{state}-{width}x{height}", _lines(shown, width, height, look))


def test_the_ascii_frame(ascii_look: Look, check_frame: Check) -> None:
    lines = _lines(records.training(), 120, 40, ascii_look)
    assert "".join(lines).isascii()
    check_frame("training-ascii-120x40", lines)


def test_the_frame_with_a_cursor(look: Look, check_frame: Check) -> None:
    check_frame("training-cursor-120x40", _lines(records.training(cursor=610), 120, 40, look))


def test_rows_at_120_by_40_stand_as_drawn(look: Look) -> None:
    lines = _lines(records.training(), 120, 40, look)
    assert lines[2].startswith("▌ roman_roads_20261102-081500  ● running    cloud ")
    assert lines[8].startswith("  ● roman_roads_20261102-081500 ")
    assert lines[9] == "  " + "━" * 41 + "╾" + "─" * 74
    assert (
        lines[10] == "  step        done        ETA         pace        epoch       loss        eval loss   grad norm"
    )
    assert lines[11] == ("  940/2600    36%         52m         1.9 s/step  1.08 of 3   0.7782 ↓    0.9196 ↓    0.412")
    assert lines[13].endswith("   System 10 min ───── now  used ──────────────────")
    assert lines[30] == "        ┴──────────────────┴──────────────────┴──────────┴"
    assert lines[31] == "        step 0          940                  2k       2600"


def test_rows_at_80_by_24_stand_as_drawn(look: Look) -> None:
    lines = _lines(records.training(), 80, 24, look)
    assert lines[5] == "  ● roman_roads_20261102-081500                                train   ETA 52m"
    assert lines[6] == "  ━━━━━━━━━━━━━━━━━━━──────────────────────────────────    step 940/2600   36%"
    assert lines[7] == "  epoch 1.08   gpu 97% 95%   vram 89% 88%   from 20261030-191200"
    assert lines[10].startswith("  Loss log ─────────────────────── ━━ train   ◆ eval   best eval 0.9")
    assert lines[19].startswith("       step 0               940 ")


def test_the_machine_is_shown_from_120_columns(look: Look) -> None:
    shown = replace(records.training(), machine=MachineShown(is_followed=True))
    assert any("waiting for the first sample" in line for line in _lines(shown, 120, 40, look))
    assert not any("System" in line for line in _lines(shown, 119, 40, look))


def test_from_160_columns_the_rail_stands_beside_everything(look: Look) -> None:
    assert "System" in _lines(records.training(), 160, 40, look)[1]
    assert "System" not in _lines(records.training(), 159, 40, look)[1]


def test_the_rail_shrinks_to_the_machine_and_one_message(look: Look) -> None:
    lines = _lines(records.training(), 120, 24, look)
    text = "\n".join(lines)
    assert "root" in text
    assert "Run ───" not in text
    assert "checkpoint-900 saved" in text


def test_a_short_view_drops_blank_rows_then_grad_then_lr_then_runs() -> None:
    shown = records.training()
    seen = []
    for height in range(24, 8, -1):
        layout = training_layout(shown, 80, height - 2)
        shape = layout.chart
        seen.append((-layout.gap, -shape.grad_rows, -shape.lr_rows, -layout.visible_runs))
        if layout.visible_runs > 1:
            assert shape.plot_rows >= MIN_PLOT_ROWS
    assert seen == sorted(seen)


def _failed() -> SelectedRun:
    run = records.selected_run(940, state="failed")
    why = ("why", "the job exited with code 1", True)
    return replace(run, facts=(why,), messages=records.messages(error="the job exited with code 1"))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (120, 24), (120, 40), (200, 55)])
def test_the_final_error_is_never_dropped(width: int, height: int, look: Look) -> None:
    shown = replace(records.training(), runs=records.runs("failed"), selected=_failed())
    lines = _lines(shown, width, height, look)
    assert any("the job exited with code 1" in line for line in lines)
    assert any(line.startswith("  ━") for line in lines)


def test_tall_narrow_views_have_messages_under_the_chart(look: Look) -> None:
    lines = _lines(records.training(), 100, 44, look)
    assert "Messages" in "\n".join(lines[30:])
    assert any(line.startswith("  08:58    checkpoint-900 saved") for line in lines)


def test_a_run_without_curves_says_why(look: Look) -> None:
    run = replace(records.selected_run(), series=None, no_chart="not followed: press a to attach")
    lines = _lines(replace(records.training(), selected=run), 80, 24, look)
    assert lines[10].startswith("  Loss ────")
    assert lines[11] == "  not followed: press a to attach"


def test_an_empty_view_keeps_its_title(look: Look) -> None:
    shown = TrainingShown(runs=RunsShown(), empty=EmptyShown(title="No runs yet", line="t starts one."))
    lines = _lines(shown, 80, 24, look)
    assert lines[0] == "  Runs 0 " + "─" * 69
    assert lines[7] == "              No runs yet"


def test_a_broken_view_keeps_its_title(look: Look) -> None:
    shown = TrainingShown(runs=RunsShown(), error=ErrorShown(title="cannot list the runs: permission denied"))
    assert "✗ cannot list the runs: permission denied" in "\n".join(_lines(shown, 120, 40, look))


def test_pieces_never_overlap_and_stay_inside(look: Look) -> None:
    chance = random.Random(9)
    for _ in range(120):
        width, height = chance.randrange(80, 220), chance.randrange(22, 60)
        state = chance.choice(("running", "preparing", "succeeded", "failed", "stopped"))
        run = replace(
            _failed() if state == "failed" else records.selected_run(state=state),
            run_id=chance.choice((records.RUN_ID, "質問" * 30, "x")),
            messages=records.messages()[: chance.randrange(4)],
            state=state,
        )
        machine = chance.choice((records.machine(), MachineShown()))
        shown = TrainingShown(runs=records.runs(selected=chance.randrange(5)), selected=run, machine=machine)
        taken: set[tuple[int, int]] = set()
        for piece in _pieces(shown, width, height, look):
            assert all(width_of(row) == piece.width for row in piece.rows), piece.name
            cells = {(x, y) for x in range(piece.x, piece.x + piece.width)
                     for y in range(piece.y, piece.y + len(piece.rows))}  # fmt: skip
            assert not cells & taken, (piece.name, width, height, state)
            assert max(x for x, _ in cells) < width, piece.name
            assert max(y for _, y in cells) < height, (piece.name, width, height, state)
            taken |= cells


def test_every_width_and_height_gives_a_name_for_each_piece_once(look: Look) -> None:
    for width in (80, 119, 120, 159, 160, 250):
        names = [piece.name for piece in _pieces(records.training(), width, 38, look)]
        assert len(names) == len(set(names))


def test_in_the_narrow_view_the_reason_of_a_run_without_a_curve_is_whole(look: Look) -> None:
    why = (
        "the job exited with code 137: out of memory while it loaded the model (see runs/roman_roads_20261102/job.log)"
    )
    run = replace(records.selected_run(state="failed"), series=None, no_chart="no metrics", facts=(("why", why, True),))
    shown = replace(records.training(state="failed"), selected=run)
    narrow = " ".join(text_of(training_pieces(shown, 80, 22, look), 80, 22))
    assert "".join(why.split()) in "".join(narrow.split())
    (piece,) = (piece for piece in training_pieces(shown, 120, 38, look) if piece.name == "no-chart")
    assert len(piece.rows) == 2
