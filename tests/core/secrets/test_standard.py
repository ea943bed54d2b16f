"""Standard variables: each key for its own host."""

from __future__ import annotations

import pytest

from overbrainer_core.secrets.standard import provider_variable


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        ("https://OPENROUTER.ai:443/api/v1", "OPENROUTER_API_KEY"),
        ("http://openrouter.ai/api/v1", None),
        ("https://openrouter.ai.example", None),
        ("https://api.openai.com@example.com", None),
        ("https://[", None),
        ("demo:", None),
        ("", None),
        (None, None),
    ],
)
def test_a_key_belongs_to_a_host(url: str | None, variable: str | None) -> None:
    assert provider_variable(url) == variable
