"""How do bytes flow between us and one command on the target, whichever client carries them?

A client feeds what arrives and tells when it can take more; memory stays bounded, because reading is paused while
much lies unread and writing waits while much lies unsent. Standard error never blocks: its beginning and end are kept.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from overbrainer_core.errors import TargetError

UNREAD_LIMIT_BYTES = 1 << 20
"""Unread output at which the client is told to pause."""

UNSENT_LIMIT_BYTES = 1 << 20
"""Unsent input at which a client holds its user back."""

ERROR_HEAD_BYTES = 1 << 16
ERROR_TAIL_BYTES = 1 << 12
"""Kept of standard error: what is shown comes from its beginning, the exit status stands at its end."""


class SshFailure(TargetError):
    """Why SSH failed, always with the host and the port; the cause of an `SshError`."""


class ChannelRefusedError(SshFailure):
    """The server opens no further channel on this connection now."""


class ChannelPort(Protocol):
    """What a client does for its channel."""

    def pause_reading(self) -> None:
        """Feed no more output until told."""
        ...

    def resume_reading(self) -> None:
        """Feed output again."""
        ...

    def send(self, block: bytes) -> None:
        """Send to standard input, buffering it if need be."""
        ...

    def send_eof(self) -> None:
        """Close standard input once all is sent."""
        ...

    def abort(self) -> None:
        """Give the command up; `feed_end` follows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelEnd:
    """How a channel ended: the client's exit status or the signal's name, or the failure that cut it."""

    exit_status: int | None = None
    signal: str | None = None
    failure: SshFailure | None = None


class SshChannel:
    """One command on the target."""

    def __init__(self) -> None:
        self._port: ChannelPort | None = None
        self._blocks: deque[bytes] = deque()
        self._unread = 0
        self._is_paused = False
        self._has_eof = False
        self._changed = asyncio.Event()
        self._can_send = asyncio.Event()
        self._can_send.set()
        self._ended = asyncio.Event()
        self._end: ChannelEnd | None = None
        self._error_head = bytearray()
        self._error_tail = bytearray()

    # What the client calls.

    def attach(self, port: ChannelPort) -> None:
        """The client's side is there."""
        self._port = port

    def feed_output(self, block: bytes) -> None:
        """Standard output arrived."""
        self._blocks.append(block)
        self._unread += len(block)
        if self._unread > UNREAD_LIMIT_BYTES and not self._is_paused and self._port:
            self._is_paused = True
            self._port.pause_reading()
        self._changed.set()

    def feed_error(self, block: bytes) -> None:
        """Standard error arrived."""
        room = ERROR_HEAD_BYTES - len(self._error_head)
        self._error_head += block[:room]
        self._error_tail = (self._error_tail + block[max(room, 0) :])[-ERROR_TAIL_BYTES:]

    def feed_eof(self) -> None:
        """Standard output is complete."""
        self._has_eof = True
        self._changed.set()

    def set_sending(self, *, is_possible: bool) -> None:
        """Whether more can be sent now."""
        if is_possible:
            self._can_send.set()
        else:
            self._can_send.clear()

    def feed_end(self, end: ChannelEnd) -> None:
        """The command is over, or cut; nothing follows."""
        if self._end is None:
            self._end = end
        self._has_eof = True
        self._can_send.set()
        self._changed.set()
        self._ended.set()

    # What its user calls.

    @property
    def end(self) -> ChannelEnd | None:
        """How it ended; None before."""
        return self._end

    @property
    def stderr(self) -> bytes:
        """Standard error so far, its middle left out when it is long."""
        return bytes(self._error_head + self._error_tail)

    async def read(self, limit: int) -> bytes:
        """Some bytes of standard output as soon as there are any, at most `limit`; none at its end.

        Raises:
            SshFailure: the connection broke before the end.
        """
        while not self._blocks:
            if self._end is not None and self._end.failure is not None:
                raise self._end.failure
            if self._has_eof:
                return b""
            self._changed.clear()
            await self._changed.wait()
        return self._take(limit)

    async def read_full(self, size: int) -> bytes:
        """`size` bytes of standard output, fewer only at its end."""
        parts: list[bytes] = []
        missing = size
        while missing > 0 and (part := await self.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def unread(self, block: bytes) -> None:
        """Give back what was read too much."""
        if block:
            self._blocks.appendleft(block)
            self._unread += len(block)

    async def write(self, block: bytes) -> None:
        """Send to standard input once there is room.

        Raises:
            BrokenPipeError: the command takes no more input.
        """
        await self._can_send.wait()
        self.write_now(block)

    def write_now(self, block: bytes) -> None:
        """Send to standard input at once; for short texts.

        Raises:
            BrokenPipeError: the command takes no more input.
        """
        if self._end is not None or self._port is None:
            raise BrokenPipeError
        try:
            self._port.send(block)
        except OSError as error:
            raise BrokenPipeError from error

    def write_eof(self) -> None:
        """Close standard input; nothing when the command is over."""
        if self._end is None and self._port is not None:
            try:
                self._port.send_eof()
            except OSError:
                return

    async def wait(self) -> ChannelEnd:
        """How it ended, once it has; what was not read of its output is dropped."""
        while not self._ended.is_set():
            if self._blocks:
                self._take(self._unread)
            self._changed.clear()
            if not self._ended.is_set():
                await self._changed.wait()
        assert self._end is not None
        return self._end

    def abort(self) -> None:
        """Give the command up, if it is not over."""
        if self._end is None and self._port is not None:
            self._port.abort()

    def _take(self, limit: int) -> bytes:
        block = self._blocks.popleft()
        if len(block) > limit:
            self._blocks.appendleft(block[limit:])
            block = block[:limit]
        self._unread -= len(block)
        if self._is_paused and self._unread <= UNREAD_LIMIT_BYTES // 2 and self._port:
            self._is_paused = False
            self._port.resume_reading()
        return block
