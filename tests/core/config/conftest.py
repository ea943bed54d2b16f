"""Settings from a few lines: what a test changes, on a small valid file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import parse_settings
from overbrainer_core.config.settings import Settings
from overbrainer_core.errors import ConfigError

BASE = """
[project]
name = "demo"

[providers.open]
protocol = "openai"

[providers.claude]
protocol = "anthropic"

[roles]
generator = { provider = "open", model = "small" }
parent = { provider = "open", model = "big", reasoning = true }

[targets.here]
kind = "local"
runtime = "native"
"""

Parse = Callable[..., Settings]
Lines = Callable[..., list[str]]


@pytest.fixture
def base() -> str:
    """A small valid file."""
    return BASE


@pytest.fixture
def parse() -> Parse:
    """`parse(text, OVERBRAINER_X="...")`: the settings of the small file with `text` after it."""

    def run(text: str = "", *, base: str = BASE, **variables: str) -> Settings:
        return parse_settings(base + text, Environment(values=variables))

    return run


@pytest.fixture
def problems(parse: Parse) -> Lines:
    """As `parse`, for a file that cannot be used: its problem lines, none when it can."""

    def run(text: str = "", *, base: str = BASE, **variables: str) -> list[str]:
        try:
            parse(text, base=base, **variables)
        except ConfigError as error:
            return [str(problem) for problem in error.problems]
        return []

    return run
