"""Trainings in containers of real engines: followed, left, found again, stopped, resumed, cancelled, refused."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.clock import SystemClock
from overbrainer_core.errors import JobError
from overbrainer_core.events.bus import EventBus
from overbrainer_core.executors.base import Spawn
from overbrainer_core.executors.local import LocalExecutor, LocalTiming
from overbrainer_core.executors.scripts import CancelTiming
from overbrainer_core.flows.follow import cancel_run
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import open_session
from overbrainer_core.flows.train import plan_start, start_run
from overbrainer_core.project.lock import lock_holder
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import load_run
from overbrainer_core.runtimes.base import ScriptPlan
from overbrainer_core.runtimes.container import ContainerRuntime
from overbrainer_core.values.job import JobCommand, JobPhase
from tests.peers.containers import ENGINES, IMAGE, Engine, container_engine, image_archive
from tests.peers.image_registry import ImageRegistry, image_registry
from tests.peers.program import environment, run, start, until, write_project, write_split

pytestmark = [pytest.mark.timeout(90), pytest.mark.xdist_group("containers"), pytest.mark.peer("containers")]

TRAINING = """
[training]
target = "box"
base_model = "acme/qwen3-{mode}"
adapter = "lora"
{training}
[targets.box]
kind = "local"
runtime = "docker"
engine = "{engine}"
image = "{image}"
gpus = "{gpus}"
"""

TINY = """
[training]
target = "box"
trainer = "tiny"
base_model = "tiny-0.2m"
adapter = "full"

[targets.box]
kind = "local"
runtime = "docker"
engine = "{engine}"
image = "{image}"
gpus = "none"
"""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Each engine in turn, started once."""
    with container_engine(str(request.param)) as started:
        yield started


@pytest.fixture(autouse=True)
def no_container_is_left(engine: Engine) -> Iterator[None]:
    """Every container of a test is gone when it ends."""
    yield
    left = engine.names(running=False)
    for name in left:
        engine.call("rm", "-f", name, check=False)
    assert left == []


def project_of(
    root: Path, engine: Engine, mode: str = "ok", *, gpus: str = "none", image: str = IMAGE, merge: bool = False
) -> Path:
    """A project that trains in a container; the trainer does what the mode says."""
    training = TRAINING.format(
        mode=mode, training="merge = true" if merge else "", engine=engine.name, image=image, gpus=gpus
    )
    write_project(root, training=training)
    write_split(root)
    return root


def only_record(project: Path) -> dict[str, Any]:
    """The record of the project's newest run."""
    newest = sorted((project / "runs").glob("*/run.json"))[-1]
    document: dict[str, Any] = json.loads(newest.read_text())
    return document


def steps(project: Path, run_id: str) -> list[int]:
    """The steps of a run's metrics file."""
    lines = (project / "runs" / run_id / "metrics.jsonl").read_text().splitlines()
    return [line["step"] for line in map(json.loads, lines) if line["event"] == "log"]


def held(project: Path) -> str:
    """The ID of the only run, once its trainer waits in its third step."""
    until(lambda: any(b'"step": 3' in path.read_bytes() for path in (project / "runs").glob("*/metrics.jsonl")))
    until(lambda: only_record(project)["job"] is not None)
    return str(only_record(project)["id"])


def last(text: str) -> str:
    """The final line."""
    return text.strip().splitlines()[-1]


def test_a_training_runs_to_its_end_in_a_directory_with_an_odd_name(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "it's a $(dir) & more", engine, merge=True)
    done = run(project, "train", extra={**engine.environment, "OVERBRAINER_HF_TOKEN": "hf_abcdefghijklmnop"})
    assert done.returncode == 0, done.stderr
    record = only_record(project)
    run_id = record["id"]
    assert done.stdout.splitlines() == [
        f"train: run {run_id} succeeded; step 6/6, epoch 1.00, loss 0.5000; output in runs/{run_id}/output",
        f"train: adapter in runs/{run_id}/output",
        f"train: merged model in runs/{run_id}/output/merged",
    ]
    assert record["job"]["container"] == {"engine": engine.name, "name": f"overbrainer-{run_id}"}
    directory = project / "runs" / run_id
    assert (
        directory / "job.log"
    ).read_text() == "axolotl train; HF_TOKEN is set\naxolotl merge-lora; HF_TOKEN is set\n"
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert not any(b"hf_abcdefghijklmnop" in path.read_bytes() for path in files)
    assert "pulls it first" not in done.stderr


def test_a_job_is_left_found_again_stopped_and_resumed(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine, "hold")
    process = start(project, "train", extra=engine.environment)
    run_id = held(project)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"run {run_id} keeps running on target `box`" in last(stderr)
    assert engine.names() == [f"overbrainer-{run_id}"]

    follower = start(project, "train", "attach", run_id, extra=engine.environment)
    until(lambda: lock_holder(ProjectPaths(project)) is not None)
    beside = run(project, "train", "stop", run_id, extra=engine.environment)
    assert f"overbrainer (pid {follower.pid}) is using this project" in beside.stdout, beside.stderr
    stdout, stderr = follower.communicate(timeout=30)
    assert follower.returncode == 0, stderr
    assert f"train: run {run_id} stopped at step 3 (requested): snapshot in" in stdout
    assert steps(project, run_id) == [1, 2, 3]
    assert (project / "runs" / run_id / "output" / "checkpoint-3" / "trainer_state.json").exists()

    resumed = run(project, "train", "--resume-from", run_id, extra=engine.environment)
    assert resumed.returncode == 0, resumed.stderr
    record = only_record(project)
    assert (record["resumed_from"], record["state"]) == (run_id, "succeeded")
    assert steps(project, record["id"]) == [4, 5, 6]


def test_a_cancel_stops_the_container_and_wins_over_its_exit_code(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine, "hold", merge=True)
    process = start(project, "train", extra=engine.environment)
    run_id = held(project)
    begun = time.monotonic()
    beside = run(project, "train", "cancel", run_id, extra=engine.environment)
    assert beside.stdout == f"train: run {run_id} cancelled\n", beside.stderr
    assert time.monotonic() - begun < 20, "the trainer was not asked to end"
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 9
    assert last(stderr) == f"error: run {run_id} was cancelled"
    assert f"train: run {run_id} cancelled" in stdout
    record = only_record(project)
    assert (record["state"], record.get("message")) == ("cancelled", None)
    assert "merge" not in (project / "runs" / run_id / "job.log").read_text()


@pytest.mark.parametrize("kills", [False, True], ids=["of-itself", "by-a-kill"])
def test_a_job_that_dies_says_why(engine: Engine, kills: bool, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine, "hold" if kills else "die", merge=True)
    process = start(project, "train", extra=engine.environment)
    if kills:
        engine.call("kill", f"overbrainer-{held(project)}")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 9
    record = only_record(project)
    code, why = (137, ": axolotl train; HF_TOKEN is not set") if kills else (1, ": MemoryError: CUDA out of memory.")
    assert record["state"] == "failed"
    assert record["message"].startswith(f"the job exited with code {code} (see runs/{record['id']}/job.log){why}")
    assert last(stderr) == f"error: {record['message']}"


def test_a_container_that_outlives_its_lost_job_is_stopped_by_a_cancel(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine, "hold")
    process = start(project, "train", extra=engine.environment)
    run_id = held(project)
    os.killpg(only_record(project)["job"]["pid"], signal.SIGKILL)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 9
    assert f"the job stopped without an exit code (see runs/{run_id}/job.log)" in last(stderr)
    assert f"its container may still run: `overbrainer train cancel {run_id}` stops it" in last(stderr)
    assert engine.names() == [f"overbrainer-{run_id}"]
    done = run(project, "train", "cancel", run_id, extra=engine.environment)
    assert done.stdout == f"train: run {run_id} cancelled\n", done.stderr
    until(lambda: engine.names() == [])


def test_gpus_that_this_machine_has_not_fail_the_run_with_the_engines_words(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine, gpus="all")
    done = run(project, "train", extra=engine.environment)
    code, words, advice = {
        "docker": (125, 'could not select device driver "" with capabilities: [[gpu]]', "NVIDIA Container Toolkit"),
        "podman": (126, "unresolvable CDI devices nvidia.com/gpu=all", "CDI specification"),
    }[engine.name]
    record = only_record(project)
    assert (done.returncode, record["state"]) == (9, "failed")
    assert f"the job exited with code {code} (see runs/{record['id']}/job.log)" in last(done.stderr)
    assert words in last(done.stderr)
    assert advice in last(done.stderr)
    assert words in run(project, "runs", "logs", record["id"]).stdout


class FutureClock(SystemClock):
    """The real time, but for a date that makes the ID of a run known before it starts."""

    def now(self) -> datetime:
        """Always the same moment."""
        return datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


async def test_a_taken_container_name_fails_the_start_and_a_cancel_stops_the_holder(
    engine: Engine, tmp_path: Path
) -> None:
    run_id, name = "e2e_20310506-070809", "overbrainer-e2e_20310506-070809"
    sleeper = ["run", "--rm", "-d", "--name", name, IMAGE, "sh", "-c", "trap 'exit 0' TERM; sleep 90 & wait"]
    await asyncio.to_thread(engine.call, *sleeper)
    project = project_of(tmp_path / "p", engine)
    variables = environment(engine.environment)
    async with open_session(project, process_env=variables, clock=FutureClock()) as session:
        report = CollectedReport()
        plan = await plan_start(session)
        with EventBus() as bus, pytest.raises(JobError) as error:
            await start_run(session, plan, bus=bus, report=report, interrupt=Interrupt())
        words = str(error.value)
        assert words.startswith(f"the job exited with code 125 (see runs/{run_id}/job.log): ")
        assert "already in use" in words
        assert "`overbrainer train cancel` of this run stops the container that has its name" in words
        assert await asyncio.to_thread(engine.names) == [name]
        with EventBus() as bus:
            await cancel_run(session, run_id, bus=bus, report=report)
        assert report.results[-1].startswith(f"train: the job of run {run_id} had already ended (exited with code 125)")
        assert load_run(session.paths, run_id).state == "failed"
        again = await plan_start(session)
        with EventBus() as bus:
            record = await start_run(session, again, bus=bus, report=report, interrupt=Interrupt())
    assert record.id == f"{run_id}_2"


@pytest.fixture
def registry(engine: Engine) -> Iterator[ImageRegistry]:
    """A registry that the engine may ask without TLS."""
    with image_registry() as opened:
        engine.trust(opened.address)
        yield opened


def test_an_image_that_is_not_here_is_pulled_after_a_warning(
    engine: Engine, registry: ImageRegistry, tmp_path: Path
) -> None:
    registry.hold(image_archive())
    project = project_of(tmp_path / "p", engine, image=registry.image)
    done = run(project, "train", extra=engine.environment)
    assert done.returncode == 0, done.stderr
    assert f"target `box`: {engine.name} has no image {registry.image} here and pulls it first" in done.stderr
    assert only_record(project)["state"] == "succeeded"
    engine.call("rmi", registry.image)


def test_a_refused_pull_fails_the_run_with_the_registrys_words(
    engine: Engine, registry: ImageRegistry, tmp_path: Path
) -> None:
    # Podman asks again for minutes when a registry is merely busy, and tells the code alone
    limit = "You have reached your unauthenticated pull rate limit."
    registry.refusal = (429, "TOOMANYREQUESTS", limit) if engine.name == "docker" else (403, "DENIED", "no access")
    project = project_of(tmp_path / "p", engine, image=registry.image)
    done = run(project, "train", extra=engine.environment)
    record = only_record(project)
    assert (done.returncode, record["state"]) == (9, "failed")
    assert last(done.stderr).startswith(f"error: the job exited with code 125 (see runs/{record['id']}/job.log): ")
    assert (limit if engine.name == "docker" else "denied") in last(done.stderr)
    assert "train: training" not in done.stderr


BROKEN = {
    "docker": {"DOCKER_HOST": "unix:///nowhere/docker.sock"},
    "podman": {"CONTAINERS_STORAGE_CONF": "/nowhere/storage.conf"},
}


@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "broken"])
def test_an_engine_that_cannot_be_used_leaves_no_run(engine: Engine, is_there: bool, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", engine)
    broken = BROKEN[engine.name] if is_there else {"PATH": "/nowhere"}
    done = run(project, "train", extra={**engine.environment, **broken})
    assert done.returncode == 8
    words = f"`{engine.name}` cannot be used: " if is_there else f"has no `{engine.name}`: it is not on PATH"
    assert f"target `box`{':' if is_there else ''} {words}" in last(done.stderr)
    assert not (project / "runs").exists()


def test_a_directory_with_a_colon_leaves_no_run(engine: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "a:b", engine)
    done = run(project, "train", extra=engine.environment)
    assert done.returncode == 8
    assert f"holds a colon, which {engine.name} cannot mount" in last(done.stderr)
    assert not (project / "runs").exists()


def test_the_tiny_trainer_without_numpy_says_so_in_the_log(engine: Engine, tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", training=TINY.format(engine=engine.name, image=IMAGE))
    write_split(project)
    done = run(project, "train", extra=engine.environment)
    record = only_record(project)
    assert (done.returncode, record["state"]) == (9, "failed")
    assert "the job exited with code 1" in last(done.stderr)
    assert "the tiny trainer needs NumPy, which /usr/bin/python3 cannot import" in last(done.stderr)
    assert "needs NumPy" in (project / "runs" / record["id"] / "job.log").read_text()


async def test_a_deaf_job_is_killed_when_the_engines_patience_ends(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="overbrainer.executors")
    timing = LocalTiming(cancel=CancelTiming(container_stop_s=1), notice_s=0.5)
    executor = LocalExecutor(tmp_path / "runs", environment=environment(engine.environment), timing=timing)
    directory = f"{executor.workdir}/deaf_1"
    runtime = ContainerRuntime(engine=engine.name, image=IMAGE, gpus="none")
    deaf = "trap '' TERM; : > up; sleep 60"
    commands = (JobCommand(program="sh", arguments=("-c", deaf)),)
    plan = ScriptPlan(run_id="deaf_1", directory=directory, workdir=executor.workdir, commands=commands)
    job = await executor.spawn(
        Spawn(directory=directory, script=runtime.script(plan), container=runtime.container("deaf_1"))
    )
    async with asyncio.timeout(20):
        while not os.path.exists(f"{directory}/up"):  # a container sends no events
            await asyncio.sleep(0.05)
    await executor.cancel(job)
    assert (await executor.status(job)).phase is JobPhase.CANCELLED
    assert f"cancel: still waiting for {engine.name} stop overbrainer-deaf_1" in caplog.messages
    await executor.close()


UNPRIVILEGED = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
)  # fmt: skip
"""Somebody who may read the checkout of these tests, and write nothing of root's."""


@pytest.fixture
def docker_for_all(engine: Engine) -> Engine:
    """Docker's daemon, open to everybody of this machine while its test runs."""
    if subprocess.run([*UNPRIVILEGED, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this system has no setpriv that may give capabilities")
    (engine.directory / "docker.sock").chmod(0o666)
    return engine


def unprivileged(project: Path, engine: Engine, *arguments: str) -> subprocess.Popen[str]:
    """A command of somebody who is not root, in a project of theirs."""
    return subprocess.Popen(
        [*UNPRIVILEGED, sys.executable, "-m", "overbrainer_tui", "-C", str(project), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment({**engine.environment, "PYTHONDONTWRITEBYTECODE": "1"}),
    )


@pytest.mark.parametrize("engine", ["docker"], indirect=True)
def test_files_that_belong_to_root_are_retrieved_and_resumed_from(docker_for_all: Engine, tmp_path: Path) -> None:
    project = project_of(tmp_path / "p", docker_for_all, "hold")
    for path in (project, *project.rglob("*")):
        os.chown(path, 65534, 65534)
    process = unprivileged(project, docker_for_all, "train")
    run_id = held(project)
    request = project / "runs" / run_id / "snapshot.request"
    request.write_text("requested")
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr
    assert "stopped at step 3" in stdout
    state = project / "runs" / run_id / "output" / "checkpoint-3" / "trainer_state.json"
    assert (state.stat().st_uid, request.parent.stat().st_uid) == (0, 65534)

    process = unprivileged(project, docker_for_all, "train", "--resume-from", run_id)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 0, stderr
    assert steps(project, only_record(project)["id"]) == [4, 5, 6]


CDI = """{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits": {
"env": ["SEEN=yes"], "deviceNodes": %s}}]}"""


@pytest.fixture
def specification() -> Iterator[Path]:
    """A place for a CDI specification of GPUs, which this machine must not have yet."""
    directory = Path("/var/run/cdi")
    if any(Path("/etc/cdi").glob("*")) or any(directory.glob("*")):
        pytest.skip("this system has no room for a CDI specification: it has its own")
    made = not directory.exists()
    directory.mkdir(exist_ok=True)
    file = directory / "overbrainer-test.json"
    yield file
    file.unlink(missing_ok=True)
    if made:
        directory.rmdir()


@pytest.mark.parametrize("engine", ["podman"], indirect=True)
def test_a_stale_cdi_specification_fails_the_run_and_a_new_one_cures_it(
    engine: Engine, specification: Path, tmp_path: Path
) -> None:
    project = project_of(tmp_path / "p", engine, gpus="all")
    specification.write_text(CDI % '[{"path": "/dev/dri/renderD999"}]')
    done = run(project, "train", extra=engine.environment)
    record = only_record(project)
    assert (done.returncode, record["state"]) == (9, "failed")
    assert "/dev/dri/renderD999" in record["message"]
    assert "CDI specification" in record["message"]
    specification.write_text(CDI % "[]")
    again = run(project, "train", extra=engine.environment)
    assert again.returncode == 0, again.stderr
