"""The rows of a start, a resume and auto mode's question."""

from __future__ import annotations

from collections.abc import Sequence

from overbrainer_tui.view_models.overlay import DialogRow, RowTone
from overbrainer_tui.view_models.start import GOES_ON, auto_rows, plan_rows
from tests.tui.states import plan_facts, project


def lines(rows: Sequence[DialogRow]) -> list[str]:
    return [" ".join(part for part in (row.label, row.value, row.remark) if part) for row in rows]


def test_a_start_tells_target_model_and_data_and_that_the_run_goes_on() -> None:
    assert lines(plan_rows(plan_facts())) == [
        "target local local, native",
        "model Qwen/Qwen3-0.6B qlora, 3 epochs, lr 2e-4",
        "data 1906 train 212 eval",
        "",
        GOES_ON,
    ]


def test_a_resume_tells_the_run_its_step_its_checkpoint_and_whose_data() -> None:
    told = lines(plan_rows(plan_facts(resume=("r1", 900, "output/checkpoint-900"))))
    assert told[2] == "resume r1 at step 900, output/checkpoint-900, with its own data"
    assert told[3] == "data 1906 train 212 eval, the stopped run's own"


def test_each_warning_has_a_line() -> None:
    rows = plan_rows(plan_facts(warnings=("one", "two")))
    assert [row.value for row in rows if row.tone is RowTone.WARNING] == ["one", "two"]


def test_the_demo_s_question_names_place_and_time() -> None:
    told = lines(auto_rows(project(), demo_directory="overbrainer-demo"))
    assert "directory overbrainer-demo" in told
    assert "takes about two minutes" in told


def test_auto_mode_tells_the_run_it_resumes_and_without_training_where_it_stops() -> None:
    assert any(line.startswith("resume r1") for line in lines(auto_rows(project(), resume_from="r1")))
    assert any("stops after split" in line for line in lines(auto_rows(project(target=None))))
