"""The endpoint as a scraper and as a hostile client meet it, on loopback."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from overbrainer_core.prometheus.server import MAX_CONNECTIONS, ServerTiming, serving_metrics


@asynccontextmanager
async def served(text: str = "# EOF\n", *, timing: ServerTiming | None = None) -> AsyncIterator[tuple[str, int]]:
    async with serving_metrics("127.0.0.1:0", lambda: text, timing=timing) as address:
        assert address is not None
        host, _, port = address.rpartition(":")
        yield host, int(port)


async def asked(place: tuple[str, int], request: str) -> bytes:
    """Everything that comes back for a request on a connection of its own."""
    reader, writer = await asyncio.open_connection(*place)
    writer.write(request.encode())
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()


async def test_the_metrics_come_with_their_type_and_a_query_is_ignored() -> None:
    async with served("a 1\n# EOF\n") as place:
        for target in ("/metrics", "/metrics?name=x"):
            head, _, body = (await asked(place, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n" in head
            assert body == b"a 1\n# EOF\n"


@pytest.mark.parametrize(
    "start", ["GET / ", "GET /metrics/ ", "GET /METRICS ", "POST /metrics ", "PUT /x ", "get /metrics "]
)
async def test_any_other_path_or_method_is_not_found(start: str) -> None:
    async with served() as place:
        found = await asked(place, f"{start}HTTP/1.1\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 404 Not Found\r\n")
        assert found.endswith(b"\r\n\r\nnot found\n")


async def test_a_head_is_not_found_and_has_no_body() -> None:
    async with served() as place:
        found = await asked(place, "HEAD /metrics HTTP/1.1\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 404 ")
        assert found.endswith(b"\r\n\r\n")


async def test_a_connection_serves_several_scrapes() -> None:
    async with served() as place:
        reader, writer = await asyncio.open_connection(*place)
        for _ in range(3):
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"Connection: keep-alive" in head
            assert await reader.readexactly(6) == b"# EOF\n"
        writer.close()


async def test_a_request_with_a_body_ends_its_connection() -> None:
    async with served() as place:
        found = await asked(
            place, "POST /metrics HTTP/1.1\r\nContent-Length: 40\r\n\r\nGET /metrics HTTP/1.1\r\nX: y\r\n\r\n"
        )
        assert found.count(b"HTTP/1.1 ") == 1


async def test_a_fault_is_a_500_and_the_next_scrape_is_answered() -> None:
    texts = ["# EOF\n"]

    async with serving_metrics("127.0.0.1:0", texts.pop) as address:
        assert address is not None
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        request = "GET /metrics HTTP/1.1\r\n\r\n"
        assert (await asked(place, request)).startswith(b"HTTP/1.1 200 ")
        assert (await asked(place, request)).startswith(b"HTTP/1.1 500 ")
        texts.append("# EOF\n")
        assert (await asked(place, request)).startswith(b"HTTP/1.1 200 ")


async def test_headers_that_do_not_come_or_do_not_end_close_the_connection() -> None:
    async with served(timing=ServerTiming(headers_s=0.05)) as place:
        reader, writer = await asyncio.open_connection(*place)
        writer.write(b"GET /metrics HTTP/1.1\r\nX: ")
        assert await gone(reader)
        writer.close()
        assert await asked(place, "GET /metrics HTTP/1.1\r\nX: " + "y" * 100_000 + "\r\n\r\n") == b""


async def gone(reader: asyncio.StreamReader) -> bool:
    """Whether the other side closed without a word."""
    try:
        return await asyncio.wait_for(reader.read(), 5) == b""
    except ConnectionResetError:
        return True


async def test_more_than_32_connections_are_closed() -> None:
    async with served() as place:
        kept = [await asyncio.open_connection(*place) for _ in range(MAX_CONNECTIONS)]
        await asyncio.sleep(0.05)
        reader, writer = await asyncio.open_connection(*place)
        assert await gone(reader)
        writer.close()
        kept[0][1].close()
        await asyncio.sleep(0.05)
        assert (await asked(place, "GET /metrics HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        for _, open_writer in kept[1:]:
            open_writer.close()


async def test_the_end_drops_connections_and_frees_the_port() -> None:
    async with served() as place:
        reader, writer = await asyncio.open_connection(*place)
        await asyncio.sleep(0.05)
    assert await gone(reader)
    writer.close()
    with socket.create_server(place):
        pass


async def test_an_address_in_use_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        async with serving_metrics(listen, str) as address:
            assert address is None
    (record,) = caplog.records
    assert record.getMessage() == f"cannot serve the metrics on {listen}: Address already in use"


async def test_the_start_tells_the_address_and_what_is_open_to_all(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serving_metrics("127.0.0.1:0", str) as address:
        assert [record.getMessage() for record in caplog.records] == [f"metrics at http://{address}/metrics"]
    caplog.clear()
    async with serving_metrics("0.0.0.0:0", str) as address:
        assert caplog.records[-1].getMessage() == f"metrics on {address} have no authentication"
        assert caplog.records[-1].levelno == logging.WARNING


async def test_ipv6_is_served_in_brackets() -> None:
    if not socket.has_ipv6:
        pytest.skip("this system has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this system has no IPv6")
    async with serving_metrics("[::1]:0", lambda: "# EOF\n") as address:
        assert address is not None
        assert address.startswith("[::1]:")
        port = int(address.rpartition(":")[2])
        assert (await asked(("::1", port), "GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"# EOF\n")
