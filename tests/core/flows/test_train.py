"""Starting a training: what is refused before a run exists, and what a start leaves behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.config.settings import RunpodTarget
from overbrainer_core.errors import ConfigError, InterruptedByUser, JobError, RunError, TargetError, describe
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import RunCreated
from overbrainer_core.executors.errors import InvalidSecretError
from overbrainer_core.flows.follow import RunEndedError, attach_run, cancel_run, stop_run
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session, open_session
from overbrainer_core.flows.train import plan_start, plan_until_interrupted, start_run
from overbrainer_core.runs.record import RunRecord, RunState, load_run
from overbrainer_core.runs.store import list_runs
from overbrainer_core.runs.timing import RunTiming
from overbrainer_core.training.programs import ProgramMissingError
from overbrainer_core.training.trainer import NoExampleError
from tests.peers.sshd import free_port
from tests.peers.trainers import example, project_environment, set_mode, write_data, write_project

FAST = RunTiming(poll_first_s=0.01, poll_max_s=0.05, local_watch_s=0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with the stand-in of axolotl."""
    directory = tmp_path / "project"
    directory.mkdir()
    write_project(directory)
    return directory


@pytest.fixture
async def session(root: Path) -> AsyncIterator[Session]:
    async with open_session(root, process_env=project_environment(), timing=FAST) as opened:
        yield opened


async def train(session: Session, report: CollectedReport | None = None, resume_from: str | None = None) -> RunRecord:
    """Plan, start and follow."""
    plan = await plan_start(session, resume_from=resume_from)
    with session.new_bus() as bus:
        return await start_run(session, plan, bus=bus, report=report or CollectedReport(), interrupt=Interrupt())


async def test_a_training_runs_to_its_result_lines(session: Session, root: Path) -> None:
    report = CollectedReport()
    record = await train(session, report)
    run_dir = f"runs/{record.id}"
    assert (record.state, record.message) == (RunState.SUCCEEDED, None)
    assert load_run(session.paths, record.id) == record
    assert report.results == [
        f"train: run {record.id} succeeded; step 3/3, epoch 0.50, loss 1.5000; output in {run_dir}/output",
        f"train: adapter in {run_dir}/output",
        f"train: merged model in {run_dir}/output/merged",
    ]
    assert report.notes == [f"train: run {record.id} on target `here`, in {(root / run_dir).resolve()}"]
    assert "secrets: HF_TOKEN is \n" in (root / run_dir / "job.log").read_text()
    stages = [json.loads(line) for line in (root / run_dir / "metrics.jsonl").read_text().splitlines()]
    assert [line["name"] for line in stages if line["event"] == "stage"] == ["train", "merge"]


async def test_the_plan_tells_what_a_start_will_use(session: Session) -> None:
    plan = await plan_start(session)
    assert (plan.target.name, plan.kind_words) == ("here", "local, native")
    assert (plan.train_examples, plan.eval_examples, plan.resume, plan.warnings) == (12, 3, None, ())


async def test_a_token_reaches_the_job_and_no_file(root: Path) -> None:
    environment = project_environment(OVERBRAINER_HF_TOKEN="hf_AbCdEfGhIjKlMnOp")
    async with open_session(root, process_env=environment, timing=FAST) as session:
        record = await train(session)
    run_dir = root / "runs" / record.id
    assert "secrets: HF_TOKEN is set\n" in (run_dir / "job.log").read_text()
    for path in run_dir.rglob("*"):
        if path.is_file():
            assert b"hf_AbCdEfGhIjKlMnOp" not in path.read_bytes()


async def test_a_token_that_no_environment_can_hold_leaves_no_run(root: Path) -> None:
    environment = project_environment(OVERBRAINER_HF_TOKEN="hf_Ab\ncd")
    async with open_session(root, process_env=environment, timing=FAST) as session:
        with pytest.raises(InvalidSecretError, match=r"^HF_TOKEN cannot be passed to the job$"):
            await train(session)
        assert list_runs(session.paths) == []


async def test_a_failed_job_is_an_error_with_the_reason(session: Session, root: Path) -> None:
    set_mode(root, "fail")
    report = CollectedReport()
    with pytest.raises(JobError) as error:
        await train(session, report)
    (record,) = list_runs(session.paths)
    assert str(error.value) == record.message
    assert record.message == (
        f"the job exited with code 7 (see runs/{record.id}/job.log): "
        "ValueError: eval dataset split is too small for sample_packing"
    )
    assert report.results == [f"train: run {record.id} failed; step 0"]


async def test_a_job_without_metrics_failed(session: Session, root: Path) -> None:
    set_mode(root, "silent")
    with pytest.raises(RunEndedError, match="the overbrainer metrics plugin was not loaded") as error:
        await train(session)
    assert error.value.record.state is RunState.FAILED


async def test_c051_one_answer_trains_without_evaluation(session: Session, root: Path) -> None:
    (root / "data" / "train.jsonl").write_text(example(1, 1))
    (root / "data" / "eval.jsonl").write_text("")
    record = await train(session)
    config = (root / "runs" / record.id / "axolotl.yaml").read_text()
    assert "test_datasets" not in config
    assert "evals_per_epoch" not in config
    (root / "data" / "eval.jsonl").write_text(example(2, 2))
    record = await train(session)
    assert "test_datasets" in (root / "runs" / record.id / "axolotl.yaml").read_text()


async def test_a_pod_is_refused_before_anything_exists(session: Session, root: Path) -> None:
    pod = RunpodTarget(name="cloud")
    session.settings = replace(session.settings, targets={**session.settings.targets, "cloud": pod})
    with pytest.raises(TargetError) as error:
        await plan_start(session, target="cloud")
    assert str(error.value) == "target `cloud` is of kind runpod: only local and ssh targets can train in this version"
    assert not (root / "runs").exists()


async def test_a_machine_behind_ssh_without_a_host_is_refused_before_anything_exists(
    session: Session, root: Path
) -> None:
    with pytest.raises(TargetError) as error:
        await plan_start(session, target="box")
    assert str(error.value) == "targets.box.host is not set: set OVERBRAINER_TARGETS__BOX__HOST"
    assert not (root / "runs").exists()


async def test_a_machine_behind_ssh_that_is_out_of_reach_leaves_no_run(root: Path) -> None:
    host = f"ssh://nobody@127.0.0.1:{free_port()}"
    environment = project_environment(OVERBRAINER_TARGETS__BOX__HOST=host, HOME=str(root))
    async with open_session(root, process_env=environment, timing=FAST) as session:
        plan = await plan_start(session, target="box")
        assert (plan.target.name, plan.kind_words) == ("box", "ssh, native")
        with pytest.raises(TargetError) as error:
            await start_run(session, plan, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt())
    assert describe(error.value).startswith("cannot reach target `box`: ")
    assert not (root / "runs").exists()


async def test_an_unknown_target_is_told_with_a_near_miss(session: Session) -> None:
    with pytest.raises(ConfigError, match=r"^unknown target `her`; did you mean `here`\?$"):
        await plan_start(session, target="her")
    with pytest.raises(ConfigError, match=r"^unknown target `zzz`; known: box, here, image$"):
        await plan_start(session, target="zzz")


async def test_no_training_section_is_told_with_an_example(root: Path) -> None:
    text = (root / "overbrainer.toml").read_text()
    start, end = text.index("[training]"), text.index("[targets.here]")
    (root / "overbrainer.toml").write_text(text[:start] + text[end:])
    async with open_session(root, process_env=project_environment()) as session:
        with pytest.raises(ConfigError, match=r"^no \[training\] section in overbrainer.toml; "):
            await plan_start(session)


async def test_missing_data_leaves_no_run(session: Session, root: Path) -> None:
    for content in ("", "\n\n"):
        (root / "data" / "train.jsonl").write_text(content)
        with pytest.raises(NoExampleError, match="has no example: run `overbrainer split` first"):
            await plan_start(session)
    (root / "data" / "train.jsonl").unlink()
    with pytest.raises(NoExampleError):
        await plan_start(session)
    assert not (root / "runs").exists()


async def test_a_missing_program_leaves_no_run(session: Session, root: Path) -> None:
    (root / "venv" / "bin" / "axolotl").unlink()
    with pytest.raises(ProgramMissingError, match="bin/axolotl is not there"):
        await plan_start(session)
    assert not (root / "runs").exists()


async def test_a_missing_engine_leaves_no_run(root: Path) -> None:
    environment = project_environment(PATH="/nowhere")
    async with open_session(root, process_env=environment, timing=FAST) as session:
        with pytest.raises(ProgramMissingError, match="has no `docker`"):
            await plan_start(session, target="image")
    assert not (root / "runs").exists()


async def test_an_interrupt_before_the_start_leaves_no_run(session: Session, root: Path) -> None:
    plan = await plan_start(session)
    interrupt = Interrupt()
    interrupt.trigger()
    with pytest.raises(InterruptedByUser, match=r"^interrupted before the run started$"):
        await start_run(session, plan, bus=EventBus(), report=CollectedReport(), interrupt=interrupt)
    assert list_runs(session.paths) == []


class TriggerOnCreate:
    """An observer that interrupts as soon as the run exists, before its job does."""

    def __init__(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt

    def on_event(self, event: object) -> None:
        """Interrupt once."""
        if isinstance(event, RunCreated):
            self._interrupt.trigger()

    def on_close(self) -> None:
        """Nothing follows."""


async def test_an_interrupt_during_the_start_detaches_once_the_job_is_recorded(session: Session, root: Path) -> None:
    set_mode(root, "wait")
    interrupt = Interrupt()
    bus = EventBus([TriggerOnCreate(interrupt)])
    plan = await plan_start(session)
    with pytest.raises(InterruptedByUser) as error:
        await start_run(session, plan, bus=bus, report=CollectedReport(), interrupt=interrupt)
    (record,) = list_runs(session.paths)
    assert (record.state, record.snapshots) == (RunState.RUNNING, True)
    assert str(error.value) == (
        f"interrupted: run {record.id} keeps running on target `here`; "
        f"follow it again with `overbrainer train attach {record.id}`"
    )
    cancelled = await cancel_run(session, record.id, bus=EventBus(), report=CollectedReport())
    assert cancelled.state is RunState.CANCELLED


async def test_a_failed_start_wins_over_an_interrupt(session: Session, root: Path) -> None:
    interrupt = Interrupt()
    bus = EventBus([TriggerOnCreate(interrupt)])
    plan = await plan_start(session)
    (root / "data" / "train.jsonl").unlink()
    with pytest.raises(NoExampleError):
        await start_run(session, plan, bus=bus, report=CollectedReport(), interrupt=interrupt)
    (record,) = list_runs(session.paths)
    assert record.state is RunState.FAILED
    assert "has no example" in str(record.message)


async def stopped_run(session: Session, root: Path) -> RunRecord:
    """A run that was stopped with a snapshot."""
    set_mode(root, "wait")
    report = CollectedReport()
    following = asyncio.create_task(train(session, report))
    while not list(root.glob("runs/*/metrics.jsonl")):
        await asyncio.sleep(0.01)
    (record,) = list_runs(session.paths)
    (root / "runs" / record.id / "snapshot.request").write_text("requested")
    record = await following
    assert record.state is RunState.STOPPED
    return record


async def test_a_resume_takes_checkpoint_and_data_of_the_stopped_run(session: Session, root: Path) -> None:
    old = await stopped_run(session, root)
    assert old.snapshot is not None
    set_mode(root, "ok")
    write_data(root, train=30, evaluation=0)
    report = CollectedReport()
    record = await train(session, report, resume_from=old.id)
    run_dir = root / "runs" / record.id
    assert (record.state, record.resumed_from) == (RunState.SUCCEEDED, old.id)
    assert (run_dir / "resume" / "checkpoint-1" / "state").samefile(
        root / "runs" / old.id / "output" / "checkpoint-1" / "state"
    )
    assert len((run_dir / "data" / "train.jsonl").read_text().splitlines()) == 12
    assert (run_dir / "data" / "eval.jsonl").exists()
    assert (
        f'resume_from_checkpoint: "{run_dir.resolve()}/resume/checkpoint-1"' in (run_dir / "axolotl.yaml").read_text()
    )
    assert report.notes[0] == (
        f"train: run {record.id} resumes from the snapshot of run {old.id} (output/checkpoint-1)"
    )


async def test_a_resume_is_refused_before_anything_is_created(session: Session, root: Path) -> None:
    old = await stopped_run(session, root)
    set_mode(root, "ok")
    done = await train(session)
    with pytest.raises(
        RunError, match=f"cannot resume from run {done.id}: it is succeeded, not stopped with a snapshot"
    ):
        await plan_start(session, resume_from=done.id)
    with pytest.raises(RunError, match="no run `nothing_1` in runs/"):
        await plan_start(session, resume_from="nothing_1")
    text = (root / "overbrainer.toml").read_text()
    (root / "overbrainer.toml").write_text(
        text.replace("merge = true", "merge = true\nlora_r = 4\nsaves_per_epoch = 9\nsequence_len = 99")
    )
    async with open_session(root, process_env=project_environment(), timing=FAST, lock=False) as changed:
        with pytest.raises(RunError) as error:
            await plan_start(changed, resume_from=old.id)
    assert str(error.value) == (
        f"cannot resume from run {old.id}: the training settings differ from the ones it ran with "
        "(lora_r, sequence_len); set them back to resume, or start a new run"
    )
    moved = root / "runs" / old.id / "output" / "checkpoint-1"
    moved.rename(root / "elsewhere")
    with pytest.raises(RunError, match=f"retrieve it with `overbrainer train attach {old.id}`"):
        await plan_start(session, resume_from=old.id)
    assert len(list_runs(session.paths)) == 2


async def test_attach_sums_up_an_ended_run_and_stop_refuses_it(session: Session) -> None:
    record = await train(session)
    report = CollectedReport()
    again = await attach_run(session, record.id, bus=EventBus(), report=report, interrupt=Interrupt())
    assert again == record
    assert report.results[0].startswith(f"train: run {record.id} succeeded; step 3/3")
    with pytest.raises(RunError, match=f"run {record.id} already ended: succeeded"):
        await stop_run(session, record.id, bus=EventBus(), report=report, interrupt=Interrupt())


async def test_an_interrupt_while_a_start_is_looked_at_leaves_no_run(session: Session) -> None:
    interrupt = Interrupt()
    interrupt.trigger()
    with pytest.raises(InterruptedByUser, match=r"^interrupted before the run started$"):
        await plan_until_interrupted(session, interrupt=interrupt)
    assert not list_runs(session.paths)
