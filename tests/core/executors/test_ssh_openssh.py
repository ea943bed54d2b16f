"""The client that uses the `ssh` binary: its master, what ends it, and what is told when it fails."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.executors import ssh_openssh
from overbrainer_core.executors.errors import ExecutorError, SshMasterError
from overbrainer_core.executors.ssh_openssh import ssh_environment
from tests.peers.shells import eventually, is_running
from tests.peers.sshd import free_port, make_key, needs_sshd

SshDesk = Any

pytestmark = needs_sshd


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of the test's own whose path is short enough for sockets."""
    directory = tempfile.mkdtemp(prefix="ob", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", directory)
    yield Path(directory)
    shutil.rmtree(directory, ignore_errors=True)


def masters(sockets: Path) -> list[int]:
    """Process IDs of the masters whose sockets are there."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 1) for line in listed.splitlines()]
    return [int(pid) for pid, words in lines if f"{sockets}/" in words and words.startswith("ssh ")]


async def refusal(lab: SshDesk, **given: Any) -> str:
    """Why no connection comes about."""
    with pytest.raises(ExecutorError) as caught:
        await lab.connect("openssh", **given)
    return describe(caught.value)


async def test_one_master_carries_everything_and_ends_with_its_owner(lab: SshDesk, sockets: Path) -> None:
    executor = await lab.connect("openssh")
    assert await asyncio.gather(*(executor.probe(f"echo {n}") for n in range(5))) == [b"%d\n" % n for n in range(5)]
    assert lab.server.logged_in() == 1
    assert len(masters(sockets)) == 1
    await executor.close()
    eventually(lambda: not masters(sockets))
    assert list(sockets.iterdir()) == []


async def test_a_master_ends_when_its_owner_is_killed(lab: SshDesk, tmp_path: Path, sockets: Path) -> None:
    owner = tmp_path / "owner.py"
    server = lab.server
    owner.write_text(
        "import asyncio, pathlib\n"
        "from overbrainer_core.executors.ssh_connect import Login, connect_login\n"
        "async def main():\n"
        f"    login = Login(name='lab', destination={server.destination!r}, client='openssh',\n"
        f"        environment={server.environment!r}, home=pathlib.Path({str(server.client_home)!r}))\n"
        "    await connect_login(login, 'work')\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(owner)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3]), "TMPDIR": str(sockets)},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert masters(sockets)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
    eventually(lambda: not masters(sockets) and not server.sessions())
    eventually(lambda: not list(sockets.iterdir()))


async def test_a_killed_master_is_made_again(lab: SshDesk, sockets: Path) -> None:
    executor = await lab.connect("openssh")
    (master,) = masters(sockets)
    os.kill(master, signal.SIGKILL)
    eventually(lambda: not is_running(master))
    await asyncio.sleep(0.2)
    assert await executor.probe("echo on") == b"on\n"
    assert lab.server.logged_in() == 2


async def test_a_wrong_key_is_told_in_the_words_of_ssh(lab: SshDesk, tmp_path: Path) -> None:
    lab.server.authorize(make_key(tmp_path / "else"))
    where = f"127.0.0.1:{lab.server.port}"
    assert await refusal(lab) == (
        f"cannot reach target `lab`: ssh failed: failed to connect to the remote host {where}: "
        f"{lab.server.user}@127.0.0.1: Permission denied (publickey)."
    )


async def test_an_unknown_and_a_changed_host_key_are_told_apart(lab: SshDesk, tmp_path: Path) -> None:
    failed = f"host key verification failed for 127.0.0.1:{lab.server.port}: "
    lab.server.trust(make_key(tmp_path / "other"))
    assert (await refusal(lab)).endswith(failed + "the host key changed")
    (lab.server.client_home / ".ssh" / "known_hosts").write_text("")
    told = await refusal(lab)
    assert failed in told
    assert told.endswith("unknown host (add it with ssh-keyscan or a first connection with ssh)")
    assert (lab.server.client_home / ".ssh" / "known_hosts").read_text() == ""


async def test_nobody_there_is_told_with_host_and_port(lab: SshDesk) -> None:
    port = free_port()
    told = await refusal(lab, destination=f"ssh://me@127.0.0.1:{port}")
    assert f"failed to connect to the remote host 127.0.0.1:{port}: " in told
    assert told.endswith("Connection refused")


async def test_a_server_that_says_nothing_is_given_up_and_leaves_no_process(lab: SshDesk) -> None:
    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)
        writer.close()

    lab.timing = replace(lab.timing, connect_s=0.5)
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        told = await refusal(lab, destination=f"ssh://me@127.0.0.1:{port}")
        listener.close()
    assert told.endswith(f"cannot connect to 127.0.0.1:{port}: timed out after 0.5 s")


async def test_without_the_binary_that_is_told(lab: SshDesk, tmp_path: Path) -> None:
    assert await refusal(lab, PATH=str(tmp_path)) == (
        "cannot reach target `lab`: cannot run `ssh`: No such file or directory"
    )


async def test_a_master_that_ends_before_its_first_command_tells_its_log(lab: SshDesk, tmp_path: Path) -> None:
    # Like a wrapper of ssh that lets no background process live.
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(
        "#!/bin/sh\nPATH=/usr/bin:/bin\nlog= socket=\nfor word; do\n"
        "  case $last in -E) log=$word ;; -S) socket=$word ;; esac\n  last=$word\ndone\n"
        'case " $* " in *" -N "*) ;; *) exec ssh "$@" ;; esac\n'
        'printf "first\\nparent died, killing child\\033[0m\\n" >"$log"\n: >"$socket"\nsleep 0.1\nexit 1\n'
    )
    (tools / "ssh").chmod(0o755)
    with pytest.raises(ExecutorError) as caught:
        await lab.connect("openssh", PATH=f"{tools}:{os.environ['PATH']}")
    assert isinstance(caught.value.__cause__, SshMasterError)
    assert describe(caught.value) == (
        "cannot reach target `lab`: the ssh master connection ended right after it started "
        "(ssh log: first | parent died, killing child[0m)"
    )


@pytest.mark.parametrize(
    ("log", "tail"),
    [
        ("", ""),
        ("a\n\n b \x1b[1m\n", "a | b [1m"),
        ("\n".join("12345678"), "4 | 5 | 6 | 7 | 8"),
        ("x" * 400, "..." + "x" * 300),
    ],
)
def test_the_tail_of_a_log_is_one_short_line(log: str, tail: str) -> None:
    assert ssh_openssh._log_tail(log) == tail


def test_ssh_gets_no_secret_of_ours_and_nothing_that_asks() -> None:
    given = {
        "PATH": "/bin",
        "SSH_AUTH_SOCK": "/run/a",
        "SSH_ASKPASS": "/bin/ask",
        "OVERBRAINER_HF_TOKEN": "x",
        "VAULT_TOKEN": "x",
        "RUNPOD_API_KEY": "x",
    }
    assert ssh_environment(given) == {"PATH": "/bin", "SSH_AUTH_SOCK": "/run/a"}
