"""Secrets: literals and references, a malformed one never echoed."""

from __future__ import annotations

import pytest

from overbrainer_core.errors import SecretError
from overbrainer_core.secrets.reference import VaultReference, is_reference, parse_reference


@pytest.mark.parametrize(
    ("text", "mount", "path", "field"),
    [
        ("vault:secret/app#key", "secret", "app", "key"),
        ("vault:secret/team/app#key", "secret", "team/app", "key"),
        ("vault:kv/a#b#c", "kv", "a", "b#c"),
        ("vault:kv/a b#\u00e9", "kv", "a b", "\u00e9"),
    ],
)
def test_a_reference_has_these_parts(text: str, mount: str, path: str, field: str) -> None:
    found = parse_reference(text)
    assert found == VaultReference(mount=mount, path=path, field=field)
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    ["vault:", "vault:secret#k", "vault:secret/path", "vault:/path#k", "vault:secret/#k", "vault:secret/p#", "hidden"],
)
def test_a_malformed_reference_is_never_echoed(text: str) -> None:
    with pytest.raises(SecretError) as caught:
        parse_reference(text)
    assert str(caught.value) == "invalid secret reference: expected vault:<mount>/<path>#<field>"


@pytest.mark.parametrize("text", [" vault:a/b#c", "Vault:a/b#c", "0123", "", "vault"])
def test_everything_else_is_a_literal(text: str) -> None:
    assert not is_reference(text)
