"""One connection for every command: noise, odd shells, few channels, forced commands, cuts, new connections."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.executors.errors import CommandError, ExecutorError, SshError
from overbrainer_core.executors.ssh_session import ChannelGate
from overbrainer_core.values.job import JobPhase
from tests.peers.sshd import make_key, needs_sshd

SshDesk = Any

NOISE = "printf '\\033[33mWelcome to lab node 3\\033[0m\\n'; echo 'stty: not a terminal' >&2\n"

pytestmark = needs_sshd


async def check_every_operation(lab: SshDesk, client: str, tmp_path: Path, *, workdir: str = "work") -> None:
    """Connect and do one of each operation."""
    executor = await lab.connect(client, workdir=workdir)
    run = f"{executor.workdir}/run"
    assert await executor.claim(run, "abc")
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "a\\b'c").write_text("content")
    await executor.upload(tmp_path / "local", run)
    job = await lab.start(executor, "printf '%s' 'a\\\\b it'\\''s' >out; sleep 30")
    assert (await executor.status(job)).phase is JobPhase.RUNNING
    assert await executor.read_from(f"{run}/a\\b'c", 0, 100) == b"content"
    await executor.put_file(f"{run}/request", "it's\\here")
    assert await executor.read_from(f"{run}/request", 0, 100) == b"it's\\here"
    assert await executor.probe("printf 'raw\\n'") == b"raw\n"
    assert [entry.path for entry in await executor.manifest(run, ["a\\b'c"])] == ["a\\b'c"]
    await executor.download(run, tmp_path / "back", ["a\\b'c", "out"])
    assert (tmp_path / "back" / "a\\b'c").read_text() == "content"
    assert (tmp_path / "back" / "out").read_text() == "a\\\\b it's"
    with pytest.raises(CommandError, match="probe failed: only this"):
        await executor.probe("echo only this >&2; exit 1")
    await executor.cancel(job)
    assert (await executor.status(job)).phase is JobPhase.CANCELLED


async def test_what_start_up_files_print_is_ignored(lab: SshDesk, client: str, tmp_path: Path) -> None:
    (lab.server.remote_home / ".bashrc").write_text(NOISE)
    noisy = tmp_path / "noisy"
    noisy.write_text(f'#!/bin/sh\n{NOISE}printf "no line end"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    noisy.chmod(0o755)
    lab.server.restart(ForceCommand=str(noisy))
    await check_every_operation(lab, client, tmp_path)


@pytest.mark.parametrize("shell", ["fish", "tcsh"])
async def test_a_login_shell_of_another_kind_works_byte_for_byte(
    lab: SshDesk, client: str, tmp_path: Path, shell: str
) -> None:
    if not Path(f"/usr/bin/{shell}").exists():
        pytest.skip(f"no {shell} here")
    # As the server would run that shell for an account whose login shell it is.
    lab.server.restart(ForceCommand=f'exec /usr/bin/{shell} -c "$SSH_ORIGINAL_COMMAND"')
    await check_every_operation(lab, client, tmp_path, workdir="it's\\here")


async def test_a_slow_login_shell_is_waited_for_and_told(
    lab: SshDesk, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="overbrainer.ssh")
    lab.timing = replace(lab.timing, notice_s=0.2)
    executor = await lab.connect(client)
    lab.server.restart(ForceCommand='sleep 1; exec sh -c "$SSH_ORIGINAL_COMMAND"')
    assert await executor.probe("echo x") == b"x\n"
    assert "still waiting for target `lab`: probe" in caplog.text


async def test_a_server_with_one_channel_serves_everything(lab: SshDesk, client: str, tmp_path: Path) -> None:
    lab.server.restart(MaxSessions="1")
    await check_every_operation(lab, client, tmp_path)


@pytest.mark.parametrize("sessions", ["1", "2"])
async def test_a_refused_channel_is_waited_for(lab: SshDesk, client: str, tmp_path: Path, sessions: str) -> None:
    lab.server.restart(MaxSessions=sessions)
    executor = await lab.connect(client)
    job = await lab.start(executor, "echo line >metrics.jsonl; sleep 30")
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "big").write_bytes(bytes(2_000_000))
    results = await asyncio.gather(
        executor.read_from(f"{job.directory}/metrics.jsonl", 0, 100),
        executor.status(job),
        executor.probe("sleep 0.3; echo sample"),
        executor.read_from(f"{job.directory}/snapshot.request", 0, 100),
        executor.upload(tmp_path / "up", f"{executor.workdir}/other"),
        executor.download(job.directory, tmp_path / "back", ["metrics.jsonl"]),
    )
    assert results[0] == b"line\n"
    assert results[1].phase is JobPhase.RUNNING
    assert (results[2], results[3]) == (b"sample\n", b"")
    assert (tmp_path / "back" / "metrics.jsonl").read_text() == "line\n"
    assert lab.server.logged_in() == 1


async def test_a_server_without_any_channel_is_given_up(lab: SshDesk, client: str) -> None:
    lab.server.restart(MaxSessions="0")
    lab.timing = replace(lab.timing, channel_s=0.3)
    with pytest.raises(ExecutorError) as caught:
        await lab.connect(client)
    assert "refused another channel" in describe(caught.value)


async def test_a_forced_command_is_told(lab: SshDesk, client: str) -> None:
    lab.server.authorize(lab.server.key, options='command="echo only backups here; exit 3"')
    with pytest.raises(ExecutorError) as caught:
        await lab.connect(client)
    told = describe(caught.value)
    assert told.startswith("cannot reach target `lab`: unexpected answer from the target: `only backups here`")
    assert "a forced command" in told


async def test_a_forced_command_that_hangs_is_limited(lab: SshDesk, client: str) -> None:
    lab.timing = replace(lab.timing, command_s=0.5)
    lab.server.authorize(lab.server.key, options='command="sleep 30"')
    with pytest.raises(ExecutorError, match="cannot reach target") as caught:
        await lab.connect(client)
    assert "timed out after 0.5 s" in describe(caught.value)


async def test_a_look_finds_its_connection_gone_and_connects_again(
    lab: SshDesk, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 30")
    lab.server.cut()
    await asyncio.sleep(0.3)
    states = await asyncio.gather(*(executor.status(job) for _ in range(4)))
    assert [state.phase for state in states] == [JobPhase.RUNNING] * 4
    assert lab.server.logged_in() == 2
    assert "the connection to target `lab` was terminated; connected to it again" in caplog.text


async def test_a_look_that_is_cut_fails_and_the_next_goes_on(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 30")
    with pytest.raises(SshError) as caught:
        async with asyncio.TaskGroup() as group:
            group.create_task(cut_soon(lab))
            failure = await failing(executor.probe("sleep 30"))
        raise failure
    assert f"127.0.0.1:{lab.server.port}" in describe(caught.value)
    assert (await executor.status(job)).phase is JobPhase.RUNNING


async def cut_soon(lab: SshDesk) -> None:
    """Kill the connections in a moment."""
    await asyncio.sleep(0.5)
    lab.server.cut()


async def failing(work: Any) -> ExecutorError:
    """The error that the work ends with."""
    try:
        await work
    except ExecutorError as error:
        return error
    raise AssertionError("it did not fail")


async def test_while_the_server_is_down_each_look_fails_and_then_it_is_found_again(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 30")
    lab.server.stop()
    for _ in range(2):
        failures = await asyncio.gather(*(executor.status(job) for _ in range(3)), return_exceptions=True)
        for failure in failures:
            assert isinstance(failure, SshError)
            assert "onnection refused" in describe(failure)
            assert f"127.0.0.1:{lab.server.port}" in describe(failure)
    lab.server.start()
    assert (await executor.status(job)).phase is JobPhase.RUNNING


async def test_a_server_that_comes_back_with_another_key_gets_no_command(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    lab.server.stop()
    lab.server.host_key = make_key(lab.server.directory / "other_key")
    lab.server.start()
    with pytest.raises(SshError) as caught:
        await executor.put_file(f"{executor.workdir}/x", "text")
    assert f"host key verification failed for 127.0.0.1:{lab.server.port}: the host key changed" in describe(
        caught.value
    )
    assert not Path(executor.workdir, "x").exists()


async def test_a_remote_process_without_an_exit_status_is_a_failure(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    # Only the shell of the command dies: the connection lives on.
    with pytest.raises((SshError, CommandError)):
        await executor.probe("kill -9 $$; sleep 5")
    assert await executor.probe("echo on") == b"on\n"


async def test_a_gate_holds_back_what_the_server_refused() -> None:
    gate = ChannelGate(limit=3)
    await gate.enter()
    await gate.enter()
    gate.refused()
    late = asyncio.get_running_loop().create_task(gate.enter())
    await asyncio.sleep(0)
    assert not late.done()
    gate.leave()
    await late
    gate.refused()
    await gate.enter()
