"""The list of runs, the selection, the chart's cursor."""

from __future__ import annotations

from overbrainer_core.events.types import Metric, System
from overbrainer_tui.view_models.training import TrainingModel, TrainingSetup
from tests.tui.records import sample
from tests.tui.states import (
    FAILED_ID,
    NOW,
    OLDEST_ID,
    RUNNING_ID,
    STOPPED_ID,
    SUCCEEDED_ID,
    metrics,
    run_record,
    run_records,
)


def listed() -> TrainingModel:
    model = TrainingModel(TrainingSetup(target="local", base_model="m", epochs=3))
    model.take_runs(run_records())
    return model


def selected(model: TrainingModel) -> str | None:
    return model.selected.id if model.selected is not None else None


def test_runs_are_shown_newest_first_with_the_newest_selected() -> None:
    shown = listed().snapshot(NOW).runs
    assert [row.run_id for row in shown.rows] == [RUNNING_ID, STOPPED_ID, SUCCEEDED_ID, FAILED_ID, OLDEST_ID]
    assert (shown.selected, shown.rows[1].state, shown.rows[1].target) == (0, "stopped", "homelab")


def test_moving_stays_within_the_list() -> None:
    model = listed()
    seen = []
    for key in ("k", "j", "down", "end", "j", "home", "pagedown", "pageup"):
        assert model.on_key(key)
        seen.append(selected(model))
    assert seen == [
        RUNNING_ID, STOPPED_ID, SUCCEEDED_ID, OLDEST_ID, OLDEST_ID, RUNNING_ID, OLDEST_ID, RUNNING_ID,
    ]  # fmt: skip


def test_the_selection_stays_on_its_run_when_a_newer_one_appears() -> None:
    model = listed()
    model.on_key("j")
    model.take_runs([*run_records(), run_record("z_new")])
    assert selected(model) == STOPPED_ID
    assert model.snapshot(NOW).runs.selected == 2


def test_a_selected_run_that_is_gone_gives_way_to_the_newest() -> None:
    model = listed()
    model.on_key("j")
    model.take_runs([record for record in run_records() if record.id != STOPPED_ID])
    assert selected(model) == RUNNING_ID


def test_no_run_names_the_target_or_the_missing_section() -> None:
    model = TrainingModel(TrainingSetup(target="local", base_model="m"))
    assert model.snapshot(NOW).empty is None
    model.take_runs([])
    empty = model.snapshot(NOW).empty
    assert empty is not None
    assert "t starts one on local" in empty.line
    model = TrainingModel()
    model.take_runs([])
    empty = model.snapshot(NOW).empty
    assert empty is not None
    assert "[training]" in empty.line


def test_the_cursor_moves_over_the_curve_and_escape_drops_it() -> None:
    model = listed()
    for metric in metrics(940):
        model.apply(1, Metric(run_id=RUNNING_ID, metric=metric))
    assert model.has_curve
    steps = []
    for key in (",", ",", ".", ".", "."):
        model.on_key(key)
        run = model.snapshot(NOW).selected
        steps.append(run.cursor.step if run is not None and run.cursor is not None else None)
    assert steps == [940, 930, 940, 940, 940]
    model.on_key("escape")
    run = model.snapshot(NOW).selected
    assert run is not None
    assert run.cursor is None


def test_the_axis_is_fitted_and_back() -> None:
    model = listed()
    fitted = []
    for _ in range(2):
        model.on_key("z")
        run = model.snapshot(NOW).selected
        fitted.append(run.is_fitted if run is not None else None)
    assert fitted == [True, False]


def test_moving_to_another_run_drops_the_cursor() -> None:
    model = listed()
    for metric in metrics(50):
        model.apply(1, Metric(run_id=RUNNING_ID, metric=metric))
    model.on_key(",")
    model.on_key("j")
    model.on_key("k")
    run = model.snapshot(NOW).selected
    assert run is not None
    assert run.cursor is None


def test_samples_stay_with_their_run() -> None:
    model = listed()
    model.apply(1, System(run_id=RUNNING_ID, sample=sample(3)))
    assert model.snapshot(NOW).machine.samples == (sample(3),)
    model.on_key("j")
    assert model.snapshot(NOW).machine.samples == ()


def test_the_label_counts_the_tasks() -> None:
    model = listed()
    assert model.label is None
