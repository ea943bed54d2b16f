"""Is a secret's text the secret itself, or a reference to a field in Vault?

`vault:<mount>/<path>#<field>` with `vault:` as the first characters; everything else is a literal. A malformed
reference is never echoed: it may be a secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from overbrainer_core.errors import SecretError

PREFIX = "vault:"
MALFORMED = "invalid secret reference: expected vault:<mount>/<path>#<field>"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultReference:
    """A field of a secret in a KV version 2 mount."""

    mount: str
    path: str
    field: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.mount}/{self.path}#{self.field}"


def is_reference(text: str) -> bool:
    """Whether a secret's text names a field in Vault."""
    return text.startswith(PREFIX)


def parse_reference(text: str) -> VaultReference:
    """The parts of a reference: the first `#` ends the location, the first `/` ends the mount.

    Raises:
        SecretError: a part is missing.
    """
    location, _, field = text.removeprefix(PREFIX).partition("#")
    mount, _, path = location.partition("/")
    if not is_reference(text) or not mount or not path or not field:
        raise SecretError(MALFORMED)
    return VaultReference(mount=mount, path=path, field=field)
