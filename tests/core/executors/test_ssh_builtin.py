"""The client without a binary against a real sshd: host keys, logins, jumps, proxies, limits."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from overbrainer_core.errors import describe
from overbrainer_core.executors import ssh_builtin
from overbrainer_core.executors.errors import ExecutorError
from tests.peers.shells import eventually
from tests.peers.sshd import Agent, Sshd, free_port, make_key, needs_sshd, public_text

SshDesk = Any

pytestmark = needs_sshd


async def refusal(lab: SshDesk, **given: Any) -> str:
    """Why no connection comes about."""
    with pytest.raises(ExecutorError) as caught:
        await lab.connect("builtin", **given)
    return describe(caught.value)


def configure(server: Sshd, text: str) -> None:
    """Write the configuration as it is."""
    file = server.client_home / ".ssh" / "config"
    file.write_text(text)
    file.chmod(0o600)


async def test_an_unknown_host_is_refused(lab: SshDesk) -> None:
    where = f"127.0.0.1:{lab.server.port}"
    known = lab.server.client_home / ".ssh" / "known_hosts"
    known.write_text(f"127.0.0.1 {public_text(lab.server.host_key)}\n")
    unknown = f"host key verification failed for {where}: unknown host (add it with ssh-keyscan or a first connection"
    assert unknown in await refusal(lab)
    known.unlink()
    assert f"{known} does not exist" in await refusal(lab)
    assert not known.exists()


async def test_a_changed_key_is_told_apart_from_an_unknown_host(lab: SshDesk, tmp_path: Path) -> None:
    lab.server.trust(make_key(tmp_path / "another"))
    told = await refusal(lab)
    assert told.endswith(f"host key verification failed for 127.0.0.1:{lab.server.port}: the host key changed")


async def test_a_key_of_another_kind_is_a_changed_key_too(lab: SshDesk, tmp_path: Path) -> None:
    lab.server.trust(make_key(tmp_path / "another", kind="ecdsa"))
    assert "the host key changed" in await refusal(lab)


async def test_a_revoked_key_is_refused_although_it_is_known(lab: SshDesk) -> None:
    known = lab.server.client_home / ".ssh" / "known_hosts"
    text = public_text(lab.server.host_key)
    known.write_text(f"[127.0.0.1]:{lab.server.port} {text}\n@revoked * {text}\n")
    assert "the host key is revoked" in await refusal(lab)


async def test_of_several_host_keys_a_known_one_is_used(lab: SshDesk, tmp_path: Path) -> None:
    rsa = make_key(tmp_path / "rsa_host", kind="rsa")
    lab.server.trust(rsa)
    with open(lab.server.directory / "more", "w") as more:
        more.write("")
    lab.server.restart(HostKeyAlgorithms="ssh-ed25519,rsa-sha2-512", Include=str(lab.server.directory / "extra"))
    lab.server.stop()
    (lab.server.directory / "extra").write_text(f"HostKey {rsa}\n")
    lab.server.start()
    assert (await lab.connect("builtin")).workdir


async def test_a_certificate_of_a_known_authority_vouches_for_a_host(lab: SshDesk, tmp_path: Path) -> None:
    authority = make_key(tmp_path / "authority")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "h", "-h", "-n", "127.0.0.1", f"{lab.server.host_key}.pub"],
        check=True,
        capture_output=True,
    )
    known = lab.server.client_home / ".ssh" / "known_hosts"
    known.write_text(f"@cert-authority * {public_text(authority)}\n")
    assert "the host shows no certificate of the known authority" in await refusal(lab)
    lab.server.restart(HostCertificate=f"{lab.server.host_key}-cert.pub")
    assert (await lab.connect("builtin")).workdir


async def test_a_wrong_key_is_told_with_the_user_the_host_and_the_count(lab: SshDesk, tmp_path: Path) -> None:
    lab.server.authorize(make_key(tmp_path / "else"))
    locked = make_key(tmp_path / "locked", passphrase="secret words")
    configure(
        lab.server,
        f"IdentityFile {lab.server.key}\nIdentityFile {locked}\nUserKnownHostsFile ~/.ssh/known_hosts\n",
    )
    who = f"{lab.server.user}@127.0.0.1:{lab.server.port}"
    assert await refusal(lab) == (
        f"cannot reach target `lab`: ssh failed: authentication failed for {who}: "
        f"the server refused the 1 key offered; left out: {locked} is encrypted and not in the agent"
    )


async def test_without_a_key_that_is_told(lab: SshDesk) -> None:
    configure(lab.server, "IdentityFile none\nIdentityAgent none\n")
    assert "there is no key to offer; add one to the agent or name it with IdentityFile" in await refusal(lab)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
async def test_other_kinds_of_keys_log_in(lab: SshDesk, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / kind, kind=kind)
    lab.server.authorize(key)
    configure(lab.server, f"IdentityFile {key}\n")
    assert (await lab.connect("builtin")).workdir


async def test_an_agent_logs_in(lab: SshDesk, agent: Agent, tmp_path: Path) -> None:
    key = make_key(tmp_path / "in_agent")
    lab.server.authorize(key)
    agent.add([key], environment=dict(os.environ))
    configure(lab.server, "IdentityFile none\n")
    assert (await lab.connect("builtin", SSH_AUTH_SOCK=str(agent.socket))).workdir


async def test_too_many_keys_of_an_agent_are_told_and_identities_only_helps(
    lab: SshDesk, agent: Agent, tmp_path: Path
) -> None:
    keys = [make_key(tmp_path / f"key{number}") for number in range(7)]
    agent.add(keys, environment=dict(os.environ))
    lab.server.authorize(keys[6])
    keys[6].unlink()
    configure(lab.server, f"IdentityFile {keys[6]}\n")
    told = await refusal(lab, SSH_AUTH_SOCK=str(agent.socket))
    assert "the server allows fewer tries than the 7 keys offered (7 of the agent)" in told
    assert "set IdentitiesOnly yes and IdentityFile for the host" in told
    configure(lab.server, f"IdentityFile {keys[6]}\nIdentitiesOnly yes\n")
    assert (await lab.connect("builtin", SSH_AUTH_SOCK=str(agent.socket))).workdir


async def test_a_certificate_logs_in(lab: SshDesk, tmp_path: Path) -> None:
    authority, key = make_key(tmp_path / "ca"), make_key(tmp_path / "key")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", lab.server.user, f"{key}.pub"],
        check=True,
        capture_output=True,
    )
    lab.server.authorize(authority, options="cert-authority")
    configure(lab.server, f"IdentityFile {key}\nCertificateFile {key}-cert.pub\n")
    assert (await lab.connect("builtin")).workdir


async def test_nobody_there_is_told_with_host_and_port(lab: SshDesk) -> None:
    port = free_port()
    told = await refusal(lab, destination=f"ssh://me@127.0.0.1:{port}")
    assert told == f"cannot reach target `lab`: ssh failed: cannot connect to 127.0.0.1:{port}: Connection refused"
    told = await refusal(lab, destination="me@no-such-host.invalid")
    assert told.startswith("cannot reach target `lab`: ssh failed: cannot connect to no-such-host.invalid:22: ")


async def test_a_server_that_says_nothing_is_given_up(lab: SshDesk) -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)
        writer.close()

    lab.timing = replace(lab.timing, connect_s=0.3)
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        told = await refusal(lab, destination=f"ssh://me@127.0.0.1:{port}")
        listener.close()
    assert told.endswith(f"cannot connect to 127.0.0.1:{port}: timed out after 0.3 s")


async def test_what_is_no_ssh_server_is_told(lab: SshDesk) -> None:
    async def web(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(web, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        told = await refusal(lab, destination=f"ssh://me@127.0.0.1:{port}")
    assert f"cannot connect to 127.0.0.1:{port}: " in told


@pytest.fixture
def jump(tmp_path: Path) -> Iterator[Sshd]:
    """A second server to go through."""
    jump = Sshd(tmp_path / "jump")
    jump.start()
    yield jump
    jump.stop()


def through(lab: SshDesk, jump: Sshd, *, key: Path | None = None) -> None:
    """Configure `far` behind `near`, each with its own key and known hosts."""
    configure(
        lab.server,
        f"Host far\n  HostName 127.0.0.1\n  Port {lab.server.port}\n  ProxyJump near\n"
        f"Host near\n  HostName 127.0.0.1\n  Port {jump.port}\n  IdentityFile {key or jump.key}\n"
        f"  UserKnownHostsFile {jump.client_home}/.ssh/known_hosts\n",
    )


async def test_a_jump_is_checked_and_logged_in_with_its_own_settings(lab: SshDesk, jump: Sshd, tmp_path: Path) -> None:
    through(lab, jump)
    executor = await lab.connect("builtin", destination="far")
    assert await executor.probe("echo far") == b"far\n"
    assert (jump.logged_in(), lab.server.logged_in()) == (1, 1)
    await executor.close()
    eventually(lambda: not jump.sessions() and not lab.server.sessions())
    through(lab, jump, key=make_key(tmp_path / "wrong"))
    assert f"authentication failed for {jump.user}@127.0.0.1:{jump.port}" in await refusal(lab, destination="far")
    jump.trust(make_key(tmp_path / "other"))
    assert f"verification failed for 127.0.0.1:{jump.port}: the host key changed" in await refusal(
        lab, destination="far"
    )


async def test_a_jump_that_is_cut_is_gone_through_again(lab: SshDesk, jump: Sshd) -> None:
    through(lab, jump)
    executor = await lab.connect("builtin", destination="far")
    jump.cut()
    await asyncio.sleep(0.3)
    assert await executor.probe("echo far") == b"far\n"
    assert jump.logged_in() == 2


async def test_jumps_in_a_circle_end(lab: SshDesk) -> None:
    configure(lab.server, "Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    assert "ProxyJump for host a goes through too many hosts" in await refusal(lab, destination="a")


async def test_a_proxy_command_carries_the_connection(lab: SshDesk, jump: Sshd, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(
        "import os, select, socket, sys\n"
        "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "while True:\n"
        "    for f in select.select([0, s], [], [])[0]:\n"
        "        data = os.read(0, 65536) if f == 0 else s.recv(65536)\n"
        "        if not data: sys.exit()\n"
        "        s.sendall(data) if f == 0 else os.write(1, data)\n"
    )
    configure(
        lab.server,
        f"Host far\n  HostName 127.0.0.1\n  Port {lab.server.port}\n  ProxyCommand python3 {relay} %h %p\n",
    )
    executor = await lab.connect("builtin", destination="far")
    assert await executor.probe("echo far") == b"far\n"
    await executor.close()
    configure(lab.server, "Host far\n  HostName 127.0.0.1\n  ProxyCommand echo no way >&2; exit 1\n")
    assert "cannot connect to 127.0.0.1:22: " in await refusal(lab, destination="far")


async def test_algorithms_that_the_library_has_are_used_and_others_refused(lab: SshDesk) -> None:
    configure(lab.server, "Ciphers aes256-ctr\nMACs hmac-sha2-256\nKexAlgorithms curve25519-sha256\n")
    assert (await lab.connect("builtin")).workdir
    configure(lab.server, "Ciphers no-such-cipher\n")
    assert "no-such-cipher" in await refusal(lab)


async def test_a_configuration_that_cannot_be_honoured_sends_nothing(lab: SshDesk) -> None:
    before = lab.server.log.read_text().count("Connection from")
    configure(lab.server, "PKCS11Provider /x.so\n")
    assert "PKCS11Provider for host 127.0.0.1 is not supported by the built-in SSH client" in await refusal(lab)
    assert lab.server.log.read_text().count("Connection from") == before


def test_every_error_that_the_library_raises_while_it_connects_is_told() -> None:
    families = {
        value
        for value in vars(asyncssh).values()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__.startswith("asyncssh.")
    }
    ours_never = {"SFTPError", "ChannelListenError", "PasswordChangeRequired", "BreakReceived", "SignalReceived"}
    ours_never |= {"SoftEOFReceived", "TerminalSizeChanged"}
    strange = [
        family.__name__
        for family in families
        if not issubclass(family, ssh_builtin._TOLD) and family.__name__ not in ours_never
    ]
    assert strange == []
