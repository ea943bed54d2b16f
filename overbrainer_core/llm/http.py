"""How does one request reach a provider and come back whole, or fail with words that help?

Requests are `httpx.Request` objects handed straight to a transport: aiohttp's pool for an address, an in-process
application for `demo:`, a test's own. Nothing is followed, cached or logged. Bodies are bounded, and a compressed one
that was cut is a broken request, never half an answer.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from overbrainer_core import __version__
from overbrainer_core.llm.errors import InvalidResponseError, RequestFailedError
from overbrainer_core.llm.proxy import proxy_of

CONNECT_S = 30.0
"""Seconds for the name, the connection and its TLS."""
MAX_BODY_BYTES = 64 * 1024 * 1024
"""Largest answer that is read, decompressed."""
KEEPALIVE_S = 30.0
"""Seconds an idle connection is kept."""
SPARE_DESCRIPTORS = 512
"""Open files left for everything that is no connection to a provider."""
DEMO_BASE_URL = "demo:"
"""The base URL of the in-process provider."""

_COMMON_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip, deflate",
    "content-type": "application/json",
    "user-agent": f"overbrainer/{__version__}",
}


def request_headers(own: Mapping[str, str]) -> httpx.Headers:
    """The headers of every request to a provider: the common ones and its own."""
    return httpx.Headers({**_COMMON_HEADERS, **own})


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer whose body is whole and decompressed."""

    status: int
    headers: httpx.Headers
    body: bytes


class HttpApi:
    """Requests below one base URL, all with the same headers; owns its transport."""

    def __init__(self, transport: httpx.AsyncBaseTransport, *, base_url: str, timeout_s: float) -> None:
        self._transport = transport
        self._base = base_url.rstrip("/")
        self._timeout_s = timeout_s
        self._urls: dict[str, httpx.URL] = {}
        self._extensions = {"timeout": {"connect": CONNECT_S, "pool": CONNECT_S, "read": None, "write": None}}

    async def post(self, path: str, body: bytes, *, headers: httpx.Headers) -> HttpReply:
        """Send a JSON body; the answer, whatever its status. `headers` are those of `request_headers`.

        Raises:
            RequestFailedError: no whole answer came.
            InvalidResponseError: the answer is too large.
        """
        return await self._send("POST", path, body, headers)

    async def get(self, path: str, *, headers: httpx.Headers) -> HttpReply:
        """Ask for a document; the answer, whatever its status. Fails like `post`."""
        return await self._send("GET", path, b"", headers)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    def _url(self, path: str) -> httpx.URL:
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = httpx.URL(f"{self._base}/{path}")
        return url

    async def _send(self, method: str, path: str, body: bytes, headers: httpx.Headers) -> HttpReply:
        request = httpx.Request(
            method, self._url(path), headers=headers, stream=httpx.ByteStream(body), extensions=self._extensions
        )
        request.headers.encoding = "ascii"  # else it is guessed again at each look
        request.read()
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                response = await self._transport.handle_async_request(request)
                try:
                    raw = await _read(response)
                finally:
                    await response.aclose()
            return HttpReply(response.status_code, response.headers, _decoded(raw, response.headers))
        except (httpx.HTTPError, aiohttp.ClientError, OSError, ssl.SSLError, httpx.StreamError) as error:
            if limit.expired():
                raise RequestFailedError(f"timed out after {self._timeout_s:g} s") from None
            raise RequestFailedError(failure_words(error)) from None


async def _read(response: httpx.Response) -> bytes:
    """The body as it was sent."""
    parts: list[bytes] = []
    size = 0
    stream = response.stream
    if not isinstance(stream, httpx.AsyncByteStream):
        raise RequestFailedError("the answer has no body")
    async for part in stream:
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise InvalidResponseError(f"larger than {MAX_BODY_BYTES // 1024 // 1024} MiB")
    return parts[0] if len(parts) == 1 else b"".join(parts)


_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


def _decoded(raw: bytes, headers: httpx.Headers) -> bytes:
    """The body without its compression; one that was cut, or is not what it says, is a failed request."""
    found = [value for name, value in headers.raw if name.lower() == b"content-encoding"]
    coding = b", ".join(found).decode("latin-1").strip().lower()
    if coding in ("", "identity"):
        return raw
    if coding not in _WINDOW_BITS:
        raise RequestFailedError("the answer is compressed in an unknown way")
    decompressor = zlib.decompressobj(_WINDOW_BITS[coding])
    try:
        body = decompressor.decompress(raw, MAX_BODY_BYTES)
    except zlib.error:
        raise RequestFailedError("the compressed answer is damaged") from None
    if decompressor.unconsumed_tail:
        raise InvalidResponseError(f"larger than {MAX_BODY_BYTES // 1024 // 1024} MiB")
    if not decompressor.eof:
        raise RequestFailedError("the compressed answer was cut")
    return body


_WORDS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    (
        (ssl.SSLCertVerificationError, aiohttp.ClientConnectorCertificateError),
        "the TLS certificate cannot be verified",
    ),
    ((aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError, httpx.ProxyError), "the proxy failed"),
    ((aiohttp.ClientConnectorDNSError, socket.gaierror), "the host name cannot be resolved"),
    ((ConnectionRefusedError,), "connection refused"),
    ((aiohttp.ClientConnectorSSLError, ssl.SSLError), "the TLS connection failed"),
    (
        (aiohttp.ConnectionTimeoutError, aiohttp.ServerTimeoutError, httpx.PoolTimeout),
        f"timed out after {CONNECT_S:g} s while connecting",
    ),
    ((aiohttp.ClientConnectorError,), "cannot connect"),
    (
        (
            aiohttp.ServerDisconnectedError,
            aiohttp.ClientPayloadError,
            aiohttp.ClientOSError,
            ConnectionResetError,
            BrokenPipeError,
            httpx.RemoteProtocolError,
            httpx.ReadError,
            httpx.WriteError,
            httpx.CloseError,
        ),
        "the connection was closed early",
    ),
    ((httpx.TimeoutException, TimeoutError), "timed out"),
    ((httpx.ConnectError, aiohttp.ClientConnectionError), "cannot connect"),
    ((httpx.UnsupportedProtocol, aiohttp.InvalidURL, httpx.LocalProtocolError), "the base URL cannot be used"),
    ((aiohttp.ClientError, httpx.ProtocolError), "the answer is no HTTP answer"),
    ((OSError,), "a network error"),
    ((httpx.HTTPError, httpx.StreamError), "the connection failed"),
)
"""Words of each failure of the libraries, the most telling first; a failure counts with its causes."""


def failure_words(error: BaseException) -> str:
    """Why a request failed, in a few words without addresses."""
    chain = _chain(error)
    if any(isinstance(link, OSError) and link.errno == errno.ECONNREFUSED for link in chain):
        return "connection refused"
    for kinds, words in _WORDS:
        if any(isinstance(link, kinds) for link in chain):
            return words
    return "the connection failed"


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        inner = getattr(current, "os_error", None)
        if isinstance(inner, BaseException) and inner not in chain:
            chain.append(inner)
        current = current.__cause__ or current.__context__
    return chain


def build_api(
    base_url: str,
    *,
    timeout_s: float,
    concurrency: int,
    environment: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None = None,
) -> HttpApi:
    """The requests of one provider, its pool sized for `concurrency` at once; `transport` replaces the network.

    Raises:
        ClientSetupError: the environment names a proxy that is no HTTP one.
        httpx.InvalidURL: the base URL is none.
    """
    if base_url == DEMO_BASE_URL:
        # imports the tables of the demo, which nothing else needs
        from overbrainer_core.llm.demo_provider import create_app

        return HttpApi(httpx.ASGITransport(create_app()), base_url="http://demo", timeout_s=timeout_s)
    url = httpx.URL(base_url)
    if transport is None:
        transport = _network_transport(url, concurrency, environment)
    return HttpApi(transport, base_url=base_url, timeout_s=timeout_s)


def allow_descriptors(count: int) -> None:
    """Raise this process's limit of open files so that so many connections fit beside its other files.

    Many systems start programs with 1,024, and allow more to those that ask.
    """
    wanted = count + SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with suppress(ValueError, OSError):  # the connections over the limit fail and are tried again
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _network_transport(url: httpx.URL, concurrency: int, environment: Mapping[str, str]) -> AiohttpTransport:
    allow_descriptors(concurrency)
    # reading the certificates takes tens of milliseconds, and plain HTTP needs none
    context = httpx.create_ssl_context(verify=url.scheme == "https")

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=concurrency + 2, keepalive_timeout=KEEPALIVE_S, ssl=context)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    return AiohttpTransport(verify=context, client=session, proxy=proxy_of(url, environment))
