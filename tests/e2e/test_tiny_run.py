"""A training by the embedded trainer here: followed live, stopped with a snapshot, resumed to the same end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event, Metric, RunCreated
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session, open_session
from overbrainer_core.flows.train import plan_start, start_run
from overbrainer_core.runs.record import RunRecord, RunState
from tests.peers.trainers import project_environment, write_data, write_project

pytestmark = pytest.mark.timeout(90)

TRAINING = """\
trainer = "tiny"
epochs = 3
learning_rate = 3e-3
sequence_len = 128
micro_batch_size = 4
gradient_accumulation_steps = 2
evals_per_epoch = 1
"""


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A project with the embedded trainer."""
    root = tmp_path / "project"
    root.mkdir()
    write_project(root, base_model="tiny-0.2m", adapter="full", training=TRAINING, target="")
    write_data(root, train=24, evaluation=4)
    async with open_session(root, process_env=project_environment()) as opened:
        yield opened


class Steps:
    """An observer that keeps the training steps, and asks for a snapshot as soon as the run exists when told to."""

    def __init__(self, session: Session, *, asks: bool = False) -> None:
        self._paths = session.paths
        self._asks = asks
        self.seen: list[int] = []

    def on_event(self, event: Event) -> None:
        """Note a training step, or ask."""
        if isinstance(event, Metric) and event.metric.loss is not None:
            self.seen.append(event.metric.step)
        elif isinstance(event, RunCreated) and self._asks:
            # before the first step: a later request could come too late on a fast machine
            (self._paths.run(event.run_id) / "snapshot.request").write_text("requested")

    def on_close(self) -> None:
        """Nothing follows."""


async def train(session: Session, observer: Steps, resume_from: str | None = None) -> tuple[RunRecord, list[str]]:
    """Start a run and follow it to its end."""
    plan = await plan_start(session, resume_from=resume_from)
    report = CollectedReport()
    with EventBus([observer]) as bus:
        record = await start_run(session, plan, bus=bus, report=report, interrupt=Interrupt())
    return record, report.results


async def test_a_training_can_be_stopped_and_ends_with_the_same_bits(session: Session) -> None:
    whole, lines = await train(session, Steps(session))
    assert whole.state is RunState.SUCCEEDED
    assert lines[0].startswith(f"train: run {whole.id} succeeded; step 9/9, epoch 3.00, loss ")
    assert lines[1:] == [f"train: model in runs/{whole.id}/output"]
    output = session.paths.run(whole.id) / "output"
    assert {"config.json", "model.safetensors"} <= {path.name for path in output.iterdir()}

    stopping = Steps(session, asks=True)
    stopped, lines = await train(session, stopping)
    assert stopped.state is RunState.STOPPED
    assert stopped.snapshot is not None
    assert stopping.seen == list(range(1, stopped.snapshot.step + 1))
    assert f"resume with `overbrainer train --resume-from {stopped.id}`" in lines[1]

    resumed = Steps(session)
    record, _ = await train(session, resumed, resume_from=stopped.id)
    assert record.state is RunState.SUCCEEDED
    assert resumed.seen == list(range(stopped.snapshot.step + 1, 10))
    weights = session.paths.run(record.id) / "output" / "model.safetensors"
    assert weights.read_bytes() == (output / "model.safetensors").read_bytes()
