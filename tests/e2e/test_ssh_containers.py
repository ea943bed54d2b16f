"""Trainings in containers of real engines on a machine behind a real sshd, by the program as a process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.containers import ENGINES, IMAGE, Engine, container_engine
from tests.peers.program import run, start, until
from tests.peers.ssh_project import CLIENTS, SshLab, last
from tests.peers.sshd import needs_sshd

pytestmark = [
    needs_sshd,
    pytest.mark.timeout(90),
    pytest.mark.xdist_group("ssh_containers"),
    pytest.mark.peer("containers"),
]

CONTAINER = """
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


@pytest.fixture(params=CLIENTS)
def lab(engine: Engine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SshLab]:
    """A machine whose jobs reach the engine, which this one's environment does not name; nothing is left there."""
    lab = SshLab(tmp_path, str(request.param))
    lab.start(**engine.environment)
    yield lab
    lab.close()
    until(lambda: engine.names(running=False) == [])


def write(lab: SshLab, engine: Engine, mode: str, *, image: str = IMAGE) -> None:
    """A project that trains in a container; the trainer does what the mode says."""
    target = CONTAINER.format(engine=engine.name, image=image)
    lab.write_axolotl(base_model=f"acme/qwen3-{mode}", target=target, training="merge = true\n")


def held(lab: SshLab) -> str:
    """The ID of the only run, once its trainer waits in its third step."""
    run_id = lab.wait_for_steps(1)
    metrics = lab.workdir / run_id / "metrics.jsonl"
    until(lambda: b'"step": 3' in metrics.read_bytes())
    return run_id


def test_a_container_trains_to_its_end_behind_ssh(engine: Engine, lab: SshLab) -> None:
    write(lab, engine, "ok")
    done = run(lab.project, "train", extra={**lab.extra, "OVERBRAINER_HF_TOKEN": "hf_abcdefghijklmnop"})
    assert done.returncode == 0, done.stderr
    (record,) = lab.records()
    run_id = record["id"]
    assert record["job"]["container"] == {"engine": engine.name, "name": f"overbrainer-{run_id}"}
    assert done.stdout.splitlines() == [
        f"train: run {run_id} succeeded; step 6/6, epoch 1.00, loss 0.5000; output in runs/{run_id}/output",
        f"train: adapter in runs/{run_id}/output",
        f"train: merged model in runs/{run_id}/output/merged",
    ]
    log = (lab.project / "runs" / run_id / "job.log").read_text()
    assert log == "axolotl train; HF_TOKEN is set\naxolotl merge-lora; HF_TOKEN is set\n"
    for top in (lab.project, lab.server.remote_home):
        files = [path for path in top.rglob("*") if path.is_file()]
        assert not any(b"hf_abcdefghijklmnop" in path.read_bytes() for path in files)


def test_a_container_is_left_found_again_stopped_and_resumed(engine: Engine, lab: SshLab) -> None:
    write(lab, engine, "hold")
    process = start(lab.project, "train", extra=lab.extra)
    run_id = held(lab)
    assert lab.server.cut() > 0
    until(lambda: bool(lab.server.sessions()))
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"run {run_id} keeps running on target `lab`" in last(stderr)
    assert engine.names() == [f"overbrainer-{run_id}"]

    logins = lab.server.logged_in()
    follower = start(lab.project, "train", "attach", run_id, extra=lab.extra)
    until(lambda: lab.server.logged_in() > logins)
    beside = run(lab.project, "train", "stop", run_id, extra=lab.extra)
    assert f"overbrainer (pid {follower.pid}) is using this project" in beside.stdout, beside.stderr
    stdout, stderr = follower.communicate(timeout=30)
    assert follower.returncode == 0, stderr
    assert f"train: run {run_id} stopped at step 3 (requested): snapshot in" in stdout
    assert lab.steps(run_id) == [1, 2, 3]

    resumed = run(lab.project, "train", "--resume-from", run_id, extra=lab.extra)
    assert resumed.returncode == 0, resumed.stderr
    record = next(record for record in lab.records() if record["id"] != run_id)
    assert (record["resumed_from"], record["state"]) == (run_id, "succeeded")
    assert lab.steps(record["id"]) == [4, 5, 6]


def test_a_cancel_behind_ssh_stops_the_container(engine: Engine, lab: SshLab) -> None:
    write(lab, engine, "hold")
    process = start(lab.project, "train", extra=lab.extra)
    run_id = held(lab)
    beside = run(lab.project, "train", "cancel", run_id, extra=lab.extra)
    assert beside.stdout == f"train: run {run_id} cancelled\n", beside.stderr
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 9
    assert last(stderr) == f"error: run {run_id} was cancelled"
    assert engine.names() == []


def test_a_container_that_dies_behind_ssh_says_why(engine: Engine, lab: SshLab) -> None:
    write(lab, engine, "die")
    done = run(lab.project, "train", extra=lab.extra)
    (record,) = lab.records()
    assert (done.returncode, record["state"]) == (9, "failed")
    assert f"the job exited with code 1 (see runs/{record['id']}/job.log): MemoryError: CUDA out of" in last(
        done.stderr
    )


@pytest.mark.parametrize("lab", ["openssh"], indirect=True)
def test_an_image_that_is_not_on_the_machine_is_told_and_its_pull_fails(engine: Engine, lab: SshLab) -> None:
    write(lab, engine, "ok", image="127.0.0.1:1/nobody/nothing:1")
    done = run(lab.project, "train", extra=lab.extra)
    assert f"target `lab`: {engine.name} has no image 127.0.0.1:1/nobody/nothing:1 here and pulls it" in done.stderr
    (record,) = lab.records()
    assert (done.returncode, record["state"]) == (9, "failed")
    assert "the job exited with code 125" in last(done.stderr)
