"""Which jobs are children of this process, so that an ended leader is no zombie in its own group?

One registry for the whole process, since a job may be started through one executor and cancelled through another.
A job is meant to outlive this process: forgetting one is no leak.
"""

from __future__ import annotations

import subprocess


class DetachedProcess(subprocess.Popen[bytes]):
    """A child that may be forgotten while it runs."""

    def __del__(self) -> None:
        """No warning about a running child, unlike the base class."""


_children: dict[int, DetachedProcess] = {}


def adopt(child: DetachedProcess) -> None:
    """Remember a child until it has ended and been reaped."""
    _children[child.pid] = child


def reap() -> None:
    """Reap the children that have ended; costs one system call for each living job of this process."""
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            _children.pop(pid, None)
