"""Jobs and files on this machine, with real processes."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.executors.base import Executor, Spawn
from overbrainer_core.executors.errors import (
    AccessError,
    CommandError,
    InvalidSecretError,
    ProtocolError,
    SpawnError,
)
from overbrainer_core.executors.local import LocalExecutor, LocalTiming, job_environment
from overbrainer_core.executors.scripts import CancelTiming
from overbrainer_core.values.job import Container, JobHandle, JobPhase, JobState, Secret
from tests.peers.shells import eventually, is_running

LocalDesk = Any
RUNNING = JobState(phase=JobPhase.RUNNING)
CANCELLED = JobState(phase=JobPhase.CANCELLED)


async def until(condition: Callable[[], Awaitable[bool]], *, limit_s: float = 8.0) -> None:
    """Return once the condition holds; a failure of the test when it never does."""
    async with asyncio.timeout(limit_s):
        while not await condition():
            await asyncio.sleep(0.02)


async def ended(executor: Executor, job: JobHandle) -> JobState:
    """The state of a job once it has ended."""
    while True:
        state = await executor.status(job)
        if state.has_ended:
            return state
        await asyncio.sleep(0.02)


def test_the_local_executor_is_an_executor(tmp_path: Path) -> None:
    executor: Executor = LocalExecutor(tmp_path / "runs", environment={})
    assert executor.workdir == str((tmp_path / "runs").resolve())
    assert (tmp_path / "runs").is_dir()


def test_the_work_directory_has_no_link_in_its_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert LocalExecutor(tmp_path / "link" / "runs", environment={}).workdir == str(
        tmp_path.resolve() / "real" / "runs"
    )


def test_a_work_directory_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AccessError, match=r"cannot access .*file/runs"):
        LocalExecutor(tmp_path / "file" / "runs", environment={})
    with pytest.raises(ProtocolError, match=r"bad\\xff is not valid UTF-8"):
        LocalExecutor(tmp_path / os.fsdecode(b"bad\xff"), environment={})


async def test_a_job_runs_in_its_directory_with_its_output_in_the_log(desk: LocalDesk) -> None:
    executor = desk.executor()
    job = await desk.start("pwd; echo err >&2; cat; exit 3")
    assert await ended(executor, job) == JobState(phase=JobPhase.EXITED, exit_code=3)
    assert (desk.runs / "run" / "job.log").read_text() == f"{desk.runs / 'run'}\nerr\n"
    assert (desk.runs / "run" / "job.pid").read_text() == f"{job.pid}\n"


async def test_a_job_leads_a_session_of_its_own(desk: LocalDesk) -> None:
    job = await desk.start("sleep 60")
    assert os.getsid(job.pid) == job.pid
    assert os.getpgid(job.pid) == job.pid


async def test_a_job_inherits_everything_but_our_settings_and_keys(desk: LocalDesk) -> None:
    dropped = (
        "OVERBRAINER_X",
        "VAULT_TOKEN",
        "RUNPOD_API_KEY",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENROUTER_API_KEY",
    )
    kept = ("MY_OVERBRAINER_X", "vault_token", "HF_TOKEN", "ODD")
    executor = desk.executor(**dict.fromkeys([*dropped, *kept], "v"))
    spawn = Spawn(directory=str(desk.runs / "run"), script="env > vars", secrets=(Secret("OVERBRAINER_S", "it's $x"),))
    job = await executor.spawn(spawn)
    await ended(executor, job)
    lines = (desk.runs / "run" / "vars").read_text().splitlines()
    names = {line.split("=", 1)[0] for line in lines}
    assert names.isdisjoint(dropped)
    assert names.issuperset(kept)
    assert "OVERBRAINER_S=it's $x" in lines


async def test_a_secret_wins_over_an_inherited_variable_and_stands_in_no_argument(desk: LocalDesk) -> None:
    executor = desk.executor(HF_TOKEN="old")
    spawn = Spawn(
        directory=str(desk.runs / "run"), script='printf %s "$HF_TOKEN"; sleep 60', secrets=(Secret("HF_TOKEN", "n3w"),)
    )
    job = await executor.spawn(spawn)
    desk.groups.append(job.pid)
    log = desk.runs / "run" / "job.log"
    eventually(lambda: log.read_text() == "n3w")
    assert b"n3w" not in Path(f"/proc/{job.pid}/cmdline").read_bytes()
    assert "n3w" not in repr(spawn)


async def test_a_bad_secret_is_refused_before_anything_is_created(desk: LocalDesk) -> None:
    with pytest.raises(InvalidSecretError, match=r"^HF_TOKEN cannot be passed to the job$"):
        await desk.start("true", name="never", secrets=(Secret("OK", "x"), Secret("HF_TOKEN", "two\nlines")))
    assert not (desk.runs / "never").exists()


async def test_files_of_an_earlier_job_are_gone_before_a_new_one_starts(desk: LocalDesk) -> None:
    run = desk.runs / "run"
    run.mkdir(parents=True)
    for name in ("exit_code", "cancelling", "cancelled", "job.pid", "job.start", "job.log", "metrics.jsonl"):
        (run / name).write_text("old\n")
    job = await desk.start("sleep 60")
    assert await desk.executor().status(job) == RUNNING
    assert (run / "job.log").read_text() == ""
    assert (run / "metrics.jsonl").read_text() == "old\n"
    assert not any((run / name).exists() for name in ("exit_code", "cancelling", "cancelled"))


async def test_a_log_that_is_a_link_is_refused(desk: LocalDesk, tmp_path: Path) -> None:
    run = desk.runs / "run"
    run.mkdir(parents=True)
    (run / "job.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AccessError):
        await desk.start("echo x")
    assert not (tmp_path / "elsewhere").exists()


async def test_a_missing_shell_is_told(desk: LocalDesk) -> None:
    executor = LocalExecutor(desk.runs, environment={}, shell=("no-such-shell",))
    with pytest.raises(SpawnError, match=r"^cannot run `no-such-shell`$") as caught:
        await executor.spawn(Spawn(directory=str(desk.runs / "run"), script="true"))
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(SpawnError):
        await executor.status(JobHandle(directory=str(desk.runs), pid=99))


async def test_an_ended_job_reads_exited_at_the_first_look_and_leaves_no_zombie(desk: LocalDesk) -> None:
    job = await desk.start("exit 0")
    eventually((desk.runs / "run" / "exit_code").exists)
    eventually(lambda: not is_running(job.pid))
    assert await desk.executor().status(job) == JobState(phase=JobPhase.EXITED, exit_code=0)
    with pytest.raises(ProcessLookupError):
        os.kill(job.pid, 0)


async def test_an_executor_may_be_dropped_while_its_job_runs(desk: LocalDesk) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        job = await desk.start("sleep 60")
        gc.collect()
    assert await desk.executor().status(job) == RUNNING


async def test_a_cancel_ends_the_group_and_a_second_one_does_nothing(desk: LocalDesk) -> None:
    job = await desk.start("sleep 60 & sleep 60; wait")
    first, second = desk.executor(), desk.executor()
    await first.cancel(job)
    assert await second.status(job) == CANCELLED
    await second.cancel(job)
    assert await first.status(job) == CANCELLED
    with pytest.raises(ProcessLookupError):
        os.killpg(job.pid, 0)


async def test_a_job_that_ignores_sigterm_is_killed_quickly_although_it_is_our_child(desk: LocalDesk) -> None:
    job = await desk.start("trap '' TERM; touch ready; while :; do sleep 0.1; done")
    eventually((desk.runs / "run" / "ready").exists)
    os.kill(job.pid, signal.SIGSTOP)  # the leader itself would take SIGTERM
    executor = desk.executor()
    cancel = asyncio.ensure_future(executor.cancel(job))
    seen = set()
    while not cancel.done():
        seen.add((await desk.executor().status(job)).phase)
    await cancel
    assert seen <= {JobPhase.RUNNING, JobPhase.CANCELLED}
    assert await executor.status(job) == CANCELLED


async def test_a_cancel_that_takes_long_says_what_it_waits_for(
    desk: LocalDesk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="overbrainer.executors")
    job = await desk.start("trap '' TERM; touch ready; while :; do sleep 0.1; done")
    eventually((desk.runs / "run" / "ready").exists)
    os.kill(job.pid, signal.SIGSTOP)
    waits = CancelTiming(term_checks=4, kill_checks=160, check_s=0.05)
    timing = LocalTiming(reap_s=0.02, notice_s=0.1, cancel=waits)
    await LocalExecutor(desk.runs, environment=desk.environment, timing=timing).cancel(job)
    assert caplog.messages == [f"cancel: still waiting for process group {job.pid} to end"]


async def test_a_cancel_by_its_contract_survives_the_cancel_of_its_caller(desk: LocalDesk) -> None:
    job = await desk.start("sleep 60")
    caller = asyncio.ensure_future(run_to_end(desk.executor().cancel(job)))
    await asyncio.sleep(0.05)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert await desk.executor().status(job) == CANCELLED


async def test_a_job_that_ends_just_before_its_cancel_keeps_its_result(desk: LocalDesk) -> None:
    executor = desk.executor()
    job = await desk.start("exit 5")
    await ended(executor, job)
    await executor.cancel(job)
    assert await executor.status(job) == JobState(phase=JobPhase.EXITED, exit_code=5)


async def test_a_hung_engine_fails_the_cancel_and_a_repeated_one_works(desk: LocalDesk, tmp_path: Path) -> None:
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/engine.pid\nexec sleep 60\n")
    engine.chmod(0o755)
    job = await desk.start("sleep 60", container=Container(engine="docker", name="overbrainer-run"))
    environment = {**desk.environment, "PATH": f"{engine.parent}:{os.environ['PATH']}"}
    hasty = LocalExecutor(desk.runs, environment=environment, timing=LocalTiming(reap_s=0.02, cancel_limit_s=0.5))
    with pytest.raises(CommandError, match=r"^cancel failed: timed out after 0\.5 s$"):
        await hasty.cancel(job)
    assert await hasty.status(job) == RUNNING
    assert not is_running(int((tmp_path / "engine.pid").read_text()))
    engine.write_text("#!/bin/sh\nexit 0\n")
    await desk.executor().cancel(job)
    assert await desk.executor().status(job) == CANCELLED


async def test_a_run_directory_removed_under_a_living_job_names_the_group(desk: LocalDesk) -> None:
    job = await desk.start("sleep 60")
    eventually((desk.runs / "run" / "job.pid").exists)
    shutil.rmtree(desk.runs / "run")
    state = await desk.executor().status(job)
    assert state == JobState(phase=JobPhase.LOST, living_group=job.pid)
    assert f"kill -s TERM -- -{job.pid}" in (state.living_group_note() or "")
    with pytest.raises(CommandError, match=f"cancel failed: cannot enter .*\n.*process group {job.pid} is still alive"):
        await desk.executor().cancel(job)
    assert is_running(job.pid)
    with pytest.raises(CommandError, match=r"^manifest failed: .*/run does not exist$"):
        await desk.executor().manifest(job.directory, ["output"])


@pytest.mark.parametrize("pid", [0, 1])
async def test_a_wild_card_process_id_is_refused(pid: int, desk: LocalDesk) -> None:
    desk.runs.mkdir()
    job = JobHandle(directory=str(desk.runs), pid=pid)
    with pytest.raises(CommandError, match=r"^status failed: exit status 1$"):
        await desk.executor().status(job)
    with pytest.raises(CommandError, match=r"^cancel failed: exit status 1$"):
        await desk.executor().cancel(job)


SPAWNER = """
import asyncio, json, os, sys
from pathlib import Path
from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.local import LocalExecutor

async def main():
    executor = LocalExecutor(Path(sys.argv[1]), environment=dict(os.environ))
    job = await executor.spawn(Spawn(directory=sys.argv[1] + "/run", script=sys.argv[2]))
    print(json.dumps([job.directory, job.pid]), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def spawn_elsewhere(desk: LocalDesk, script: str) -> tuple[subprocess.Popen[bytes], JobHandle]:
    """Start a job from another process, which then waits to be killed."""
    command = [sys.executable, "-c", SPAWNER, str(desk.runs), script]
    spawner = subprocess.Popen(command, stdout=subprocess.PIPE, env=desk.environment, start_new_session=True)
    assert spawner.stdout is not None
    directory, pid = json.loads(spawner.stdout.readline())
    spawner.stdout.close()
    desk.groups.append(pid)
    return spawner, JobHandle(directory=directory, pid=pid)


async def test_a_job_outlives_the_kill_of_the_process_that_started_it(desk: LocalDesk) -> None:
    spawner, job = spawn_elsewhere(desk, "while [ ! -e go ]; do sleep 0.05; done; echo survived; exit 4")
    os.killpg(spawner.pid, signal.SIGKILL)
    spawner.wait()
    executor = desk.executor()
    assert await executor.status(job) == RUNNING
    (desk.runs / "run" / "go").touch()
    assert await ended(executor, job) == JobState(phase=JobPhase.EXITED, exit_code=4)
    assert await executor.read_from(f"{job.directory}/job.log", 0, 100) == b"survived\n"


async def test_a_job_of_a_killed_process_is_cancelled_from_another(desk: LocalDesk) -> None:
    spawner, job = spawn_elsewhere(desk, "sleep 60")
    os.kill(spawner.pid, signal.SIGKILL)
    spawner.wait()
    await desk.executor().cancel(job)
    assert await desk.executor().status(job) == CANCELLED


async def test_a_hangup_and_an_interrupt_of_the_terminal_do_not_reach_a_job(desk: LocalDesk) -> None:
    spawner, job = spawn_elsewhere(desk, "sleep 60")
    os.killpg(spawner.pid, signal.SIGHUP)
    os.killpg(spawner.pid, signal.SIGINT)
    spawner.wait()
    assert await desk.executor().status(job) == RUNNING


async def test_a_killed_leader_with_living_children_is_running_and_can_be_cancelled(desk: LocalDesk) -> None:
    job = await desk.start("sleep 60 & echo $! > child; wait")
    eventually(lambda: (desk.runs / "run" / "child").exists() and (desk.runs / "run" / "child").read_text() != "")
    os.kill(job.pid, signal.SIGKILL)
    executor = desk.executor()
    eventually(lambda: not is_running(job.pid))
    assert await executor.status(job) == RUNNING
    await executor.cancel(job)
    assert await executor.status(job) == CANCELLED
    assert not is_running(int((desk.runs / "run" / "child").read_text()))


async def test_a_directory_is_claimed_once(desk: LocalDesk) -> None:
    executor, directory = desk.executor(), str(desk.runs / "a" / "run")
    answers = await asyncio.gather(*(executor.claim(directory, f"{n:016x}") for n in range(8)))
    assert answers.count(True) == 1
    owner = f"{answers.index(True):016x}"
    assert (desk.runs / "a" / "run" / ".claim").read_text() == f"{owner}\n"
    assert await executor.claim(directory, owner)
    assert not await executor.claim(directory, "ffffffffffffffff")
    (desk.runs / "file").touch()
    with pytest.raises(AccessError):
        await executor.claim(str(desk.runs / "file" / "run"), "0a")


async def test_reads_go_by_offset_and_a_missing_file_is_empty(desk: LocalDesk, tmp_path: Path) -> None:
    executor = desk.executor()
    path = tmp_path / "file"
    assert await executor.read_from(str(path), 0, 10) == b""
    path.write_bytes(b"0123456789")
    assert await executor.read_from(str(path), 3, 4) == b"3456"
    assert await executor.read_from(str(path), 8, 100) == b"89"
    assert await executor.read_from(str(path), 50, 100) == b""
    assert await executor.read_from("/proc/does/not/matter", 0, 0) == b""
    assert await executor.read_from(str(path / "below"), 0, 1) == b""


async def test_a_read_of_what_is_no_file_fails_and_does_not_hang(desk: LocalDesk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(AccessError):
            await desk.executor().read_from(str(path), 0, 1)


async def test_a_small_file_is_replaced_as_a_whole_even_by_many_at_once(desk: LocalDesk, tmp_path: Path) -> None:
    path = tmp_path / "new" / "snapshot.request"
    executor = desk.executor()
    await asyncio.gather(*(executor.put_file(str(path), f"reason-{n}") for n in range(10)))
    assert path.read_text() in {f"reason-{n}" for n in range(10)}
    assert [entry.name for entry in path.parent.iterdir()] == ["snapshot.request"]
    (tmp_path / "file").touch()
    with pytest.raises(AccessError):
        await executor.put_file(str(tmp_path / "file" / "x"), "y")


async def test_a_probe_gives_the_output_or_the_reason(desk: LocalDesk) -> None:
    executor = desk.executor()
    assert await executor.probe("printf 'a\\000b'") == b"a\0b"
    with pytest.raises(CommandError, match=r"^probe failed: no luck$"):
        await executor.probe("echo no luck >&2; exit 3")


async def test_a_probe_whose_program_hangs_outside_its_group_is_given_up(desk: LocalDesk, tmp_path: Path) -> None:
    hasty = LocalExecutor(desk.runs, environment=desk.environment, timing=LocalTiming(probe_limit_s=0.3))
    descriptors = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
    started = time.monotonic()
    with pytest.raises(CommandError, match="timed out"):
        await hasty.probe(f"setsid sleep 15 & echo $! > {tmp_path}/hung; wait")
    assert time.monotonic() - started < 4
    pid = int((tmp_path / "hung").read_text())
    assert is_running(pid)
    if descriptors is not None:
        await until(lambda: settled(descriptors))
    os.kill(pid, signal.SIGKILL)


async def settled(descriptors: int) -> bool:
    """Whether no more descriptors are open than before."""
    return len(os.listdir("/proc/self/fd")) <= descriptors + 1


async def test_a_run_directory_is_its_own_target_and_nothing_is_copied(desk: LocalDesk, tmp_path: Path) -> None:
    run = desk.runs / "run"
    (run / "output").mkdir(parents=True)
    (run / "output" / "model").write_text("m")
    link = tmp_path / "link"
    link.symlink_to(run)
    inode = (run / "output" / "model").stat().st_ino
    executor = desk.executor()
    await executor.upload(run, str(run), skip=("ssh", "pod.json"))
    await executor.download(str(run), link, ["output", "metrics.jsonl"])
    assert (run / "output" / "model").stat().st_ino == inode
    assert link.is_symlink()


async def test_an_upload_leaves_out_what_must_not_travel(desk: LocalDesk, tmp_path: Path) -> None:
    source, target = tmp_path / "source", desk.runs / "target"
    (source / "ssh").mkdir(parents=True)
    (source / "ssh" / "id").write_text("private")
    (source / "pod.json").write_text("{}")
    (source / "data" / "ssh").mkdir(parents=True)
    (source / "data" / "ssh" / "kept").write_text("k")
    (source / "run.sh").write_text("r")
    (source / "run.sh").chmod(0o751)
    await desk.executor().upload(source, str(target), skip=("ssh", "pod.json"))
    found = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
    assert found == ["data/ssh/kept", "run.sh"]
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o751


async def test_an_upload_of_nothing_still_makes_the_directory(desk: LocalDesk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    await desk.executor().upload(tmp_path / "empty", str(desk.runs / "target"))
    assert (desk.runs / "target").is_dir()
    with pytest.raises(AccessError, match="missing"):
        await desk.executor().upload(tmp_path / "missing", str(desk.runs / "target"))


async def test_a_download_skips_what_is_missing_and_makes_no_empty_directory(desk: LocalDesk, tmp_path: Path) -> None:
    run, local = desk.runs / "run", tmp_path / "local"
    (run / "output" / "checkpoint-5").mkdir(parents=True)
    (run / "output" / "checkpoint-5" / "big").write_text("b")
    (run / "output" / "model").write_text("m")
    executor = desk.executor()
    await executor.download(str(run), local, ["nothing", "metrics.jsonl"])
    assert not local.exists()
    await executor.download(str(run), local, ["output", "metrics.jsonl"], exclude=("checkpoint-*",))
    assert [path.name for path in (local / "output").iterdir()] == ["model"]
    with pytest.raises(CommandError) as caught:
        await executor.download(str(desk.runs / "gone"), local, ["output"])
    assert str(caught.value) == f"download failed: {desk.runs / 'gone'} does not exist"


async def test_a_copy_into_itself_is_refused(desk: LocalDesk, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (tmp_path / "alias").symlink_to(source)
    for inside in (source / "a" / "b", tmp_path / "alias" / "b"):
        with pytest.raises(CommandError) as caught:
            await desk.executor().download(str(source), inside, ["."])
        assert str(caught.value) == (
            f"copy failed: {inside} is inside {source}: copying there would copy the destination into itself"
        )
        assert not inside.exists()


async def test_a_manifest_lists_regular_files_sorted(desk: LocalDesk) -> None:
    run = desk.runs / "run"
    (run / "output" / "checkpoint-1").mkdir(parents=True)
    (run / "output" / "checkpoint-1" / "x").touch()
    (run / "output" / "b").write_text("b")
    (run / "output" / "a").touch()
    (run / "output" / "link").symlink_to("b")
    found = await desk.executor().manifest(str(run), ["output", "missing"], exclude=("checkpoint-*",))
    assert [entry.path for entry in found] == ["output/a", "output/b"]
    assert found[1].sha256 == "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"


async def test_a_cancelled_manifest_stops_its_thread(desk: LocalDesk) -> None:
    run = desk.runs / "run"
    run.mkdir(parents=True)
    with open(run / "huge", "wb") as handle:
        handle.truncate(1 << 40)
    task = asyncio.ensure_future(desk.executor().manifest(str(run), ["huge"]))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("path", [None, ""])
def test_a_job_always_has_a_path_to_find_programs_on(path: str | None) -> None:
    given = {"HOME": "/root"} if path is None else {"HOME": "/root", "PATH": path}
    assert job_environment(given) == {"HOME": "/root", "PATH": os.defpath}


UNDER_FIRE = """
import asyncio, os, signal, sys, threading, time
from pathlib import Path
from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.local import LocalExecutor
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: None)
done = threading.Event()
def strike():
    while not done.is_set():
        os.killpg(0, signal.SIGTERM)
        time.sleep(0.005)  # several times the rate of a key that is held down
async def main():
    executor = LocalExecutor(Path(sys.argv[1]), environment=dict(os.environ))
    threading.Thread(target=strike, daemon=True).start()
    try:
        for number in range(40):
            directory = f"{executor.workdir}/r{number}"
            job = await executor.spawn(Spawn(directory=directory, script="exit 7"))
            while not (state := await executor.status(job)).has_ended:
                await asyncio.sleep(0.005)
            print(state.words(), flush=True)
    finally:
        done.set()
asyncio.run(main())
"""


def test_a_ctrl_c_reaches_no_job_and_no_script_however_young(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNDER_FIRE, str(tmp_path / "runs")],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=18,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert done.stdout.splitlines() == ["exited with code 7"] * 40, done.stderr[-2000:]
