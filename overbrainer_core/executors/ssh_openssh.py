"""How is a target reached with the `ssh` binary? One master connection carries every command.

The master ends with its owner, a kill of it included: a small shell waits at a pipe that only the owner holds. The
control socket lies in a private directory. A command never opens a connection of its own when the master is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from overbrainer_core.aio.process import end_process, run_command
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.executors.errors import ExecutorError, SpawnError, SshError, SshMasterError
from overbrainer_core.executors.local import job_environment
from overbrainer_core.executors.ssh_channel import (
    UNSENT_LIMIT_BYTES,
    ChannelEnd,
    ChannelRefusedError,
    SshChannel,
    SshFailure,
)
from overbrainer_core.executors.ssh_session import ConnectionGoneError, SshTiming
from overbrainer_core.text import drop_controls, escape_controls, one_line

_NO_CHANNEL = "overbrainer-no-channel"
_LOOK_S = 0.02
_SSH_FAILED = 255
_LOG_BYTES = 4096
_LOG_LINES = 5
_LOG_CHARS = 300
_SOCKET_PATH_CHARS = 90
"""Longest path of a control socket: systems allow 104, and ssh appends 17 while it makes one."""

_KEEPER = """
exec 3<&0
directory=$1
shift
"$@" 3<&- </dev/null &
master=$!
{ read -r _ <&3; rm -rf -- "$directory"; kill "$master"; } >/dev/null 2>&1 &
watch=$!
exec 3<&-
wait "$master"
code=$?
kill "$watch" 2>/dev/null
exit "$code"
"""
"""Ends the master when its owner is gone, and removes the directory of its socket."""


def ssh_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that `ssh` gets: overbrainer's own but for its settings and keys, and nothing that asks."""
    kept = job_environment(environment)
    return {name: value for name, value in kept.items() if name not in ("SSH_ASKPASS", "SSH_ASKPASS_REQUIRE")}


async def connect_openssh(
    destination: str,
    *,
    environment: Mapping[str, str],
    home: Path | None,
    config_file: Path | None,
    timing: SshTiming,
) -> OpensshConnection:
    """A master connection that is ready for commands.

    Raises:
        SpawnError: there is no `ssh`.
        SshError: the target cannot be reached, its key is not the known one, or it refuses ours.
    """
    variables = ssh_environment(environment)
    file = config_file or _config_of(home)
    chosen = ["-F", str(file)] if file else []
    directory = Path(tempfile.mkdtemp(prefix="overbrainer-", dir=_socket_base()))
    connection: OpensshConnection | None = None
    try:
        arguments = _master_arguments(directory, chosen, destination, timing)
        process = await _start(arguments, variables, directory)
        connection = OpensshConnection(process, directory, variables)
        connection.where = await _endpoint(chosen, destination, variables)
        await connection.ready(timing.connect_s)
    except BaseException as error:
        if connection is not None:
            await run_to_end(connection.close(), name="ssh close")
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, SshFailure):
            raise SshError from error
        raise
    return connection


def _config_of(home: Path | None) -> Path | None:
    """The user's configuration when another home than the account's is meant."""
    return home / ".ssh" / "config" if home is not None else None


def _socket_base() -> str | None:
    """Where the private directory is made; the ordinary temporary directory unless its path is too long."""
    return "/tmp" if len(tempfile.gettempdir()) > _SOCKET_PATH_CHARS - 30 else None  # noqa: S108  # mkdtemp is safe


def _master_arguments(directory: Path, chosen: list[str], destination: str, timing: SshTiming) -> list[str]:
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ControlMaster": "yes",
        "ControlPersist": "no",
        "ConnectTimeout": f"{max(round(timing.connect_s), 1)}",
        "ServerAliveInterval": f"{max(round(timing.alive_interval_s), 1)}",
        "ServerAliveCountMax": str(timing.alive_count),
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "RemoteCommand": "none",
        "RequestTTY": "no",
        "LogLevel": "INFO",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [
        "ssh",
        *chosen,
        *words,
        "-N",
        "-S",
        str(directory / "master"),
        "-E",
        str(directory / "log"),
        "--",
        destination,
    ]


async def _start(arguments: list[str], variables: Mapping[str, str], directory: Path) -> asyncio.subprocess.Process:
    if shutil.which("ssh", path=variables.get("PATH")) is None:
        raise SpawnError("ssh") from FileNotFoundError(2, "No such file or directory")
    return await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        _KEEPER,
        "overbrainer-ssh",
        str(directory),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=variables,
        start_new_session=True,
    )


async def _endpoint(chosen: list[str], destination: str, variables: Mapping[str, str]) -> str:
    """The host and port that a destination leads to, for messages; the destination itself when ssh does not say."""
    try:
        told = await run_command(["ssh", *chosen, "-G", "--", destination], env=variables, timeout_s=5)
    except (OSError, TimeoutError):
        return escape_controls(destination)
    values = dict(line.split(" ", 1) for line in told.stdout.decode(errors="replace").splitlines() if " " in line)
    host, port = values.get("hostname"), values.get("port")
    if told.exit_status != 0 or not host or not port:
        return escape_controls(destination)
    return f"{escape_controls(f'[{host}]' if ':' in host else host)}:{port}"


class OpensshConnection:
    """A master connection and its commands."""

    def __init__(self, process: asyncio.subprocess.Process, directory: Path, variables: Mapping[str, str]) -> None:
        self._process = process
        self._directory = directory
        self._variables = variables
        self._channels: set[SshChannel] = set()
        self._has_worked = False
        self._log = ""
        self.where = ""

    @property
    def is_closed(self) -> bool:
        """Whether the master is gone."""
        return self._process.returncode is not None or not (self._directory / "master").exists()

    async def ready(self, limit_s: float) -> None:
        """Return once commands can be sent.

        Raises:
            SshFailure: the master ended or was too slow.
        """
        try:
            async with asyncio.timeout(limit_s):
                while not (self._directory / "master").exists():
                    if self._process.returncode is not None:
                        self._keep_log()
                        raise SshFailure(_failure_words(self._log, self.where))
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise SshFailure(f"cannot connect to {self.where}: timed out after {limit_s:g} s") from None

    async def open(self, command: str) -> SshChannel:
        """Start a command over the master.

        Raises:
            ConnectionGoneError: it is gone.
        """
        if self.is_closed:
            raise ConnectionGoneError(f"the connection to {self.where} was terminated")
        channel = SshChannel()
        arguments = [
            *("ssh", "-F", "none", "-S", str(self._directory / "master"), "-T"),
            *("-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "LogLevel=ERROR"),
            # Without a master or a free channel ssh would connect on its own: it gets this in place of a connection.
            # In a shell of its own, which keeps its output open, and so is not ended, until the word is out.
            *("-o", f"ProxyCommand=sh -c 'echo {_NO_CHANNEL} >&2'"),
            *("--", "overbrainer-target", command),
        ]
        await asyncio.get_running_loop().subprocess_exec(
            lambda: _Client(channel, self), *arguments, env=self._variables, start_new_session=True
        )
        self._channels.add(channel)
        return channel

    def ended(self, channel: SshChannel) -> None:
        """A command is over."""
        self._channels.discard(channel)

    def unused_end(self) -> ExecutorError | None:
        """Why the master is gone before it carried any command, as when a wrapper of `ssh` ends it."""
        if self._has_worked or not self.is_closed:
            return None
        self._keep_log()
        return SshMasterError(_log_tail(self._log))

    def judge(self, exit_status: int | None, stderr: bytes) -> SshFailure | None:
        """Why a command of `ssh` that ended so did not come to its end; None when it may have."""
        has_channel = _NO_CHANNEL.encode() not in stderr
        self._has_worked = self._has_worked or has_channel
        if exit_status is not None and exit_status >= 0 and exit_status != _SSH_FAILED:
            return None
        if not has_channel:
            if self.is_closed:
                return ConnectionGoneError(f"the connection to {self.where} was terminated")
            return ChannelRefusedError(f"{self.where} refused another channel")
        if self.is_closed or exit_status == _SSH_FAILED:
            return SshFailure(f"the connection to {self.where} was terminated")
        return SshFailure(f"the local ssh ended ({exit_status})")

    async def close(self) -> None:
        """End the master; commands over it are cut."""
        for channel in list(self._channels):
            channel.abort()
            await channel.wait()
        await end_process(self._process)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _keep_log(self) -> None:
        """Remember the end of the master's log: its directory goes with it."""
        with contextlib.suppress(OSError), open(self._directory / "log", "rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(size - _LOG_BYTES, 0))
            self._log = log.read(_LOG_BYTES).decode("utf-8", errors="replace")


def _log_tail(log: str) -> str:
    """The last lines of a log on one line, cut at its beginning."""
    lines = [drop_controls(line).strip() for line in log.splitlines()]
    text = " | ".join([line for line in lines if line][-_LOG_LINES:])
    return text if len(text) <= _LOG_CHARS else "..." + text[-_LOG_CHARS:]


def _failure_words(log: str, where: str) -> str:
    """Why a master did not come up, by its log."""
    lines = [one_line(drop_controls(line)) for line in log.splitlines() if line.strip()]
    if not any("Host key verification failed" in line for line in lines):
        return f"failed to connect to the remote host {where}: {lines[-1] if lines else 'ssh told nothing'}"
    if any("IDENTIFICATION HAS CHANGED" in line for line in lines):
        why = "the host key changed"
    elif any("REVOKED" in line for line in lines):
        why = "the host key is revoked"
    else:
        told = [line for line in lines if re.search(r"host key|known", line) and "verification failed" not in line]
        is_unknown = not told or "host key is known for" in told[-1]
        why = "unknown host (add it with ssh-keyscan or a first connection with ssh)" if is_unknown else told[-1]
    return f"host key verification failed for {where}: {why}"


class _Client(asyncio.SubprocessProtocol):
    """Feeds an `SshChannel` from a local `ssh`, and is its port."""

    def __init__(self, channel: SshChannel, connection: OpensshConnection) -> None:
        self._channel = channel
        self._connection = connection
        self._open_pipes = {1, 2}
        self._has_exited = False
        self._is_aborted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None:
            pipe.set_write_buffer_limits(high=UNSENT_LIMIT_BYTES)
        self._channel.attach(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._channel.feed_output(data)
        else:
            self._channel.feed_error(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open_pipes.discard(fd)
        if fd == 1:
            self._channel.feed_eof()
        elif fd == 0:
            # Nothing more can be sent: who waits for room is told by the next write.
            self._channel.set_sending(is_possible=True)
        self._finish()

    def process_exited(self) -> None:
        self._has_exited = True
        self._finish()

    def pause_writing(self) -> None:
        self._channel.set_sending(is_possible=False)

    def resume_writing(self) -> None:
        self._channel.set_sending(is_possible=True)

    def _finish(self) -> None:
        # The master holds the other ends of the pipes until the remote command is over: nobody waits for that.
        if self._has_exited and (self._is_aborted or not self._open_pipes) and self._channel.end is None:
            status = self._transport.get_returncode()
            failure = self._connection.judge(status, self._channel.stderr)
            self._channel.feed_end(ChannelEnd(exit_status=status, failure=failure))
            self._transport.close()
            self._connection.ended(self._channel)

    def pause_reading(self) -> None:
        self._pipe(1).pause_reading()

    def resume_reading(self) -> None:
        self._pipe(1).resume_reading()

    def send(self, block: bytes) -> None:
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is None or pipe.is_closing():
            raise BrokenPipeError
        pipe.write(block)

    def send_eof(self) -> None:
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write_eof()

    def abort(self) -> None:
        self._is_aborted = True
        # Not by the transport: its kill reaps a child that has just ended, before the loop's own watcher does.
        if self._transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._transport.get_pid(), signal.SIGKILL)

    def _pipe(self, fd: int) -> asyncio.ReadTransport:
        return cast(asyncio.ReadTransport, self._transport.get_pipe_transport(fd))
