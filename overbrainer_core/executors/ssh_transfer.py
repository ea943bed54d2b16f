"""How do directories travel to and from a target as one tar stream over one command?

Archives are written and read in a thread, in blocks, so memory stays bounded and the loop free. The first side that
fails closes the other. Upload tells the receiver's failure first, download that of the extraction, unless the stream
broke off: then the sender's reason is the one to tell.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import time
from collections.abc import Collection, Coroutine, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from overbrainer_core.aio.process import CommandResult
from overbrainer_core.aio.threads import StopToken, run_in_thread
from overbrainer_core.executors.errors import AccessError, CommandError, SshError
from overbrainer_core.executors.ssh_channel import SshFailure
from overbrainer_core.executors.ssh_scripts import download_script, has_only_changed_files, upload_script
from overbrainer_core.executors.ssh_session import RunningCommand, SshSession
from overbrainer_core.transfers.tar import TruncatedArchiveError, extract_archive, write_archive
from overbrainer_core.transfers.tree import TransferError, walk_entries

_log = logging.getLogger("overbrainer.ssh")

T = TypeVar("T")

_BLOCK_BYTES = 1 << 18
_LOOK_S = 0.25
"""How long a thread waits before it looks whether anybody still waits for it."""

_SIGNAL_STATUS = 128
"""A shell adds the number of the signal that ended a command."""


async def upload(session: SshSession, local: Path, remote: str, *, skip: Collection[str]) -> None:
    """Copy the content of a directory to the target, but for the top-level names in `skip`."""
    try:
        entries = sorted(set(os.listdir(local)) - set(skip))
    except OSError as error:
        raise AccessError(local) from error
    async with session.command("upload", upload_script(remote)) as command:
        failure = await _send(session, command, local, entries)
        if failure is not None:
            command.channel.abort()
            raise failure
        result = await _finish("upload", session, command)
    if result.exit_status != 0:
        raise CommandError.from_output("upload", result.stderr, status_words=_status_words(result))


async def _send(
    session: SshSession, command: RunningCommand, local: Path, entries: Sequence[str]
) -> CommandError | AccessError | None:
    """Send the archive; what failed here, or None when all was sent or the receiver takes no more."""

    def work(token: StopToken) -> None:
        meter = _Meter("upload", session, total_bytes=_size(local, entries))
        sink = _Sink(command, loop, token, meter)
        write_archive(cast("IO[bytes]", sink), local, entries, check=token.check)
        sink.flush()

    loop = asyncio.get_running_loop()
    try:
        await run_in_thread(work)
    except BrokenPipeError:
        return None
    except TransferError as error:
        failure = CommandError(error.action, error.detail)
        failure.__cause__ = error.__cause__
        return failure
    except OSError as error:
        access = AccessError(error.filename or local)
        access.__cause__ = error
        return access
    command.channel.write_eof()
    return None


async def download(
    session: SshSession, remote: str, local: Path, entries: Sequence[str], *, exclude: Sequence[str]
) -> None:
    """Copy entries of a directory of the target here; without any, nothing is created."""
    loop = asyncio.get_running_loop()
    async with session.command("download", download_script(remote, entries, exclude)) as command:

        def work(token: StopToken) -> None:
            source = _Source(command, loop, token, _Meter("download", session))
            extract_archive(source, local, check=token.check)

        truncated: TransferError | None = None
        command.channel.write_eof()
        try:
            await run_in_thread(work)
        except SshFailure as error:
            raise SshError from error
        except TruncatedArchiveError as error:
            truncated = error
        except TransferError as error:
            raise CommandError(error.action, error.detail) from error.__cause__
        result = await _finish("download", session, command)
    if result.exit_status == 1 and has_only_changed_files(result.stderr):
        # The comparison of the hashes decides.
        _log.warning("download from target `%s`: %s", session.name, result.stderr.decode(errors="replace").strip())
    elif result.exit_status != 0:
        raise CommandError.from_output("download", result.stderr, status_words=_status_words(result))
    if truncated is not None:
        raise CommandError(truncated.action, truncated.detail)


async def _finish(action: str, session: SshSession, command: RunningCommand) -> CommandResult:
    try:
        async with asyncio.timeout(session.timing.stall_s):
            return await command.finish()
    except TimeoutError:
        raise CommandError.timed_out(action, session.timing.stall_s) from None


def _status_words(result: CommandResult) -> str:
    if result.exit_status > _SIGNAL_STATUS:
        return f"terminated by signal {result.exit_status - _SIGNAL_STATUS}"
    return result.status_words


def _size(local: Path, entries: Sequence[str]) -> int:
    """Bytes of the regular files to send."""
    return sum(os.lstat(file.path).st_size for file in walk_entries(local, entries) if file.is_regular)


class _Meter:
    """Tells how far a long transfer is, every now and then; used in the transfer's thread."""

    def __init__(self, words: str, session: SshSession, *, total_bytes: int | None = None) -> None:
        self.action = words
        self.stall_s = session.timing.stall_s
        self._words = f"{words} {'to' if words == 'upload' else 'from'} target `{session.name}`"
        self._pause_s = session.timing.notice_s
        self._total = total_bytes
        self._done = 0
        self._begin = self._told = time.monotonic()

    def add(self, size: int) -> None:
        """So many bytes more went through."""
        self._done += size
        now = time.monotonic()
        if now - self._told < self._pause_s:
            return
        self._told = now
        rate = self._done / (now - self._begin)
        line = f"{self._words}: {self._done / 1e6:.0f} MB"
        if self._total:
            line += f" of {self._total / 1e6:.0f} MB"
        line += f", {rate / 1e6:.1f} MB/s"
        if self._total and rate:
            line += f", {max(self._total - self._done, 0) / rate:.0f} s left"
        _log.info("%s", line)


class _Bridge:
    """Lets a thread wait for the loop, yet notice that nobody waits for the thread any more."""

    def __init__(
        self, command: RunningCommand, loop: asyncio.AbstractEventLoop, token: StopToken, meter: _Meter
    ) -> None:
        self._channel = command.channel
        self._loop = loop
        self._token = token
        self._meter = meter

    def _begin(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, future: concurrent.futures.Future[T]) -> T:
        end = time.monotonic() + self._meter.stall_s
        while True:
            try:
                return future.result(_LOOK_S)
            except concurrent.futures.TimeoutError:
                if future.done():
                    raise
                try:
                    self._token.check()
                    if time.monotonic() > end:
                        raise TransferError(self._meter.action, f"nothing moved for {self._meter.stall_s:g} s")
                except BaseException:
                    future.cancel()
                    raise


class _Sink(_Bridge):
    """What an archive is written to: one block is on its way while the next is made."""

    _sending: concurrent.futures.Future[None] | None = None

    def write(self, block: bytes) -> int:
        self.flush()
        self._sending = self._begin(self._channel.write(block))
        self._meter.add(len(block))
        return len(block)

    def flush(self) -> None:
        """Return once everything is sent."""
        if self._sending is not None:
            self._wait(self._sending)
            self._sending = None


class _Source(_Bridge):
    """What an archive is read from: the next block arrives while one is used."""

    _block = b""
    _taken = 0
    _arriving: concurrent.futures.Future[bytes] | None = None

    def read(self, size: int, /) -> bytes:
        if self._taken == len(self._block):
            # Large blocks: each wait for the loop costs as much as copying many of them.
            self._block = self._wait(self._arriving or self._begin(self._channel.read_full(_BLOCK_BYTES)))
            self._taken = 0
            self._meter.add(len(self._block))
            self._arriving = self._begin(self._channel.read_full(_BLOCK_BYTES)) if self._block else None
        part = self._block[self._taken : self._taken + size]
        self._taken += len(part)
        return part
