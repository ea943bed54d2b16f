"""Complete lines of a growing file, whatever its writer does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from overbrainer_core.executors.lines import READ_LIMIT_BYTES, LineReader, tail
from overbrainer_core.executors.local import LocalExecutor


class GrowingFile:
    """A file in memory that remembers how it was read."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.reads: list[tuple[int, int]] = []

    async def read(self, offset: int, limit: int) -> bytes:
        """As an executor reads."""
        self.reads.append((offset, limit))
        return self.content[offset : offset + limit]


async def test_lines_end_at_line_feeds_and_carriage_returns_and_empty_ones_are_dropped() -> None:
    file = GrowingFile(b"one\ntwo\r\n\n\n10%\r20%\r   \rlast\n")
    assert await LineReader(file.read).read_lines() == ["one", "two", "10%", "20%", "   ", "last"]


async def test_an_unfinished_line_stays_until_it_is_finished() -> None:
    file = GrowingFile(b"whole\nto")
    reader = LineReader(file.read)
    assert await reader.read_lines() == ["whole"]
    assert reader.offset == 6
    assert await reader.read_lines() == []
    file.content += b"rn\n"
    assert await reader.read_lines() == ["torn"]
    assert reader.offset == len(file.content)


async def test_a_saved_offset_goes_on_where_it_stopped() -> None:
    file = GrowingFile(b"a\nb\n")
    first = LineReader(file.read)
    await first.read_lines()
    file.content += b"c\n"
    assert await LineReader(file.read, first.offset).read_lines() == ["c"]


async def test_a_carriage_return_at_the_end_of_a_read_makes_no_empty_line() -> None:
    file = GrowingFile(b"one\r")
    reader = LineReader(file.read)
    assert await reader.read_lines() == ["one"]
    file.content += b"\ntwo\n"
    assert await reader.read_lines() == ["two"]


async def test_bytes_that_are_no_text_are_replaced() -> None:
    file = GrowingFile(b"a\xff\xc3\nb\xe2\x82\rc\x00d\n\xe2\x82\xac\n")
    assert await LineReader(file.read).read_lines() == ["a\ufffd\ufffd", "b\ufffd", "c\x00d", "€"]


async def test_unicode_line_separators_end_no_line() -> None:
    file = GrowingFile("a\u2028b\u0085c\x0cd\n".encode())
    assert await LineReader(file.read).read_lines() == ["a\u2028b\u0085c\x0cd"]


async def test_a_read_never_asks_for_more_than_its_limit() -> None:
    file = GrowingFile(b"x\n" * READ_LIMIT_BYTES)
    reader = LineReader(file.read)
    lines = await reader.read_lines()
    assert len(lines) == READ_LIMIT_BYTES // 2
    assert file.reads == [(0, READ_LIMIT_BYTES)]


@pytest.mark.parametrize("character", ["é", "€", "𝄞"])
@pytest.mark.parametrize("missing", [1, 2, 3])
async def test_a_giant_line_is_cut_before_an_unfinished_character(character: str, missing: int) -> None:
    encoded = character.encode()
    if missing >= len(encoded):
        missing = len(encoded) - 1
    head = b"x" * (READ_LIMIT_BYTES - len(encoded) + missing)
    file = GrowingFile(head + encoded + b"tail\n")
    reader = LineReader(file.read)
    assert await reader.read_lines() == [head.decode()]
    assert reader.offset == len(head)
    assert await reader.read_lines() == [f"{character}tail"]


async def test_a_giant_line_that_ends_with_a_whole_character_is_not_cut() -> None:
    content = b"x" * (READ_LIMIT_BYTES - 3) + "€".encode()
    reader = LineReader(GrowingFile(content + b"more").read)
    assert await reader.read_lines() == [content.decode()]
    assert reader.offset == READ_LIMIT_BYTES


@pytest.mark.parametrize("byte", [b"\xff", b"\x80", b"\xe2"])
async def test_a_giant_line_without_one_valid_character_at_its_start_passes_whole(byte: bytes) -> None:
    reader = LineReader(GrowingFile(byte * (READ_LIMIT_BYTES + 5)).read)
    lines = await reader.read_lines()
    assert len(lines) == 1
    assert reader.offset == READ_LIMIT_BYTES


async def test_one_line_of_three_megabytes_full_of_carriage_returns_is_many_lines() -> None:
    bar = b"\r".join(b"%3d%%|####| %d/640" % (n, n) for n in range(640)) * 200
    file = GrowingFile(bar + b"{'eval_loss': 0.71, 'epoch': 8.0}\n")
    reader = LineReader(file.read)
    lines: list[str] = []
    while found := await reader.read_lines():
        assert sum(map(len, found)) <= READ_LIMIT_BYTES
        lines += found
    assert lines[-1].endswith("{'eval_loss': 0.71, 'epoch': 8.0}")
    assert reader.offset == len(file.content)


async def test_a_million_metric_lines_are_read_in_well_under_five_seconds(tmp_path: Path) -> None:
    executor = LocalExecutor(tmp_path / "runs", environment={})
    path = tmp_path / "runs" / "metrics.jsonl"
    line = b'{"event":"log","time":1700000000.25,"step":123456,"epoch":1.25,"loss":0.7312,"learning_rate":0.0002}\n'
    path.write_bytes(line * 1_000_000)
    reader = tail(executor, str(path))
    started, count = time.process_time(), 0
    while lines := await reader.read_lines():
        count += len(lines)
    assert count == 1_000_000
    assert time.process_time() - started < 2.5
