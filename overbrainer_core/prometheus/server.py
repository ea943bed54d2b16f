"""How does a scraper get the metrics while a command works on the project?

One listening socket, one path. Every connection has a limit in number and in time, so that no client can hold the
command up; an address that cannot be used is a warning, never a failure. The work's own loop serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from overbrainer_core.aio.beside import beside
from overbrainer_core.prometheus.exposition import CONTENT_TYPE

PATH = "/metrics"
MAX_CONNECTIONS = 32
"""Connections at once; a further one is closed."""
MAX_HEADER_BYTES = 16 * 1024
"""Bytes of a request's headers."""

_ENDING = ("connection: close", "content-length:", "transfer-encoding:")
"""Headers of a request after which the connection is closed."""

_log = logging.getLogger("overbrainer.metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTiming:
    """The waits of the endpoint in seconds: for a request's headers, for its answer, after a failed accept."""

    headers_s: float = 10.0
    answer_s: float = 10.0
    accept_pause_s: float = 0.1


@contextlib.asynccontextmanager
async def serving_metrics(
    listen: str, text: Callable[[], str], *, timing: ServerTiming | None = None
) -> AsyncIterator[str | None]:
    """Serve `text()` at `listen` (`IP:PORT`, `[IPv6]:PORT`) until the block ends; the address, None when it cannot be.

    The port is free again, and every connection closed, when the block has ended.
    """
    try:
        listener = _listener(listen)
    except OSError as error:
        _log.warning("cannot serve the metrics on %s: %s", listen, _cause(error))
        yield None
        return
    address = _address_of(listener)
    with contextlib.closing(listener):
        _log.info("metrics at http://%s%s", address, PATH)
        if not ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback:
            _log.warning("metrics on %s have no authentication", address)
        async with beside(_Endpoint(text, timing or ServerTiming()).serve(listener)):
            yield address


def _cause(error: OSError) -> str:
    """The system's words alone: the library adds the address once more."""
    return os.strerror(error.errno) if error.errno else "the address is not one of this machine"


def _listener(listen: str) -> socket.socket:
    host, _, port = listen.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    listener = socket.create_server((host.strip("[]"), int(port)), family=family, backlog=MAX_CONNECTIONS)
    listener.setblocking(False)
    return listener


def _address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Endpoint:
    """Accepts and answers."""

    def __init__(self, text: Callable[[], str], timing: ServerTiming) -> None:
        self._text = text
        self._timing = timing
        self._open = 0

    async def serve(self, listener: socket.socket) -> None:
        """Take connections until cancelled."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError:
                    await asyncio.sleep(self._timing.accept_pause_s)
                    continue
                if self._open >= MAX_CONNECTIONS:
                    connection.close()
                    continue
                self._open += 1
                group.create_task(self._converse(connection), name="metrics connection")

    async def _converse(self, connection: socket.socket) -> None:
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_HEADER_BYTES)
            while await self._answer(reader, writer):
                pass
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            return  # a client that is gone, too slow or no HTTP client
        finally:
            self._open -= 1
            if writer is not None:
                writer.transport.abort()
            else:
                connection.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another one may follow."""
        async with asyncio.timeout(self._timing.headers_s):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, _, headers = head.partition("\r\n")
        method, target, version = (*request.split(" "), "", "", "")[:3]
        status, kind, body = self._reply(method, target.partition("?")[0])
        headers = "\r\n" + headers.lower()
        stays = (
            version == "HTTP/1.1"
            and method in ("GET", "HEAD")
            and not any(f"\r\n{name}" in headers for name in _ENDING)
        )
        lines = (
            f"HTTP/1.1 {status}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            f"Connection: {'keep-alive' if stays else 'close'}",
        )
        writer.write("\r\n".join((*lines, "", "")).encode("ascii") + (b"" if method == "HEAD" else body))
        async with asyncio.timeout(self._timing.answer_s):
            await writer.drain()
            if not stays:
                writer.write_eof()
                await reader.read(MAX_HEADER_BYTES)  # closing over unread bytes would reset the answer away
        return stays

    def _reply(self, method: str, path: str) -> tuple[str, str, bytes]:
        if method != "GET" or path != PATH:
            return "404 Not Found", "text/plain; charset=utf-8", b"not found\n"
        try:
            return "200 OK", CONTENT_TYPE, self._text().encode("utf-8")
        except Exception:  # noqa: BLE001  # the root of a request: a fault must not end the work beside it
            _log.debug("the metrics cannot be written", exc_info=True)
            return "500 Internal Server Error", "text/plain; charset=utf-8", b"cannot write the metrics\n"
