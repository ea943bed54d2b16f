"""A subject to examine: settings from a few lines, a provider in the test's hands, programs of the test's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import parse_settings
from overbrainer_core.flows.doctor_checks.base import Subject
from overbrainer_core.flows.doctor_checks.looks import LocalShell
from overbrainer_core.project.paths import ProjectPaths

CONFIG = """
[project]
name = "examined"

[providers.here]
protocol = "openai"

[roles]
generator = { provider = "here", model = "small" }
parent = { provider = "here", model = "big" }
"""

MakeSubject = Callable[..., Subject]


@pytest.fixture
def subject(tmp_path: Path, fake_clock: Any, provider: Any) -> MakeSubject:
    """`subject(text, OVERBRAINER_X="...")`: a project with `text` after its few lines, and these variables."""

    def make(text: str = "", *, config: str = CONFIG, is_offline: bool = False, **variables: str) -> Subject:
        environment = Environment(values=variables)
        return Subject(
            paths=ProjectPaths(tmp_path),
            environment=environment,
            settings=parse_settings(config + text, environment),
            clock=fake_clock,
            is_offline=is_offline,
            connect=lambda _provider: provider,
        )

    return make


@pytest.fixture
def stub(tmp_path: Path) -> Callable[[str, str], Path]:
    """`stub(name, body)`: a program that `local_shell` finds first."""

    def make(name: str, body: str) -> Path:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def local_shell(tmp_path: Path) -> LocalShell:
    """Looks on this machine, the test's own programs found first, its folder as the home."""
    return LocalShell({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)})
