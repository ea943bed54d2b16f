"""Which variables of other programs hold a secret that overbrainer may use when its own is unset?

A provider's key is taken only for the host it belongs to, over https, so that no key reaches another server.
"""

from __future__ import annotations

from urllib.parse import urlsplit

HF_TOKEN = "HF_TOKEN"  # noqa: S105  # the variable's name
RUNPOD_API_KEY = "RUNPOD_API_KEY"
PROVIDER_VARIABLES = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}


def provider_variable(base_url: str | None) -> str | None:
    """The variable whose key belongs to the host of a base URL, if there is one."""
    try:
        url = urlsplit(base_url or "")
        host = url.hostname
    except ValueError:
        return None
    return PROVIDER_VARIABLES.get(host) if url.scheme == "https" and host else None
