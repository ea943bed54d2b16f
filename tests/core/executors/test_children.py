"""Children of this process are reaped, and may be forgotten while they run."""

from __future__ import annotations

import gc
import os
import signal
import warnings

import pytest

from overbrainer_core.executors.children import DetachedProcess, adopt, reap
from tests.peers.shells import eventually


def test_an_ended_child_is_reaped_and_a_living_one_left_alone() -> None:
    short = DetachedProcess(["true"])
    long = DetachedProcess(["sleep", "60"])
    adopt(short)
    adopt(long)

    def short_is_gone() -> bool:
        reap()
        return short.returncode is not None

    eventually(short_is_gone)
    assert long.returncode is None
    os.kill(long.pid, signal.SIGKILL)
    long.wait()
    reap()
    with pytest.raises(ProcessLookupError):
        os.kill(short.pid, 0)


def test_forgetting_a_running_child_gives_no_warning() -> None:
    child = DetachedProcess(["sleep", "60"])
    pid = child.pid
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del child
        gc.collect()
    assert warned == []
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_child_that_somebody_else_reaped_is_forgotten() -> None:
    child = DetachedProcess(["true"])
    adopt(child)
    os.waitpid(child.pid, 0)
    reap()
    assert child.returncode is not None
