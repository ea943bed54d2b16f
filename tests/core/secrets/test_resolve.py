"""Resolving: literals need nothing, references need Vault, and the key is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.config.env import Environment
from overbrainer_core.config.settings import SecretText
from overbrainer_core.errors import SecretError, describe
from overbrainer_core.secrets import vault
from overbrainer_core.secrets.resolve import resolve_secret


async def failure(text: str, **variables: str) -> str:
    with pytest.raises(SecretError) as caught:
        await resolve_secret(SecretText(text), key="hf_token", environment=Environment(values=variables))
    assert caught.value.__context__ is None
    return describe(caught.value)


@pytest.mark.parametrize("text", ["0123", "", " vault:a/b#c"])
async def test_a_literal_is_itself_whatever_vault_says(text: str) -> None:
    broken = Environment(values={"VAULT_ADDR": "broken", "VAULT_TOKEN": "\n"})
    assert await resolve_secret(SecretText(text), key="k", environment=broken) == text


async def test_a_reference_is_read_from_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(reference: object, access: vault.VaultAccess) -> str:
        return f"{reference} {access.address} {access.token}"

    monkeypatch.setattr(vault, "fetch_field", fetch)
    environment = Environment(values={"VAULT_ADDR": "http://a", "VAULT_TOKEN": "t"})
    value = await resolve_secret(SecretText("vault:kv/p#f"), key="k", environment=environment)
    assert value == "vault:kv/p#f http://a t"


async def test_a_failure_names_the_key_and_the_cause(tmp_path: Path) -> None:
    assert await failure("vault:hidden") == (
        "cannot resolve hf_token: invalid secret reference: expected vault:<mount>/<path>#<field>"
    )
    assert await failure("vault:a/b#c") == (
        "cannot resolve hf_token: a vault: reference was found but VAULT_ADDR is not set"
    )
    (tmp_path / ".vault-token").mkdir()
    assert await failure("vault:a/b#c", VAULT_ADDR="http://a", HOME=str(tmp_path)) == (
        f"cannot resolve hf_token: cannot read {tmp_path / '.vault-token'}: Is a directory"
    )
