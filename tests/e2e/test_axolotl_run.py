"""A training by the real Axolotl on this machine: LoRA with its merge, a full model stopped and resumed."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event, Mark, Metric
from overbrainer_core.flows.follow import request_stop_beside
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session, open_session
from overbrainer_core.flows.train import plan_start, start_run
from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.values.metric import MarkKind
from tests.peers.axolotl import OFFLINE, axolotl_venv, make_tiny_model
from tests.peers.trainers import project_environment, write_data, write_project

pytestmark = [pytest.mark.peer("axolotl"), pytest.mark.slow, pytest.mark.timeout(600)]

COMMON = """\
epochs = {epochs}
learning_rate = 1e-3
sequence_len = 128
micro_batch_size = 2
gradient_accumulation_steps = 1
optimizer = "adamw_torch"
sample_packing = false
evals_per_epoch = 2
"""
EXTRA = """
[training.axolotl_extra]
bf16 = false
fp16 = false
"""
NO_KERNELS = "lora_mlp_kernel = false\nlora_qkv_kernel = false\nlora_o_kernel = false\n"


@pytest.fixture(scope="module")
def venv() -> Path:
    return axolotl_venv()


@pytest.fixture(scope="module")
def base_model(venv: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    write_data(root, train=40)
    return make_tiny_model(venv, root / "model", root / "data" / "train.jsonl")


@pytest.fixture
async def session(
    request: pytest.FixtureRequest, venv: Path, base_model: Path, tmp_path: Path
) -> AsyncIterator[Session]:
    """A project whose native target is the real environment; the parameter is its adapter."""
    adapter: str = request.param
    root = tmp_path / "project"
    root.mkdir()
    training = COMMON.format(epochs=1 if adapter == "lora" else 2)
    training += "merge = true\n" + EXTRA + NO_KERNELS if adapter == "lora" else EXTRA
    target = f'venv = "{venv}"\n'
    write_project(root, base_model=str(base_model), adapter=adapter, training=training, target=target)
    write_data(root, train=12, evaluation=2)
    async with open_session(root, process_env=project_environment(**OFFLINE)) as opened:
        yield opened


class Seen:
    """What a follow published; asks for a snapshot as a second process would, once the first step is seen."""

    def __init__(self, session: Session, *, asks: bool) -> None:
        self.session = session
        self.events: list[Event] = []
        self.asks = asks
        self.asking: asyncio.Task[None] | None = None

    def on_event(self, event: Event) -> None:
        """Keep it; ask once."""
        self.events.append(event)
        if self.asks and isinstance(event, Metric) and event.metric.loss is not None:
            self.asks = False
            self.asking = asyncio.ensure_future(
                request_stop_beside(self.session, event.run_id, holder=None, report=CollectedReport())
            )

    def on_close(self) -> None:
        """Nothing follows."""

    @property
    def trained_steps(self) -> list[int]:
        """Steps of the training logs."""
        return [
            event.metric.step for event in self.events if isinstance(event, Metric) and event.metric.loss is not None
        ]

    @property
    def stages(self) -> list[str | None]:
        """Names of the stage lines."""
        return [
            event.mark.name for event in self.events if isinstance(event, Mark) and event.mark.kind is MarkKind.STAGE
        ]


async def train(session: Session, *, asks: bool = False, resume_from: str | None = None) -> tuple[RunRecord, Seen]:
    """Start a run and follow it to its end."""
    seen = Seen(session, asks=asks)
    plan = await plan_start(session, resume_from=resume_from)
    with EventBus([seen]) as bus:
        record = await start_run(session, plan, bus=bus, report=CollectedReport(), interrupt=Interrupt())
    if seen.asking is not None:
        await seen.asking
    return record, seen


@pytest.mark.parametrize("session", ["lora"], indirect=True)
async def test_an_adapter_is_trained_and_merged(session: Session) -> None:
    record, seen = await train(session)
    assert (record.state, record.message) == (RunState.SUCCEEDED, None)
    assert seen.stages == ["train", "merge"]
    assert seen.trained_steps == [1, 2, 3, 4, 5, 6]
    kinds = {event.mark.kind for event in seen.events if isinstance(event, Mark)}
    assert kinds == {MarkKind.BEGIN, MarkKind.STAGE, MarkKind.EVAL, MarkKind.END}
    assert any(event.metric.eval_loss is not None for event in seen.events if isinstance(event, Metric))
    output = session.paths.run(record.id) / "output"
    assert (output / "adapter_model.safetensors").stat().st_size > 0
    assert (output / "merged" / "model.safetensors").stat().st_size > 0


@pytest.mark.parametrize("session", ["full"], indirect=True)
async def test_a_full_training_stops_with_a_checkpoint_and_goes_on_from_it(session: Session, venv: Path) -> None:
    stopped, _ = await train(session, asks=True)
    assert stopped.state is RunState.STOPPED
    assert stopped.snapshot is not None
    step = stopped.snapshot.step
    assert 0 < step < 12
    checkpoint = session.paths.run(stopped.id) / stopped.snapshot.checkpoint
    assert json.loads((checkpoint / "trainer_state.json").read_text())["global_step"] == step
    assert (checkpoint / "optimizer.pt").exists()

    resumed, again = await train(session, resume_from=stopped.id)
    assert (resumed.state, resumed.resumed_from) == (RunState.SUCCEEDED, stopped.id)
    assert again.trained_steps == list(range(step + 1, 13))
    run_dir = session.paths.run(resumed.id)
    assert (run_dir / "output" / "model.safetensors").stat().st_size > 0
    last = run_dir / "output" / "checkpoint-12"
    assert optimizer_steps(venv, checkpoint) == step
    assert optimizer_steps(venv, last) == 12


def optimizer_steps(venv: Path, checkpoint: Path) -> int:
    """How many steps the optimizer of a checkpoint has done, by its own state."""
    code = (
        "import sys, torch; state = torch.load(sys.argv[1], map_location='cpu', weights_only=True)['state']; "
        "print(int(next(iter(state.values()))['step']))"
    )
    result = subprocess.run(
        [venv / "bin" / "python", "-c", code, checkpoint / "optimizer.pt"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(result.stdout)
