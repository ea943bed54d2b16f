"""What is one finding of the doctor, and what does a check look at? Plain values; a detail never holds a secret."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.clock import Clock
from overbrainer_core.config.env import Environment
from overbrainer_core.config.settings import Settings
from overbrainer_core.llm.client import Connect
from overbrainer_core.project.paths import ProjectPaths


class Status(StrEnum):
    """How a check ended; only a failure stops work from succeeding."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding: what was looked at, how it stands, in words, and what to do next where something is to be done."""

    name: str
    status: Status
    detail: str
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The project that is examined; `is_offline` leaves out what needs the network, `connect` replaces it in tests."""

    paths: ProjectPaths
    environment: Environment
    settings: Settings
    clock: Clock
    is_offline: bool = False
    connect: Connect | None = None


def ok(name: str, detail: str) -> Check:
    """Nothing is to be done."""
    return Check(name=name, status=Status.OK, detail=detail)


def warning(name: str, detail: str, next_step: str | None = None) -> Check:
    """Work can go on, but somebody should know."""
    return Check(name=name, status=Status.WARNING, detail=detail, next=next_step)


def failure(name: str, detail: str, next_step: str | None = None) -> Check:
    """Work would fail here."""
    return Check(name=name, status=Status.FAILURE, detail=detail, next=next_step)


def skipped(name: str, detail: str) -> Check:
    """It was not looked at, and why."""
    return Check(name=name, status=Status.SKIPPED, detail=detail)


OFFLINE = "left out: it needs the network"
"""Why a check is skipped with `--offline`."""


def gigabytes(size_bytes: int) -> str:
    """A size for people: `141 GB`, `1.5 GB`, `300 MB`."""
    if size_bytes < 10**9:
        return f"{size_bytes // 10**6} MB"
    size = size_bytes / 10**9
    return f"{size:.1f} GB" if size < 10 else f"{size:.0f} GB"
