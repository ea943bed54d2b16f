"""Bytes between us and a command, with bounds on both sides."""

from __future__ import annotations

import asyncio

import pytest

from overbrainer_core.executors.ssh_channel import (
    ERROR_HEAD_BYTES,
    ERROR_TAIL_BYTES,
    UNREAD_LIMIT_BYTES,
    ChannelEnd,
    SshChannel,
    SshFailure,
)


class Port:
    """Keeps what a channel asks of its client."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sent = b""
        self.is_broken = False

    def pause_reading(self) -> None:
        self.asked.append("pause")

    def resume_reading(self) -> None:
        self.asked.append("resume")

    def send(self, block: bytes) -> None:
        if self.is_broken:
            raise OSError(32, "Broken pipe")
        self.sent += block

    def send_eof(self) -> None:
        self.asked.append("eof")

    def abort(self) -> None:
        self.asked.append("abort")


@pytest.fixture
def port() -> Port:
    """The client's side."""
    return Port()


@pytest.fixture
async def channel(port: Port) -> SshChannel:
    """A channel with its client's side."""
    channel = SshChannel()
    channel.attach(port)
    return channel


async def test_output_is_read_in_order_up_to_its_end(channel: SshChannel) -> None:
    channel.feed_output(b"abc")
    channel.feed_output(b"def")
    assert await channel.read(2) == b"ab"
    channel.unread(b"AB")
    assert await channel.read_full(4) == b"ABcd"
    channel.feed_eof()
    assert await channel.read_full(100) == b"ef"
    assert await channel.read(10) == b""


async def test_reading_waits_for_output(channel: SshChannel) -> None:
    task = asyncio.get_running_loop().create_task(channel.read(10))
    await asyncio.sleep(0)
    assert not task.done()
    channel.feed_output(b"late")
    assert await task == b"late"


async def test_much_unread_output_pauses_the_client(channel: SshChannel, port: Port) -> None:
    channel.feed_output(bytes(UNREAD_LIMIT_BYTES))
    assert port.asked == []
    channel.feed_output(b"x")
    assert port.asked == ["pause"]
    await channel.read_full(UNREAD_LIMIT_BYTES)
    assert port.asked == ["pause", "resume"]


async def test_a_cut_is_an_error_after_what_arrived(channel: SshChannel) -> None:
    channel.feed_output(b"half")
    channel.feed_end(ChannelEnd(failure=SshFailure("the connection to lab:22 was terminated")))
    assert await channel.read(10) == b"half"
    with pytest.raises(SshFailure, match="lab:22"):
        await channel.read(10)


async def test_writing_waits_while_the_client_is_full(channel: SshChannel, port: Port) -> None:
    channel.set_sending(is_possible=False)
    task = asyncio.get_running_loop().create_task(channel.write(b"x"))
    await asyncio.sleep(0)
    assert port.sent == b""
    channel.set_sending(is_possible=True)
    await task
    assert port.sent == b"x"


async def test_writing_to_what_is_over_is_a_broken_pipe(channel: SshChannel, port: Port) -> None:
    port.is_broken = True
    with pytest.raises(BrokenPipeError):
        await channel.write(b"x")
    channel.feed_end(ChannelEnd(exit_status=0))
    with pytest.raises(BrokenPipeError):
        channel.write_now(b"x")
    channel.write_eof()
    channel.abort()
    assert port.asked == []


async def test_the_end_is_waited_for_even_with_output_unread(channel: SshChannel, port: Port) -> None:
    channel.feed_output(bytes(UNREAD_LIMIT_BYTES + 1))
    task = asyncio.get_running_loop().create_task(channel.wait())
    await asyncio.sleep(0)
    assert port.asked == ["pause", "resume"]
    channel.feed_end(ChannelEnd(exit_status=3))
    channel.feed_end(ChannelEnd(exit_status=4))
    assert (await task).exit_status == 3


async def test_of_long_error_output_the_beginning_and_the_end_are_kept(channel: SshChannel) -> None:
    for _ in range(100):
        channel.feed_error(b"a" * 4000)
    channel.feed_error(b"the end")
    assert len(channel.stderr) == ERROR_HEAD_BYTES + ERROR_TAIL_BYTES
    assert channel.stderr.endswith(b"athe end")


async def test_short_error_output_is_whole(channel: SshChannel) -> None:
    channel.feed_error(b"one ")
    channel.feed_error(b"two")
    assert channel.stderr == b"one two"
