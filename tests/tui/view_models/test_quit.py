"""The rows of a quit, what is waited for, and the notes."""

from __future__ import annotations

from overbrainer_core.events.types import StageStarted
from overbrainer_core.values.stage import Stage
from overbrainer_tui.view_models.pipeline import PipelineModel
from overbrainer_tui.view_models.quit import QuitModel, QuitPhase, quit_rows, short_run, waiting_for
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind, RunTasks
from tests.tui.states import RUNNING_ID


def tasks_of(*tasks: RunTask) -> RunTasks:
    found = RunTasks()
    for task in tasks:
        found.add(task)
    return found


def task(number: int, kind: RunTaskKind, *, begun: bool = True) -> RunTask:
    return RunTask(number=number, kind=kind, run_id=f"{RUNNING_ID}{number}", target="local", has_begun=begun)


def running() -> PipelineModel:
    model = PipelineModel()
    model.start(1, "answers", concurrency=12)
    model.apply(1, StageStarted(stage=Stage.ANSWERS, total=320))
    return model


def test_each_piece_of_work_has_a_paragraph() -> None:
    kinds = (RunTaskKind.ATTACH, RunTaskKind.STOP, RunTaskKind.CANCEL)
    tasks = tasks_of(
        *(task(number, kind) for number, kind in enumerate(kinds)), task(9, RunTaskKind.START, begun=False)
    )
    text = "\n".join(f"{row.label} {row.value} {row.remark}" for row in quit_rows(running(), tasks, is_exporting=True))
    for words in (
        "answers 0/320 12 requests in flight",
        "already paid",
        "keeps training on local",
        "until its snapshot is saved",
        "is being cancelled",
        "waits until its job started",
        "are being written",
        "overbrainer train attach follows it again",
    ):
        assert words in text
    assert quit_rows(PipelineModel(), RunTasks(), is_exporting=False) == ()


def test_a_command_whose_first_stage_has_not_started_is_told_by_its_name() -> None:
    model = PipelineModel()
    model.start(1, "run", concurrency=1)
    assert quit_rows(model, RunTasks(), is_exporting=False)[0].label == "run"


def test_what_an_exit_waits_for_is_listed() -> None:
    tasks = tasks_of(
        task(1, RunTaskKind.ATTACH),
        task(2, RunTaskKind.CANCEL),
        RunTask(number=3, kind=RunTaskKind.START),
    )
    assert waiting_for(running(), tasks, is_exporting=True) == (
        "answers to stop",
        f"run {RUNNING_ID}1 to detach",
        f"run {RUNNING_ID}2 to be cancelled",
        "a new run to start",
        "the log export",
    )


def test_staying_tells_what_cannot_be_undone_once() -> None:
    quitting = QuitModel()
    quitting.phase = QuitPhase.WAITING
    quitting.interrupted = "run"
    quitting.detached.update(("a", "b"))
    assert quitting.stay() == "not quitting; run still stops; 2 runs still detached"
    assert quitting.stay() == "not quitting"


def test_notes_keep_their_order_and_go_with_work_taken_up_again() -> None:
    quitting = QuitModel()
    quitting.note("first", subject="a")
    quitting.note("second", subject="b")
    quitting.take_up("a")
    quitting.note("third", subject="a")
    assert quitting.notes == ("second", "third")


def test_a_long_run_is_labelled_by_its_end() -> None:
    assert short_run(RUNNING_ID) == "…081500"
    assert short_run("short") == "short"
