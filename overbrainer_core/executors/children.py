"""Which jobs are children of this process, so that an ended leader is no zombie in its own group?

One registry for the whole process, since a job may be started through one executor and cancelled through another.
A job is meant to outlive this process: forgetting one is no leak.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

_TRIES = 20
"""Starts of one child; each but the last was struck in the millisecond in which it is no leader yet."""


class DetachedProcess(subprocess.Popen[bytes]):
    """A child that may be forgotten while it runs."""

    def __del__(self) -> None:
        """No warning about a running child, unlike the base class."""


def start_leader(start: Callable[[], DetachedProcess]) -> DetachedProcess:
    """A child that leads a session of its own, started by `start` with `start_new_session`.

    Between its fork and its `setsid` a child is in our process group, where a Ctrl-C kills it before it is anything.
    Nothing of it has run then, so it is started again.

    Raises:
        OSError: it cannot be started.
        InterruptedError: every one of many starts was struck.
    """
    for _ in range(_TRIES):
        child = start()
        if os.getsid(child.pid) == child.pid:  # our child is not reaped yet, so its number is still its own
            return child
        child.wait()
    raise InterruptedError(4, os.strerror(4))


_children: dict[int, DetachedProcess] = {}


def adopt(child: DetachedProcess) -> None:
    """Remember a child until it has ended and been reaped."""
    _children[child.pid] = child


def reap() -> None:
    """Reap the children that have ended; costs one system call for each living job of this process."""
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            _children.pop(pid, None)
