from __future__ import annotations

import asyncio
import gzip
import resource
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import httpx
import pytest
from aiohttp import web

from overbrainer_core.llm import http
from overbrainer_core.llm.errors import InvalidResponseError, RequestFailedError
from overbrainer_core.llm.http import HttpApi, build_api, failure_words, request_headers

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A real HTTP server on loopback; its base URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(answer: bytes | None) -> AsyncIterator[str]:
    """A server that sends these bytes whatever it is asked, then closes; None closes at once."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        if answer is not None:
            writer.write(answer)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def api_of(base_url: str, *, timeout_s: float = 10.0, **environment: str) -> AsyncIterator[HttpApi]:
    """An API over the network."""
    api = build_api(base_url, timeout_s=timeout_s, concurrency=4, environment=environment)
    try:
        yield api
    finally:
        await api.aclose()


async def failure_of(base_url: str, *, timeout_s: float = 10.0) -> str:
    """The words of the failure of one request."""
    async with api_of(base_url, timeout_s=timeout_s) as api:
        with pytest.raises(RequestFailedError) as caught:
            await api.post("chat", b"{}", headers=request_headers({}))
    return caught.value.reason


async def test_a_request_arrives_as_it_was_built_and_its_answer_is_whole() -> None:
    seen: list[tuple[str, str, bytes, str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        headers = request.headers
        seen.append((request.method, request.path_qs, body, headers["Content-Type"], headers["X-Api-Key"]))
        return web.Response(body=b'{"a":1}' + b" " * 100_000, headers={"X-More": "yes"})

    async with serving(handler) as base, api_of(f"{base}/") as api:
        reply = await api.post("chat/completions", b'{"q":1}', headers=request_headers({"x-api-key": "k"}))
    assert seen == [("POST", "/v1/chat/completions", b'{"q":1}', "application/json", "k")]
    assert (reply.status, len(reply.body), reply.headers["x-more"]) == (200, 100_007, "yes")


async def test_a_listing_is_asked_for_with_its_query() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(f"{request.method} {request.path_qs}")
        return web.Response(body=b"[]")

    async with serving(handler) as base, api_of(base) as api:
        assert (await api.get("models?detailed=true", headers=request_headers({}))).body == b"[]"
    assert seen == ["GET /v1/models?detailed=true"]


# C025
@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate"])
async def test_a_compressed_answer_is_decompressed(coding: str) -> None:
    body = zlib.compress(b'{"ok":1}') if coding == "deflate" else gzip.compress(b'{"ok":1}', mtime=0)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    async with raw_server(head.encode() + body) as base, api_of(base) as api:
        assert (await api.get("x", headers=request_headers({}))).body == b'{"ok":1}'


# C025
@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("gzip", gzip.compress(b'{"ok":1}' * 50, mtime=0)[:-8], "the compressed answer was cut"),
        ("gzip", b'{"ok":1}', "the compressed answer is damaged"),
        ("br", b"xx", "the answer is compressed in an unknown way"),
    ],
)
async def test_a_damaged_compression_is_a_broken_request(coding: str, body: bytes, words: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    async with raw_server(head.encode() + body) as base:
        assert await failure_of(base) == words


async def test_a_refused_connection_is_called_so() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    assert await failure_of(f"http://127.0.0.1:{port}/v1") == "connection refused"
    assert await failure_of(f"http://localhost:{port}/v1") == "connection refused"


async def test_a_connection_that_closes_early_is_called_so() -> None:
    async with raw_server(None) as base:
        assert await failure_of(base) == "the connection was closed early"
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"half'
    async with raw_server(cut) as base:
        assert await failure_of(base) == "the connection was closed early"


async def test_what_is_no_http_is_called_so() -> None:
    async with raw_server(b"SSH-2.0-OpenSSH\r\n\r\n") as base:
        assert await failure_of(base) == "the answer is no HTTP answer"


async def test_tls_to_a_plain_server_is_called_so() -> None:
    async with raw_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as base:
        words = await failure_of(base.replace("http:", "https:"))
    assert words in ("the TLS connection failed", "the connection was closed early")


async def test_a_slow_answer_is_a_timeout_with_its_limit() -> None:
    released = asyncio.Event()

    async def handler(_request: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    async with serving(handler) as base:
        assert await failure_of(base, timeout_s=0.05) == "timed out after 0.05 s"
        released.set()


async def test_a_redirect_is_given_back_not_followed() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as base, api_of(base) as api:
        assert (await api.post("x", b"{}", headers=request_headers({}))).status == 307
    assert seen == ["/v1/x"]


async def test_a_huge_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 1024 * 1024)

    async def handler(request: web.Request) -> web.Response:
        body = b" " * 3_000_000
        if "packed" in request.path:
            return web.Response(body=gzip.compress(body, mtime=0), headers={"Content-Encoding": "gzip"})
        return web.Response(body=body)

    async with serving(handler) as base, api_of(base) as api:
        for path in ("plain", "packed"):
            with pytest.raises(InvalidResponseError, match="larger than 1 MiB"):
                await api.get(path, headers=request_headers({}))


async def test_many_requests_share_a_pool_sized_for_them() -> None:
    open_now = 0
    most = 0

    async def handler(_request: web.Request) -> web.Response:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0.02)
        open_now -= 1
        return web.Response(body=b"{}")

    async with serving(handler) as base:
        api = build_api(base, timeout_s=10, concurrency=30, environment={})
        await asyncio.gather(*[api.post("x", b"{}", headers=request_headers({})) for _ in range(30)])
        await api.aclose()
    assert most == 30


# C029
async def test_loopback_never_goes_through_a_proxy() -> None:
    async def handler(_request: web.Request) -> web.Response:
        return web.Response(body=b'"direct"')

    async with serving(handler) as base, api_of(base, http_proxy="http://127.0.0.1:9") as api:
        assert (await api.get("x", headers=request_headers({}))).body == b'"direct"'


async def test_a_proxy_of_the_environment_is_used_for_other_hosts() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(str(request.url))
        return web.Response(body=b"{}")

    async with (
        serving(handler) as base,
        api_of("http://provider.test/v1", HTTP_PROXY=base.removesuffix("/v1")) as api,
    ):
        await api.get("models", headers=request_headers({}))
    assert seen == ["http://provider.test/v1/models"]


async def test_the_demo_needs_no_socket() -> None:
    async with api_of("demo:") as api:
        reply = await api.get("models?detailed=true", headers=request_headers({}))
    assert reply.status == 200
    assert b"demo/parent" in reply.body


def aiohttp_failures() -> list[type[BaseException]]:
    """Every failure class of aiohttp's client that a request can raise."""
    return [
        kind
        for kind in vars(aiohttp.client_exceptions).values()
        if isinstance(kind, type) and issubclass(kind, aiohttp.ClientError) and not issubclass(kind, Warning)
    ]


def httpx_failures() -> list[type[BaseException]]:
    """Every failure class of httpx that a request can raise."""
    return [
        kind
        for kind in vars(httpx).values()
        if isinstance(kind, type) and issubclass(kind, httpx.HTTPError | httpx.StreamError)
    ]


@pytest.mark.parametrize("kind", [*aiohttp_failures(), *httpx_failures()])
def test_every_failure_of_the_libraries_has_words(kind: type[BaseException]) -> None:
    assert failure_words(kind.__new__(kind)) in {words for _, words in http._WORDS}


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the host name cannot be resolved"),
        (ssl.SSLCertVerificationError("self-signed"), "the TLS certificate cannot be verified"),
        (ssl.SSLError("wrong version"), "the TLS connection failed"),
        (ConnectionResetError(104, "reset"), "the connection was closed early"),
        (TimeoutError(), "timed out"),
        (OSError(101, "unreachable"), "cannot connect"),
    ],
)
def test_the_most_telling_cause_is_told(cause: BaseException, words: str) -> None:
    error = httpx.ConnectError("all attempts failed")
    error.__cause__ = cause
    assert failure_words(error) == words


def test_the_limit_of_open_files_is_raised_for_many_connections_and_never_lowered() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip("this machine allows few open files")
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        http.allow_descriptors(1024)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1024 + http.SPARE_DESCRIPTORS
        http.allow_descriptors(8)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 1024 + http.SPARE_DESCRIPTORS
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
