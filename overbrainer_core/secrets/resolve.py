"""What is the value behind a secret of the settings, at the moment it is needed?

Only what a command uses is resolved, and nothing is kept: the value lives with the connection it was resolved for.
A literal never needs Vault, whatever its variables hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from overbrainer_core.errors import SecretError
from overbrainer_core.secrets.reference import is_reference, parse_reference


class Secret(Protocol):
    """A literal or a reference that hides its text."""

    def reveal(self) -> str:
        """The text."""
        ...


class Variables(Protocol):
    """Where `VAULT_ADDR`, `VAULT_TOKEN` and `HOME` are found."""

    @property
    def values(self) -> Mapping[str, str]:
        """All variables."""
        ...


async def resolve_secret(secret: Secret, *, key: str, environment: Variables) -> str:
    """The value of the secret that the dotted `key` holds.

    Raises:
        SecretError: `cannot resolve <key>: <cause>`, never with the value or the text of a malformed reference.
    """
    text = secret.reveal()
    if not is_reference(text):
        return text
    from overbrainer_core.secrets.vault import fetch_field, find_access  # httpx, which most commands never need

    failure = ""
    try:
        reference = parse_reference(text)
        return await fetch_field(reference, find_access(environment.values))
    except SecretError as error:
        cause = error.__cause__
        failure = f"{error}: {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else str(error)
    raise SecretError(f"cannot resolve {key}: {failure}")
