"""A real OpenSSH server on a free loopback port, with keys and a home of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.peers.shells import eventually

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))

needs_sshd = pytest.mark.skipif(SSHD is None or not shutil.which("ssh"), reason="no OpenSSH server or client here")
"""Skips a test where OpenSSH is not installed."""

START_UP_FILES = (".bashrc", ".profile", ".bash_profile", ".cshrc", ".config/fish/config.fish")


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def make_key(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A new key pair at a path and beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for file in (path, path.with_name(path.name + ".pub")):
        file.unlink(missing_ok=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", path.name, "-f", str(path)],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    return path


def public_text(key: Path) -> str:
    """Type and key of a pair's public half."""
    return " ".join(key.with_name(key.name + ".pub").read_text().split()[:2])


class Sshd:
    """The server, the account's home on it, and the home of a client that knows it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.remote_home = directory / "remote_home"
        self.client_home = directory / "client_home"
        self.host_key = make_key(directory / "host_key")
        self.key = make_key(self.client_home / ".ssh" / "id_ed25519")
        self.authorized = directory / "authorized_keys"
        self.log = directory / "sshd.log"
        self.options: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self._server: subprocess.Popen[bytes] | None = None
        for name in START_UP_FILES:
            file = self.remote_home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        self.authorize(self.key)
        self.trust()

    @property
    def destination(self) -> str:
        """What a person writes for it."""
        return f"ssh://{self.user}@127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a client whose home is the test's own, without an agent."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.client_home), "USER": self.user, "LOGNAME": self.user}

    def authorize(self, *keys: Path, options: str = "") -> None:
        """Let these keys in, and no other."""
        prefix = f"{options} " if options else ""
        self.authorized.write_text("".join(f"{prefix}{public_text(key)}\n" for key in keys))

    def trust(self, key: Path | None = None, *, name: str | None = None) -> None:
        """Write the client's known hosts: this server by its own key, or by another."""
        host = name or f"[127.0.0.1]:{self.port}"
        (self.client_home / ".ssh" / "known_hosts").write_text(f"{host} {public_text(key or self.host_key)}\n")

    def configure(self, text: str) -> None:
        """Write the client's configuration, for both clients; known hosts and key of the test's home are named."""
        file = self.client_home / ".ssh" / "config"
        file.write_text(
            f"{text}\nMatch all\n  UserKnownHostsFile {self.client_home}/.ssh/known_hosts\n"
            f"  IdentityFile {self.key}\n  IdentityAgent none\n"
        )
        file.chmod(0o600)

    def start(self, **options: str) -> None:
        """Start it, with these options from now on; returns once it takes connections."""
        assert SSHD is not None
        self.options.update(options)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        configuration = self.directory / "sshd_config"
        variables = {"HOME": str(self.remote_home), **self.variables}
        values = " ".join(f'"{name}={value}"' for name, value in variables.items())
        lines = {
            "Port": str(self.port),
            "ListenAddress": "127.0.0.1",
            "HostKey": str(self.host_key),
            "AuthorizedKeysFile": str(self.authorized),
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "yes",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "LogLevel": "VERBOSE",
            "MaxStartups": "100",
            "SetEnv": values,
            **self.options,
        }
        configuration.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        self._server = subprocess.Popen(
            [SSHD, "-D", "-f", str(configuration), "-E", str(self.log)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def stop(self) -> None:
        """Stop it and cut every connection; jobs go on."""
        if self._server is None:
            return
        cut = self.sessions()
        self._server.terminate()
        self._server.wait()
        self._server = None
        _kill(cut)

    def restart(self, **options: str) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start(**options)

    def sessions(self) -> list[int]:
        """Process IDs of the server's connections."""
        if self._server is None:
            return []
        # A connection may have a process for its privileged and one for its other half.
        found: list[int] = []
        waiting = [self._server.pid]
        while waiting:
            for pid in _children(waiting.pop()):
                if _name(pid).startswith("sshd"):
                    found.append(pid)
                    waiting.append(pid)
        return found

    def cut(self) -> int:
        """Kill the processes of all connections, as a network that is gone does; how many there were."""
        sessions = self.sessions()
        _kill(sessions)
        return len(sessions)

    def logged_in(self) -> int:
        """How often a key was accepted so far."""
        return self.log.read_text().count("Accepted publickey") if self.log.exists() else 0


class Agent:
    """A real ssh-agent with keys of the test."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "agent.sock"
        self._process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", str(self.socket)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        eventually(self.socket.exists)

    def add(self, keys: Sequence[Path], *, environment: Mapping[str, str]) -> None:
        """Add keys without a passphrase."""
        subprocess.run(
            ["ssh-add", "-q", *map(str, keys)],
            check=True,
            capture_output=True,
            env={**environment, "SSH_AUTH_SOCK": str(self.socket)},
        )

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def _children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text()
    return ""


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 5
    for pid in pids:
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.01)
