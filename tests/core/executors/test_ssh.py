"""Jobs and files on a machine behind a real sshd, with both clients."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.errors import describe
from overbrainer_core.executors.base import Executor, Spawn
from overbrainer_core.executors.errors import CommandError, InvalidSecretError, SshError
from overbrainer_core.executors.lines import tail
from overbrainer_core.executors.ssh import SshExecutor
from overbrainer_core.values.job import Container, JobHandle, JobPhase, JobState, Secret
from tests.peers.shells import eventually, is_running
from tests.peers.sshd import needs_sshd

SshDesk = Any
RUNNING = JobState(phase=JobPhase.RUNNING)
CANCELLED = JobState(phase=JobPhase.CANCELLED)

pytestmark = needs_sshd


async def ended(executor: Executor, job: JobHandle) -> JobState:
    """The state of a job once it has ended."""
    async with asyncio.timeout(15):
        while True:
            state = await executor.status(job)
            if state.has_ended:
                return state
            await asyncio.sleep(0.05)


async def test_the_work_directory_is_made_below_the_remote_home(lab: SshDesk, client: str) -> None:
    executor: Executor = await lab.connect(client, workdir="deep/er work")
    assert executor.workdir == str(lab.server.remote_home.resolve() / "deep" / "er work")
    assert Path(executor.workdir).is_dir()


@pytest.mark.parametrize(("given", "below_home"), [("~/over", "over"), ("~", "")])
async def test_a_tilde_is_the_remote_home(lab: SshDesk, given: str, below_home: str) -> None:
    executor = await lab.connect("builtin", workdir=given)
    assert Path(executor.workdir) == lab.server.remote_home.resolve() / below_home


async def test_an_absolute_work_directory_is_resolved(lab: SshDesk, tmp_path: Path, client: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    executor = await lab.connect(client, workdir=str(tmp_path / "link"))
    assert executor.workdir == str((tmp_path / "real").resolve())


async def test_a_work_directory_that_cannot_be_made_names_the_target(lab: SshDesk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot reach target `lab`") as caught:
        await lab.connect("builtin", workdir=str(tmp_path / "file" / "work"))
    assert "create the work directory failed: mkdir" in describe(caught.value)


async def test_a_claim_is_exclusive_and_ours_counts_twice(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    directory = f"{executor.workdir}/run"
    assert await executor.claim(directory, "0123456789abcdef")
    assert await executor.claim(directory, "0123456789abcdef")
    assert not await executor.claim(directory, "fedcba9876543210")
    assert Path(directory, ".claim").read_text() == "0123456789abcdef\n"


async def test_of_two_claims_at_once_one_wins(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    answers = await asyncio.gather(*(executor.claim(f"{executor.workdir}/run", str(owner)) for owner in range(6)))
    assert sorted(answers) == [False] * 5 + [True]


async def test_a_job_runs_with_its_secrets_and_leaves_its_exit_code(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    secrets = (Secret("HF_TOKEN", 'hf_it\'s a\\n "se$cret"'), Secret("EMPTY", ""), Secret("Wide", "  ä "))
    job = await lab.start(
        executor, 'printf "%s|%s|%s" "$HF_TOKEN" "$EMPTY" "$Wide"; pwd; exit 3 # last', secrets=secrets
    )
    assert await ended(executor, job) == JobState(phase=JobPhase.EXITED, exit_code=3)
    run = Path(job.directory)
    assert (run / "job.log").read_text() == f'hf_it\'s a\\n "se$cret"||  ä {job.directory}\n'
    assert (run / "job.pid").read_text() == f"{job.pid}\n"
    kept = b"".join(file.read_bytes() for file in run.rglob("*") if file.is_file() and file.name != "job.log")
    assert b"hf_it" not in kept


async def test_a_secret_is_never_on_a_command_line(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    await lab.start(executor, "sleep 20", secrets=(Secret("TOKEN", "hf_never_in_argv"),))
    lines = b"".join(
        file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if os.access(file, os.R_OK) and file.exists()
    )
    assert b"hf_never_in_argv" not in lines


@pytest.mark.parametrize("secret", [Secret("1X", "v"), Secret("X", "a\nb"), Secret("X", "a\rb"), Secret("X", "a\0b")])
async def test_a_bad_secret_is_refused_before_anything_is_made(lab: SshDesk, secret: Secret) -> None:
    executor = await lab.connect("builtin")
    with pytest.raises(InvalidSecretError, match="cannot be passed to the job"):
        await lab.start(executor, "true", secrets=(secret,))
    assert not Path(executor.workdir, "run").exists()


async def test_a_launcher_that_fails_early_tells_its_own_error(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    Path(executor.workdir, "run").write_text("in the way")
    many = tuple(Secret(f"S{number}", "x" * 1000) for number in range(200))
    with pytest.raises(CommandError, match="start the job failed: mkdir"):
        await lab.start(executor, "true", secrets=many)


async def test_stale_files_of_an_earlier_job_are_removed(lab: SshDesk) -> None:
    executor = await lab.connect("builtin")
    run = Path(executor.workdir, "run")
    run.mkdir()
    for name in ("exit_code", "cancelled", "cancelling"):
        (run / name).write_text("0\n")
    job = await lab.start(executor, "sleep 20")
    assert await executor.status(job) == RUNNING


async def test_a_job_outlives_the_client_and_is_found_by_another(lab: SshDesk, client: str) -> None:
    first = await lab.connect(client)
    job = await lab.start(first, "sleep 1; echo line >metrics.jsonl; exit 5")
    assert await first.status(job) == RUNNING
    await first.close()
    second = await lab.connect(client)
    assert await ended(second, job) == JobState(phase=JobPhase.EXITED, exit_code=5)
    assert await second.read_from(f"{job.directory}/metrics.jsonl", 0, 100) == b"line\n"


async def test_a_job_outlives_the_server_and_its_connections(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 20")
    lab.server.restart()
    assert await executor.status(job) == RUNNING
    assert is_running(job.pid)


async def test_a_job_is_cancelled_from_a_new_connection(lab: SshDesk, client: str) -> None:
    first = await lab.connect(client)
    job = await lab.start(first, "trap '' TERM; sleep 30 & sleep 30 & wait; sleep 30")
    await first.close()
    second = await lab.connect(client)
    await second.cancel(job)
    assert await second.status(job) == CANCELLED
    await second.cancel(job)
    assert not is_running(job.pid)


async def test_a_cancel_stops_the_container(lab: SshDesk, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "docker").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/calls\n')
    (tools / "docker").chmod(0o755)
    lab.server.variables["PATH"] = f"{tools}:{os.environ['PATH']}"
    lab.server.restart()
    executor = await lab.connect("builtin")
    plain = await lab.start(executor, "sleep 20")
    await executor.cancel(
        JobHandle(directory=plain.directory, pid=plain.pid, container=Container(engine="docker", name="overbrainer-X"))
    )
    assert (tmp_path / "calls").read_text() == "stop -t 1 overbrainer-X\n"


async def test_a_killed_job_is_lost_and_a_vanished_directory_too(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 20")
    os.killpg(job.pid, signal.SIGKILL)
    eventually(lambda: not is_running(job.pid))
    assert await ended(executor, job) == JobState(phase=JobPhase.LOST)
    gone = JobHandle(directory=f"{executor.workdir}/nowhere", pid=job.pid)
    assert (await executor.status(gone)).phase is JobPhase.LOST


async def test_reading_goes_by_offset(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    path = Path(executor.workdir, "it's\\a file")
    path.write_bytes(bytes(range(256)) * 1000)
    content = path.read_bytes()
    assert await executor.read_from(str(path), 0, 10) == content[:10]
    assert await executor.read_from(str(path), 255_990, 1000) == content[255_990:]
    assert await executor.read_from(str(path), 100_000, 150_000) == content[100_000:250_000]
    assert await executor.read_from(str(path), 256_000, 10) == b""
    assert await executor.read_from(str(path), 999_999, 10) == b""
    assert await executor.read_from(f"{path}.missing", 0, 10) == b""
    assert await executor.read_from(str(path), 0, 0) == b""


async def test_a_directory_is_not_read(lab: SshDesk) -> None:
    executor = await lab.connect("builtin")
    with pytest.raises(CommandError, match="read failed: cannot read"):
        await executor.read_from(executor.workdir, 0, 10)


async def test_lines_are_followed_while_they_are_written(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    loop = "i=0; while [ $i -lt 5 ]; do i=$((i+1)); echo line $i >>metrics.jsonl; sleep 0.1; done"
    script = f"{loop}; printf torn >>metrics.jsonl"
    job = await lab.start(executor, script)
    reader = tail(executor, f"{job.directory}/metrics.jsonl")
    seen: list[str] = []
    while not (await executor.status(job)).has_ended:
        seen += await reader.read_lines()
    seen += await reader.read_lines()
    assert seen == [f"line {number}" for number in range(1, 6)]


async def test_a_small_file_is_replaced_as_a_whole(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    path = f"{executor.workdir}/new 'dir'/snapshot.request"
    await executor.put_file(path, "first\nline\\n")
    await executor.put_file(path, "it's \\here %s $HOME `x`")
    assert Path(path).read_text() == "it's \\here %s $HOME `x`"
    assert [file.name for file in Path(path).parent.iterdir()] == ["snapshot.request"]


async def test_a_file_that_cannot_be_written_leaves_nothing(lab: SshDesk) -> None:
    executor = await lab.connect("builtin")
    Path(executor.workdir, "taken").mkdir()
    with pytest.raises(CommandError, match=r"write a file failed: .*taken is a directory"):
        await executor.put_file(f"{executor.workdir}/taken", "text")
    assert [file.name for file in Path(executor.workdir).rglob("*")] == ["taken"]


async def test_a_probe_gives_its_bytes_and_fails_by_its_status(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    assert await executor.probe("printf 'a\\000b\\n'; echo note >&2") == b"a\0b\n"
    with pytest.raises(CommandError, match="probe failed: no gpu here"):
        await executor.probe("echo no gpu here >&2; exit 4")
    with pytest.raises(CommandError, match="probe failed: exit status 7"):
        await executor.probe("exit 7")


async def test_a_probe_that_hangs_is_given_up(lab: SshDesk, client: str) -> None:
    from dataclasses import replace

    lab.timing = replace(lab.timing, probe_s=0.5)
    executor = await lab.connect(client)
    with pytest.raises(CommandError, match=r"probe failed: timed out after 0\.5 s"):
        await executor.probe("sleep 30")
    assert await executor.probe("echo still here") == b"still here\n"


async def test_error_output_is_cut(lab: SshDesk) -> None:
    executor = await lab.connect("builtin")
    with pytest.raises(CommandError) as caught:
        await executor.probe("i=0; while [ $i -lt 50 ]; do i=$((i+1)); echo line $i >&2; done; exit 1")
    assert caught.value.detail.splitlines()[19:] == ["line 20", "(30 more lines)"]


async def test_a_lot_of_error_output_neither_stalls_nor_hides_the_status(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    with pytest.raises(CommandError, match=r"more lines\)"):
        await executor.probe("head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 70 >&2; echo out; exit 1")


async def test_a_group_0_or_1_is_never_asked_about(lab: SshDesk) -> None:
    executor = await lab.connect("builtin")
    with pytest.raises(CommandError, match="status failed: exit status 1"):
        await executor.status(JobHandle(directory=executor.workdir, pid=1))


async def test_a_lost_answer_of_a_start_finds_the_job_that_runs(
    lab: SshDesk, client: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # The launcher has started the job, but hangs before its answer, and its connection is killed.
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cat").write_text(
        '#!/bin/sh\nif [ "$1" = job.pid ] && [ ! -e ../cut ]; then touch ../cut; sleep 30; fi\nexec /bin/cat "$@"\n'
    )
    (tools / "cat").chmod(0o755)
    lab.server.variables["PATH"] = f"{tools}:{os.environ['PATH']}"
    lab.server.restart()
    executor = await lab.connect(client)

    async def cut() -> None:
        while not Path(executor.workdir, "cut").exists():
            await asyncio.sleep(0.02)
        lab.server.cut()

    spawn = Spawn(directory=f"{executor.workdir}/run", script="echo started >>../count; sleep 20")
    async with asyncio.timeout(15):
        job, _ = await asyncio.gather(executor.spawn(spawn), cut())
    lab.groups.append(job.pid)
    assert Path(job.directory, "job.pid").read_text() == f"{job.pid}\n"
    assert await executor.status(job) == RUNNING
    assert Path(executor.workdir, "count").read_text() == "started\n"
    assert "the connection broke while the job started; it runs" in caplog.text


@pytest.mark.parametrize("operation", ["claim", "status", "cancel", "read", "put"])
async def test_an_operation_that_is_cut_fails_and_may_be_repeated(lab: SshDesk, client: str, operation: str) -> None:
    executor = await lab.connect(client)
    job = await lab.start(executor, "sleep 30")
    path = f"{executor.workdir}/file"
    Path(path).write_text("content")
    works: dict[str, Any] = {
        "claim": lambda: executor.claim(f"{executor.workdir}/other", "abc"),
        "status": lambda: executor.status(job),
        "cancel": lambda: executor.cancel(job),
        "read": lambda: executor.read_from(path, 0, 100),
        "put": lambda: executor.put_file(path, "new"),
    }
    # The login shell runs the command only once the file is there.
    gate = lab.server.directory / "gate"
    held = f'while [ ! -e {gate} ]; do touch {gate}.waits; sleep 0.05; done; exec sh -c "$SSH_ORIGINAL_COMMAND"'
    lab.server.restart(ForceCommand=held)

    async def cut() -> None:
        while not Path(f"{gate}.waits").exists():
            await asyncio.sleep(0.02)
        lab.server.cut()

    results: Any = await asyncio.gather(works[operation](), cut(), return_exceptions=True)
    failure = results[0]
    assert isinstance(failure, SshError)
    assert f"127.0.0.1:{lab.server.port}" in describe(failure)
    gate.touch()
    answers = {"claim": True, "status": RUNNING, "cancel": None, "read": b"content", "put": None}
    assert await works[operation]() == answers[operation]


async def test_a_start_over_a_cut_connection_that_never_began_fails(lab: SshDesk, client: str) -> None:
    executor: SshExecutor = await lab.connect(client)
    lab.server.stop()
    with pytest.raises(SshError) as caught:
        await executor.spawn(Spawn(directory=f"{executor.workdir}/run", script="touch ran"))
    assert f"127.0.0.1:{lab.server.port}" in describe(caught.value)
    lab.server.start()
    assert not Path(executor.workdir, "run").exists()


async def test_closing_twice_is_no_error_and_ends_the_connection(lab: SshDesk, client: str) -> None:
    executor = await lab.connect(client)
    assert lab.server.sessions()
    await executor.close()
    await executor.close()
    eventually(lambda: not lab.server.sessions())
