"""Trainings behind a real sshd by the program as a process, with both clients, and everything that goes wrong there."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event, Metric
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import open_session
from overbrainer_core.flows.train import plan_start, start_run
from overbrainer_core.runs.record import RunState
from overbrainer_core.runs.timing import RunTiming
from tests.peers.axolotl import OFFLINE, axolotl_venv, make_tiny_model
from tests.peers.program import run, start, until
from tests.peers.ssh_project import CLIENTS, SshLab, contents, last
from tests.peers.sshd import free_port, make_key, needs_sshd
from tests.peers.trainers import write_data

pytestmark = [needs_sshd, pytest.mark.timeout(90), pytest.mark.xdist_group("ssh")]


@pytest.fixture(params=CLIENTS)
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SshLab]:
    """A project and a machine, with each client in turn."""
    lab = SshLab(tmp_path, str(request.param))
    yield lab
    lab.close()


@pytest.fixture
def machine(lab: SshLab) -> SshLab:
    """A machine that can be reached."""
    lab.start()
    return lab


def command(lab: SshLab, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the program to its end."""
    return run(lab.project, *arguments, extra=lab.extra, limit_s=80)


def begin(lab: SshLab, *arguments: str) -> subprocess.Popen[str]:
    """Start a command of the program."""
    return start(lab.project, *arguments, extra=lab.extra)


def detach(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C; the last line."""
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    return last(stderr)


def test_a_training_runs_to_its_end_and_everything_comes_back(machine: SshLab) -> None:
    machine.write_tiny(epochs=1)
    done = command(machine, "train")
    assert done.returncode == 0, done.stderr
    (record,) = machine.records()
    run_id, remote = record["id"], Path(record["remote_dir"])
    assert done.stdout.splitlines() == [
        f"train: run {run_id} succeeded; step 16/16, epoch 1.00, {done.stdout.split(', ', 2)[2].splitlines()[0]}",
        f"train: model in runs/{run_id}/output",
    ]
    assert f"train: run {run_id} on target `lab`, in {remote}" in done.stderr
    assert remote == machine.workdir / run_id
    assert machine.steps(run_id) == list(range(1, 17))
    local = machine.project / "runs" / run_id
    assert "config.json" in contents(local / "output")
    there = contents(remote / "output")
    assert contents(local / "output") == {name: there[name] for name in there if not name.startswith("checkpoint-")}
    assert (local / "job.log").read_bytes() == (remote / "job.log").read_bytes()
    listing = command(machine, "runs", "ls")
    assert listing.stdout.startswith(f"{run_id}  succeeded  lab  ")


def test_ctrl_c_leaves_the_job_and_another_process_attaches(machine: SshLab) -> None:
    machine.write_tiny(epochs=20)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    assert detach(process) == (
        f"error: interrupted: run {run_id} keeps running on target `lab`; "
        f"follow it again with `overbrainer train attach {run_id}`"
    )
    until(lambda: not machine.server.sessions())
    assert machine.records()[0]["state"] == "running"
    done = command(machine, "train", "attach", run_id)
    assert done.returncode == 0, done.stderr
    assert f"train: run {run_id} succeeded; step 320/320" in done.stdout
    assert machine.steps(run_id) == list(range(1, 321))
    machine.server.stop()
    again = command(machine, "train", "attach", run_id)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_stop_beside_the_follower_resumes_there_and_on_this_machine(machine: SshLab) -> None:
    machine.write_tiny(epochs=40)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(10)
    beside = command(machine, "train", "stop", run_id)
    assert beside.returncode == 0, beside.stderr
    assert f"overbrainer (pid {process.pid}) is using this project" in beside.stdout
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    snapshot = machine.records()[0]["snapshot"]
    step = snapshot["step"]
    assert f"train: run {run_id} stopped at step {step} (requested): snapshot in" in stdout
    assert (machine.project / "runs" / run_id / snapshot["checkpoint"]).is_dir()

    seen = {run_id}
    for target in ("lab", "here"):
        resumed = begin(machine, "train", "--resume-from", run_id, "--target", target)
        new_id = machine.wait_for_steps(4, other_than=seen)
        seen.add(new_id)
        stopped = command(machine, "train", "stop", new_id)
        assert stopped.returncode == 0, stopped.stderr
        _, stderr = resumed.communicate(timeout=60)
        assert resumed.returncode == 0, stderr
        record = next(record for record in machine.records() if record["id"] == new_id)
        assert (record["state"], record["resumed_from"], record["target"]) == ("stopped", run_id, target)
        assert machine.steps(new_id)[0] == step + 1


@pytest.mark.parametrize("lab", ["builtin"], indirect=True)
def test_a_snapshot_of_this_machine_goes_on_behind_ssh(machine: SshLab) -> None:
    machine.write_tiny(epochs=24)
    process = begin(machine, "train", "--target", "here")
    run_id = machine.wait_for_steps(10)
    assert command(machine, "train", "stop", run_id).returncode == 0
    assert process.wait(timeout=60) == 0
    process.communicate()
    step = machine.records()[0]["snapshot"]["step"]
    done = command(machine, "train", "--resume-from", run_id, "--target", "lab")
    assert done.returncode == 0, done.stderr
    record = next(record for record in machine.records() if record["target"] == "lab")
    assert (record["state"], record["resumed_from"]) == ("succeeded", run_id)
    assert machine.steps(record["id"]) == list(range(step + 1, 385))
    assert (machine.workdir / record["id"] / "resume" / f"checkpoint-{step}").is_dir()


def test_a_cancel_beside_the_follower_ends_the_job_and_a_second_is_refused(machine: SshLab) -> None:
    machine.write_tiny(epochs=400)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    beside = command(machine, "train", "cancel", run_id)
    assert (beside.returncode, beside.stdout) == (0, f"train: run {run_id} cancelled\n"), beside.stderr
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 9
    assert last(stderr) == f"error: run {run_id} was cancelled"
    assert f"train: run {run_id} cancelled" in stdout
    assert machine.records()[0]["state"] == "cancelled"
    assert machine.steps(run_id)[:3] == [1, 2, 3]
    assert not group_lives(machine.group(run_id))
    again = command(machine, "train", "cancel", run_id)
    assert last(again.stderr) == f"error: run {run_id} already ended: cancelled"


def test_a_cancel_alone_ends_a_detached_job(machine: SshLab) -> None:
    machine.write_tiny(epochs=400)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    detach(process)
    done = command(machine, "train", "cancel", run_id)
    assert (done.returncode, done.stdout) == (0, f"train: run {run_id} cancelled\n"), done.stderr
    assert machine.records()[0]["state"] == "cancelled"
    assert (machine.project / "runs" / run_id / "job.log").exists()
    assert not group_lives(machine.group(run_id))


def group_lives(group: int) -> bool:
    """Whether a process group has a member."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("victim", "words"),
    [("trainer", "the job exited with code 137 (see runs/{run}/job.log)"), ("all", "stopped without an exit code")],
)
def test_a_job_that_dies_is_told_with_its_reason(machine: SshLab, victim: str, words: str) -> None:
    machine.write_tiny(epochs=400)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    group = machine.group(run_id)
    if victim == "all":
        os.killpg(group, signal.SIGKILL)
    else:
        os.kill(trainer_of(group), signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 9, stderr
    assert words.format(run=run_id) in last(stderr)
    assert machine.records()[0]["state"] == "failed"
    assert machine.steps(run_id)[:3] == [1, 2, 3]


def trainer_of(group: int) -> int:
    """The trainer's process in a job's group."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,pgid=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
    (found,) = (
        int(pid) for pid, pgid, args in lines if int(pgid) == group and "python" in args.split()[0] and "tiny_" in args
    )
    return found


class Steps:
    """Keeps the trained steps that were told, in order."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_event(self, event: Event) -> None:
        """Keep a step."""
        if isinstance(event, Metric) and event.metric.loss is not None:
            self.seen.append(event.metric.step)

    def on_close(self) -> None:
        """Nothing follows."""


async def test_a_connection_that_dies_loses_and_repeats_no_line(machine: SshLab) -> None:
    machine.write_tiny(epochs=30)
    steps, report = Steps(), CollectedReport()
    timing = RunTiming(poll_first_s=0.05, poll_max_s=0.3, sample_interval_s=0.5, failures_allowed=60)

    async def trouble() -> None:
        while not steps.seen:
            await asyncio.sleep(0.05)
        for _ in range(3):
            await asyncio.to_thread(machine.server.cut)
            await asyncio.sleep(0.4)
        await asyncio.to_thread(machine.server.stop)
        await asyncio.sleep(0.4)
        await asyncio.to_thread(machine.server.start)

    async with open_session(machine.project, process_env=machine.environment, timing=timing) as session:
        plan = await plan_start(session)
        with EventBus([steps]) as bus:
            following = start_run(session, plan, bus=bus, report=report, interrupt=Interrupt())
            record, _ = await asyncio.gather(following, trouble())
    assert record.state is RunState.SUCCEEDED
    assert steps.seen == machine.steps(record.id) == list(range(1, 481))


def test_a_connection_that_dies_under_the_program_is_made_again(machine: SshLab) -> None:
    machine.write_tiny(epochs=20)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    assert machine.server.cut() > 0
    machine.server.stop()
    machine.server.start()
    stdout, stderr = process.communicate(timeout=80)
    assert process.returncode == 0, stderr
    assert f"train: run {run_id} succeeded; step 320/320" in stdout
    assert machine.steps(run_id) == list(range(1, 321))


def test_a_target_that_went_away_is_told_and_the_run_is_found_when_it_is_back(machine: SshLab) -> None:
    machine.write_tiny(epochs=6)
    process = begin(machine, "train")
    run_id = machine.wait_for_steps(5)
    detach(process)
    machine.server.stop()
    for action in ("attach", "stop", "cancel"):
        done = command(machine, "train", action, run_id)
        assert done.returncode == 8, done.stderr
        assert last(done.stderr).startswith("error: cannot reach target `lab`: ")
    assert machine.records()[0]["state"] == "running"
    machine.server.start()
    done = command(machine, "train", "attach", run_id)
    assert done.returncode == 0, done.stderr
    assert f"train: run {run_id} succeeded; step 96/96" in done.stdout


def test_a_target_that_cannot_be_reached_leaves_no_run(lab: SshLab) -> None:
    lab.write_tiny(epochs=1)
    lab.start()
    lab.server.trust(make_key(lab.server.directory / "other_key"))
    stranger = command(lab, "train")
    assert stranger.returncode == 8
    assert last(stranger.stderr).startswith("error: cannot reach target `lab`: ssh failed: host key verification ")
    (lab.server.client_home / ".ssh" / "known_hosts").write_text("")
    unknown = command(lab, "train")
    assert unknown.returncode == 8
    assert last(unknown.stderr).endswith("unknown host (add it with ssh-keyscan or a first connection with ssh)")
    lab.server.trust()
    lab.server.authorize()
    locked_out = command(lab, "train")
    assert locked_out.returncode == 8
    assert last(locked_out.stderr).startswith("error: cannot reach target `lab`: ")
    away = {"OVERBRAINER_TARGETS__LAB__HOST": f"ssh://{lab.server.user}@127.0.0.1:{free_port()}"}
    refused = run(lab.project, "train", extra={**lab.extra, **away})
    assert refused.returncode == 8
    assert last(refused.stderr).startswith("error: cannot reach target `lab`: ")
    unset = run(lab.project, "train", extra={**lab.extra, "OVERBRAINER_TARGETS__LAB__HOST": ""})
    assert last(unset.stderr) == "error: targets.lab.host is not set: set OVERBRAINER_TARGETS__LAB__HOST"
    for done in (stranger, unknown, locked_out, refused, unset):
        assert "Traceback" not in done.stderr
    assert not (lab.project / "runs").exists()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ('runtime = "native"', "target `lab` has no `axolotl`: it is not on PATH; install it, or set targets.lab.venv"),
        (
            'runtime = "native"\nvenv = "~/v"',
            "target `lab` has no `axolotl`: ~/v/bin/axolotl is not there or cannot be run; "
            "install it there, or set targets.lab.venv",
        ),
        (
            'runtime = "docker"\nengine = "podman"',
            "target `lab` has no `podman`: it is not on PATH; install it, or set targets.lab.runtime to native",
        ),
    ],
    ids=["path", "venv", "engine"],
)
@pytest.mark.parametrize("lab", ["builtin"], indirect=True)
def test_what_is_missing_on_the_machine_leaves_no_run(lab: SshLab, target: str, words: str) -> None:
    lab.write_axolotl(base_model="base", target=target)
    lab.start(PATH=str(plain_programs(lab)))
    done = command(lab, "train")
    assert done.returncode == 8
    assert last(done.stderr) == f"error: {words}"
    assert not lab.records()
    assert not list(lab.workdir.iterdir())


def plain_programs(lab: SshLab) -> Path:
    """The few programs that every machine has."""
    directory = lab.server.directory / "programs"
    directory.mkdir()
    for name in ("sh", "mkdir", "tail", "cat", "rm", "dirname"):
        (directory / name).symlink_to(shutil.which(name) or name)
    return directory


AXOLOTL = """\
epochs = 1
learning_rate = 1e-3
sequence_len = 128
micro_batch_size = 2
gradient_accumulation_steps = 1
optimizer = "adamw_torch"
sample_packing = false
evals_per_epoch = 1

[training.axolotl_extra]
bf16 = false
fp16 = false
lora_mlp_kernel = false
lora_qkv_kernel = false
lora_o_kernel = false
"""


@pytest.mark.peer("axolotl")
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lab", ["builtin"], indirect=True)
def test_the_real_axolotl_trains_an_adapter_behind_ssh(lab: SshLab, tmp_path: Path) -> None:
    venv = axolotl_venv()
    write_data(tmp_path / "corpus", train=40)
    base = make_tiny_model(venv, tmp_path / "model", tmp_path / "corpus" / "data" / "train.jsonl")
    target = f'runtime = "native"\nvenv = "{venv}"\n'
    lab.write_axolotl(base_model=str(base), target=target, training=AXOLOTL)
    write_data(lab.project, train=6, evaluation=2)
    lab.start(**OFFLINE, OMP_NUM_THREADS="1")
    done = run(lab.project, "train", extra=lab.extra, limit_s=280)
    assert done.returncode == 0, done.stderr
    (record,) = lab.records()
    output = lab.project / "runs" / record["id"] / "output"
    assert lab.steps(record["id"]) == [1, 2, 3]
    assert (output / "adapter_model.safetensors").stat().st_size > 0
