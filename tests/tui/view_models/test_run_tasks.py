"""Tasks on runs: what they are called, and which holds the lock."""

from __future__ import annotations

import pytest

from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind, RunTasks

START, ATTACH, STOP, CANCEL = RunTaskKind.START, RunTaskKind.ATTACH, RunTaskKind.STOP, RunTaskKind.CANCEL


def task(kind: RunTaskKind, *, begun: bool = True, following: RunTaskKind | None = None, number: int = 1) -> RunTask:
    return RunTask(number=number, kind=kind, run_id="r", has_begun=begun, following=following)


@pytest.mark.parametrize(
    ("found", "word", "is_following"),
    [
        (task(START, begun=False), "starting", False),
        (task(START), "followed", True),
        (task(ATTACH), "followed", True),
        (task(STOP), "stopping", True),
        (task(CANCEL), "cancelling", False),
        (task(ATTACH, following=CANCEL), "cancelling", True),
        (task(ATTACH, following=STOP), "stopping", True),
        (task(START, begun=False, following=CANCEL), "cancelling", False),
    ],
)
def test_a_task_is_called_by_what_it_does_or_will_do(found: RunTask, word: str, is_following: bool) -> None:
    assert (found.word, found.is_following) == (word, is_following)


def test_tasks_are_found_by_number_and_by_run() -> None:
    tasks = RunTasks()
    tasks.add(task(ATTACH, number=3))
    assert tasks.of_run("r") is tasks.get(3)
    assert tasks.of_run("other") is None
    assert (len(tasks), list(tasks)) == (1, [tasks.get(3)])
    assert tasks.remove(3) is not None
    assert (tasks.remove(3), len(tasks)) == (None, 0)


def test_only_a_start_that_has_not_begun_holds_the_lock() -> None:
    tasks = RunTasks()
    tasks.add(task(ATTACH, begun=False))
    assert tasks.starting is None
    tasks.add(task(START, begun=False, number=2))
    assert tasks.starting is tasks.get(2)
