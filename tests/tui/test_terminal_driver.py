"""The output thread never makes its caller wait, and tells a terminal that failed; the rest is tested on terminals."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from overbrainer_tui.terminal_driver import BACKLOG_CHARS, OutputThread, without_passed_moves
from overbrainer_tui.terminal_keys import Found, Pointer, PointerKind, TypedKey


class Pipe:
    """A terminal's stand-in, read or not."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        self.broken: list[BaseException] = []
        self.drained = threading.Event()
        self.output = OutputThread(self.write_end, on_broken=self.broken.append, on_drained=self.drained.set)
        self.output.start()

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += os.read(self.read_end, size - len(data))
        return data

    def close(self) -> None:
        for descriptor in (self.read_end, self.write_end):
            if descriptor >= 0:
                os.close(descriptor)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.output.stop()
    made.close()


def test_what_is_written_arrives_in_order(pipe: Pipe) -> None:
    for text in ("one ", "zwei ", "三"):
        pipe.output.write(text)
    assert pipe.read(12).decode() == "one zwei 三"


def test_stopping_writes_what_waits() -> None:
    made = Pipe()
    made.output.write("last words")
    made.output.stop()
    assert not made.output.is_alive()
    assert made.read(10) == b"last words"
    made.close()


def test_a_terminal_that_takes_nothing_never_makes_the_writer_wait_and_is_repainted_later(pipe: Pipe) -> None:
    started = time.monotonic()
    chunk = "x" * 65536
    for _ in range(2 * BACKLOG_CHARS // len(chunk) + 4):
        pipe.output.write(chunk)
    assert time.monotonic() - started < 1.0
    assert not pipe.drained.is_set()
    while not pipe.drained.wait(0.001):
        os.read(pipe.read_end, 1 << 20)


def test_a_failed_write_is_told_once_and_later_ones_are_dropped() -> None:
    made = Pipe()
    os.close(made.read_end)
    made.read_end = -1
    made.output.write("nobody reads this")
    made.output.join(timeout=5)
    made.output.write("nor this")
    made.output.stop()
    assert [type(error) for error in made.broken] == [BrokenPipeError]
    made.close()


def test_of_moves_in_a_row_the_last_one_counts() -> None:
    def move(x: int) -> Pointer:
        return Pointer(PointerKind.MOVE, x, 0)

    click = Pointer(PointerKind.CLICK, 2, 0)
    found: list[Found] = [move(1), move(2), click, move(3), TypedKey("j"), move(4), move(5)]
    assert without_passed_moves(list(found)) == [move(2), click, move(3), TypedKey("j"), move(5)]
    assert without_passed_moves([]) == []
