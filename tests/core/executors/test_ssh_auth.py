"""Keys to log in with: files, a real agent, certificates, and what is left out."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.executors.ssh_auth import gather_keys
from overbrainer_core.executors.ssh_config import HostSettings
from tests.peers.sshd import Agent, make_key, needs_sshd, public_text

pytestmark = needs_sshd


def settings(*files: Path, agent: Agent | None = None, only: bool = False) -> HostSettings:
    """Settings that name these key files."""
    return HostSettings(
        alias="lab",
        host="lab",
        port=22,
        user="me",
        identity_files=files,
        has_identity_files=True,
        identities_only=only,
        agent=str(agent.socket) if agent else None,
        connect_timeout_s=30,
        alive_interval_s=15,
        alive_count=3,
    )


async def offered(given: HostSettings) -> tuple[list[str], tuple[str, ...]]:
    """Kind and comment of each key in order, and what was left out."""
    offer = await gather_keys(given)
    offer.close()
    return [f"{key.get_key_type()} {key.get_comment()}" for key in offer.keys], offer.skipped


async def test_keys_of_every_kind_are_read_in_order(tmp_path: Path) -> None:
    files = [make_key(tmp_path / kind, kind=kind) for kind in ("ed25519", "ecdsa", "rsa")]
    assert await offered(settings(*files)) == (["local ed25519", "local ecdsa", "local rsa"], ())


async def test_what_cannot_be_used_is_left_out_and_told(tmp_path: Path) -> None:
    locked = make_key(tmp_path / "locked", passphrase="secret words")
    old = make_key(tmp_path / "old", kind="rsa")
    subprocess.run(
        ["ssh-keygen", "-q", "-p", "-m", "PEM", "-P", "", "-N", "secret words", "-f", str(old)],
        check=True,
        capture_output=True,
    )
    wide = make_key(tmp_path / "wide")
    wide.chmod(0o644)
    (tmp_path / "text").write_text("no key")
    (tmp_path / "text").chmod(0o600)
    keys, skipped = await offered(settings(locked, old, wide, tmp_path / "text", tmp_path / "none"))
    assert keys == []
    assert skipped == (
        f"{locked} is encrypted and not in the agent",
        f"{old} is encrypted and not in the agent",
        f"Permissions 0644 for '{wide}' are too open",
        f"{tmp_path / 'text'} is no private key that can be read",
        f"{tmp_path / 'none'} does not exist",
    )


async def test_a_default_key_that_is_not_there_is_no_news(tmp_path: Path) -> None:
    given = replace(settings(tmp_path / "id_ed25519"), has_identity_files=False)
    assert await offered(given) == ([], ())


async def test_keys_of_the_agent_come_first_and_only_once(tmp_path: Path, agent: Agent) -> None:
    held, own = make_key(tmp_path / "held"), make_key(tmp_path / "own")
    agent.add([held], environment=dict(os.environ))
    keys, _ = await offered(settings(own, held, agent=agent))
    assert keys == ["agent held", "local own"]


async def test_identities_only_keeps_the_agent_to_the_named_files(tmp_path: Path, agent: Agent) -> None:
    many = [make_key(tmp_path / f"key{number}") for number in range(4)]
    agent.add(many, environment=dict(os.environ))
    # Only the public half is here: the agent holds the rest.
    many[2].unlink()
    assert await offered(settings(many[2], agent=agent, only=True)) == (["agent key2"], ())
    keys, _ = await offered(settings(many[2], agent=agent))
    assert len(keys) == 4


async def test_an_encrypted_key_that_the_agent_holds_is_not_told(tmp_path: Path, agent: Agent) -> None:
    key = make_key(tmp_path / "key")
    agent.add([key], environment=dict(os.environ))
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(key)], check=True)
    assert await offered(settings(key, agent=agent)) == (["agent key"], ())


async def test_an_agent_that_is_gone_is_told(tmp_path: Path) -> None:
    given = replace(settings(), agent=str(tmp_path / "gone.sock"))
    assert await offered(given) == ([], (f"the agent at {tmp_path}/gone.sock does not answer",))


@pytest.mark.parametrize("is_named", [True, False])
async def test_a_certificate_is_offered_before_its_key(tmp_path: Path, is_named: bool) -> None:
    authority, key = make_key(tmp_path / "ca"), make_key(tmp_path / "key")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", "me", f"{key}.pub"],
        check=True,
        capture_output=True,
    )
    certificate = tmp_path / "key-cert.pub"
    given = settings(key)
    if is_named:
        certificate = certificate.rename(tmp_path / "elsewhere.pub")
        given = replace(given, certificate_files=(certificate, tmp_path / "none"))
    offer = await gather_keys(given)
    assert [pair.has_cert for pair in offer.keys] == [True, False]
    assert offer.skipped == ((f"{tmp_path}/none does not exist",) if is_named else ())


async def test_nothing_of_a_key_shows(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    offer = await gather_keys(settings(key))
    assert public_text(key).split()[1] not in repr(offer)
