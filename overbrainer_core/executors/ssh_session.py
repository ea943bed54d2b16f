"""How does a command run on a target whose connection may break, refuse channels or greet with noise?

One connection carries every command, each on a channel of its own. A connection that is found gone is made again with
the same checks before anything is sent; what was sent is never sent again. A refused channel is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from overbrainer_core.aio.process import CommandResult
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.executors.errors import CommandError, ExecutorError, ProtocolError, SshError
from overbrainer_core.executors.scripts import CancelTiming
from overbrainer_core.executors.ssh_channel import ChannelRefusedError, SshChannel, SshFailure
from overbrainer_core.executors.ssh_scripts import COMMAND, MarkedScript
from overbrainer_core.shell import cut_error_output
from overbrainer_core.text import escape_controls

_log = logging.getLogger("overbrainer.ssh")

_BLOCK_BYTES = 1 << 16
_NOISE_LIMIT_BYTES = 1 << 20
"""Output of start-up files before an answer; far more than any greeting."""

_ANSWER_LIMIT_BYTES = 256 << 20
"""Largest answer kept in memory: a manifest of a million files."""

_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SshTiming:
    """Waits of an SSH target, in seconds; an SSH configuration may set its own for connecting and keeping alive."""

    connect_s: float = 30
    alive_interval_s: float = 15
    alive_count: int = 3
    channel_s: float = 30
    """How long a refused or unanswered channel is tried."""
    channel_retry_s: float = 0.1
    command_s: float = 120
    """Limit of a command; a slow login shell may take a minute of it."""
    probe_s: float = 20
    cancel_s: float = 240
    manifest_s: float = 3600
    """Limit of a manifest: hashing takes minutes for tens of gigabytes on a slow disk."""
    notice_s: float = 10
    """After so long it is told what a command waits for; also the pause between two lines about a transfer."""
    close_s: float = 2
    stall_s: float = 600
    """How long a transfer may move no byte, as when the target's disk hangs; a gone connection is noticed sooner."""
    launched_looks: int = 20
    launched_pause_s: float = 0.5
    cancel: CancelTiming = field(default_factory=CancelTiming)


class ConnectionGoneError(SshFailure):
    """The connection was gone before a command was sent."""


class _NotBegunError(Exception):
    """A login shell that did not come to run a script in time."""


class SshConnection(Protocol):
    """One connection of a client."""

    @property
    def where(self) -> str:
        """The host and the port, for messages."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether it is gone."""
        ...

    async def open(self, command: str) -> SshChannel:
        """Start a command on a channel of its own.

        Raises:
            ChannelRefusedError: the server opens no more; also as the channel's end, when it shows late.
            ConnectionGoneError: the connection is gone; also as the channel's end.
        """
        ...

    def unused_end(self) -> ExecutorError | None:
        """Why it is gone before it carried any command, where that says more than another attempt; else None."""
        ...

    async def close(self) -> None:
        """End the connection and its channels."""
        ...


Connector = Callable[[], Awaitable[SshConnection]]
"""Makes a connection, with every check of host key and keys; raises an `ExecutorError`."""


class ChannelGate:
    """Holds channels back once the server refused one."""

    def __init__(self, limit: int = 8) -> None:
        self._limit = limit
        self._open = 0
        self._freed = asyncio.Event()

    async def enter(self) -> None:
        """Return once a channel may be opened."""
        while self._open >= self._limit:
            self._freed.clear()
            await self._freed.wait()
        self._open += 1

    def leave(self) -> None:
        """A channel is closed."""
        self._open -= 1
        self._freed.set()

    def refused(self) -> None:
        """The channel just entered was refused: what is open now is all that the server allows."""
        self.leave()
        self._limit = max(1, min(self._limit, self._open))


class RunningCommand:
    """A script that began on the target: its output stands right after the mark."""

    def __init__(self, channel: SshChannel, marked: MarkedScript, *, where: str) -> None:
        self.channel = channel
        self._marked = marked
        self._where = where

    async def finish(self, stdout: bytes = b"") -> CommandResult:
        """How the script ended, once it has.

        Raises:
            SshError: it was cut before its end.
        """
        end = await self.channel.wait()
        status, stderr = self._marked.read_stderr(self.channel.stderr)
        if status is None and end.failure is not None:
            raise SshError from end.failure
        if status is None:
            status = _signal_status(end.signal)
        if status is None:
            raise SshError from SshFailure(f"the remote process on {self._where} terminated without an exit status")
        return CommandResult(exit_status=status, stdout=stdout, stderr=stderr)


def _signal_status(name: str | None) -> int | None:
    number = getattr(signal, f"SIG{name}", None) if name else None
    return -int(number) if number is not None else None


class SshSession:
    """Commands on one target, over a connection that is made again when it is found gone."""

    def __init__(self, connect: Connector, *, name: str, timing: SshTiming) -> None:
        self._connect = connect
        self._name = name
        self.timing = timing
        self._lock = asyncio.Lock()
        self._connection: SshConnection | None = None
        self._gate = ChannelGate()
        self._failures = 0
        self._last_failure: ExecutorError | None = None

    @property
    def name(self) -> str:
        """The target's name."""
        return self._name

    async def connect(self) -> None:
        """Connect now, so that a target out of reach is told first.

        Raises:
            ExecutorError: it cannot be reached.
        """
        await self._connected()

    async def close(self) -> None:
        """End the connection; what runs over it is cut."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await run_to_end(connection.close(), name="ssh close")

    async def run(self, action: str, script: str, *, stdin: bytes = b"", limit_s: float | None = None) -> CommandResult:
        """Run a script to its end and return what it wrote.

        Raises:
            CommandError: it exited non-zero or took longer than its limit.
            SshError: it was cut.
        """
        limit = limit_s if limit_s is not None else self.timing.command_s
        try:
            async with asyncio.timeout(limit), self.command(action, script, stdin=stdin) as command:
                command.channel.write_eof()
                result = await command.finish(await _read_answer(command.channel))
        except TimeoutError:
            raise CommandError.timed_out(action, limit) from None
        if result.exit_status != 0:
            raise CommandError.from_output(action, result.stderr, status_words=result.status_words)
        return result

    @contextlib.asynccontextmanager
    async def command(self, action: str, script: str, *, stdin: bytes = b"") -> AsyncIterator[RunningCommand]:
        """A script that has begun; given up at the end of the block when it is not over.

        Args:
            stdin: what follows the script on standard input, which stays open.

        Raises:
            CommandError: the login shell did not come to run it within the limit of a command.
            SshError: it could not be sent.
        """
        marked = MarkedScript(script=script)
        with self._noticing(action):
            try:
                channel, gate, where = await self._begin(marked, stdin)
            except _NotBegunError:
                raise CommandError.timed_out(action, self.timing.command_s) from None
            try:
                yield RunningCommand(channel, marked, where=where)
            finally:
                channel.abort()
                gate.leave()

    async def _begin(self, marked: MarkedScript, stdin: bytes) -> tuple[SshChannel, ChannelGate, str]:
        """A channel whose script has begun, the gate it entered, and the host and port."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timing.channel_s
        pause = self.timing.channel_retry_s
        may_reconnect = True
        while True:
            connection = await self._connected()
            gate = self._gate
            await gate.enter()
            try:
                return await self._start(connection, marked, stdin), gate, connection.where
            except ChannelRefusedError as error:
                gate.refused()
                if loop.time() > deadline:
                    raise SshError from error
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
            except ConnectionGoneError as error:
                gate.leave()
                if not may_reconnect:
                    raise SshError from error
                may_reconnect = False
            except SshFailure as error:
                gate.leave()
                raise SshError from error
            except BaseException:
                gate.leave()
                raise

    async def _start(self, connection: SshConnection, marked: MarkedScript, stdin: bytes) -> SshChannel:
        try:
            async with asyncio.timeout(self.timing.channel_s):
                channel = await connection.open(COMMAND)
        except TimeoutError:
            # Nothing answers there: the next command connects again.
            await run_to_end(connection.close(), name="ssh close")
            raise SshFailure(f"{connection.where} did not answer within {self.timing.channel_s:g} s") from None
        try:
            # A command that takes no input tells why by its own end.
            with contextlib.suppress(BrokenPipeError):
                channel.write_now(marked.line() + stdin)
            async with asyncio.timeout(self.timing.command_s):
                await _skip_to_mark(channel, marked)
        except TimeoutError:
            channel.abort()
            raise _NotBegunError from None
        except BaseException:
            channel.abort()
            raise
        return channel

    async def _connected(self) -> SshConnection:
        """The connection, made again when it is gone; who waited for an attempt that failed shares its failure."""
        failures = self._failures
        async with self._lock:
            connection = self._connection
            if connection is not None and not connection.is_closed:
                return connection
            if self._failures != failures and self._last_failure is not None:
                raise self._last_failure
            if connection is not None:
                self._connection = None
                unused_end = connection.unused_end()
                await run_to_end(connection.close(), name="ssh close")
                if unused_end is not None:
                    raise unused_end
            try:
                self._connection = await self._connect()
            except ExecutorError as error:
                self._failures += 1
                self._last_failure = error
                raise
            self._gate = ChannelGate()
            if connection is not None:
                _log.warning("the connection to target `%s` was terminated; connected to it again", self._name)
            return self._connection

    @contextlib.contextmanager
    def _noticing(self, action: str) -> Iterator[None]:
        """Tell once what is waited for when it takes long."""
        notice = asyncio.get_running_loop().call_later(
            self.timing.notice_s, _log.info, "still waiting for target `%s`: %s", self._name, action
        )
        try:
            yield
        finally:
            notice.cancel()


async def _read_answer(channel: SshChannel) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while block := await channel.read(_BLOCK_BYTES):
            parts.append(block)
            size += len(block)
            if size > _ANSWER_LIMIT_BYTES:
                raise ProtocolError(f"more than {_ANSWER_LIMIT_BYTES >> 20} MiB")
    except SshFailure as error:
        raise SshError from error
    return b"".join(parts)


async def _skip_to_mark(channel: SshChannel, marked: MarkedScript) -> None:
    """Drop what start-up files printed, up to the mark."""
    seen = b""
    while (found := seen.find(marked.start)) < 0:
        block = await channel.read(_BLOCK_BYTES)
        if not block or len(seen) > _NOISE_LIMIT_BYTES:
            if block:
                channel.abort()
            end = await channel.wait()
            if not block and end.failure is not None:
                raise end.failure
            raise _not_ours(seen, channel.stderr, end.exit_status)
        seen += block
    channel.unread(seen[found + len(marked.start) :])


def _not_ours(stdout: bytes, stderr: bytes, exit_status: int | None) -> ProtocolError:
    text = cut_error_output(stdout if stdout.strip() else stderr, fallback="nothing")
    shown = escape_controls(text)[:_SHOWN_CHARS]
    status = "" if exit_status is None else f", exit status {exit_status}"
    return ProtocolError(
        f"`{shown}`{status}, where a command should have run; a forced command, a restricted shell "
        "or a start-up file that ends the session may be in its way"
    )
