"""Fixed runs, metrics and app states that the tests of the app's models share; nothing here depends on the time."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

from overbrainer_core.runs.record import RunRecord, RunState, Snapshot
from overbrainer_core.values.job import JobHandle
from overbrainer_core.values.metric import TrainMetric
from overbrainer_tui.effects import PlanFacts, ProjectFacts
from overbrainer_tui.state import AppState

NOW = datetime(2026, 11, 2, 8, 59, 0, tzinfo=UTC)
"""The wall time of the tests."""

MONO = 1000.0
"""The monotonic time of the tests at their start."""

RUNNING_ID = "roman_roads_20261102-081500"
STOPPED_ID = "roman_roads_20261030-191200"
SUCCEEDED_ID = "roman_roads_20261028-070001"
FAILED_ID = "roman_roads_20261027-220415"
OLDEST_ID = "roman_roads_20261025-101010"


def run_record(
    run_id: str = RUNNING_ID,
    state: RunState = RunState.RUNNING,
    *,
    target: str = "local",
    created: datetime = NOW - timedelta(minutes=44),
    ended: datetime | None = None,
    message: str | None = None,
    snapshot: Snapshot | None = None,
    resumed_from: str | None = None,
    snapshots: bool = True,
) -> RunRecord:
    """A run with a job, in a state."""
    return RunRecord(
        id=run_id,
        target=target,
        created=created,
        remote_dir=f"/srv/{run_id}",
        job=JobHandle(directory=f"/srv/{run_id}", pid=4242),
        state=state,
        message=message,
        snapshot=snapshot,
        resumed_from=resumed_from,
        snapshots=snapshots,
        ended=ended,
    )


def run_records() -> tuple[RunRecord, ...]:
    """Five runs in four states, oldest first as they are listed."""
    return (
        run_record(OLDEST_ID, RunState.SUCCEEDED, created=_at("2026-10-25 10:10"), ended=_at("2026-10-25 11:34")),
        run_record(
            FAILED_ID,
            RunState.FAILED,
            created=_at("2026-10-27 22:04"),
            ended=_at("2026-10-27 22:07"),
            message=f"the job exited with code 1 (see runs/{FAILED_ID}/job.log)",
        ),
        run_record(SUCCEEDED_ID, RunState.SUCCEEDED, created=_at("2026-10-28 07:00"), ended=_at("2026-10-28 08:24")),
        run_record(
            STOPPED_ID,
            RunState.STOPPED,
            target="homelab",
            created=_at("2026-10-30 19:12"),
            ended=_at("2026-10-30 19:55"),
            snapshot=Snapshot(checkpoint="output/checkpoint-900", step=900, reason="requested"),
        ),
        run_record(resumed_from=STOPPED_ID),
    )


def _at(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def metrics(last: int = 940, *, max_steps: int | None = 2600, every: int = 10, evals: int = 100) -> list[TrainMetric]:
    """Training logs each `every` steps and an evaluation each `evals`, two seconds a step, up to step `last`."""
    found: list[TrainMetric] = []
    for step in range(every, last + 1, every):
        wobble = 0.05 * math.sin(step * 1.7)
        found.append(
            TrainMetric(
                time=1_793_000_000.0 + 2.0 * step,
                step=step,
                epoch=round(3 * step / (max_steps or 2600), 4),
                max_steps=max_steps,
                loss=round(0.7 + 1.9 * math.exp(-step / 250) + wobble, 4),
                learning_rate=2e-4 * min(1.0, step / 100) * (1 - step / 3000),
                grad_norm=round(0.4 + abs(wobble) * 4, 3),
            )
        )
        if step % evals == 0:
            found.append(
                TrainMetric(
                    time=1_793_000_001.0 + 2.0 * step,
                    step=step,
                    max_steps=max_steps,
                    eval_loss=round(0.85 + 1.7 * math.exp(-step / 280), 4),
                )
            )
    return found


def project(*, target: str | None = "local") -> ProjectFacts:
    """What the app shows of a project's settings; no target is no `[training]`."""
    if target is None:
        return ProjectFacts(name="roman_roads", concurrency=12)
    return ProjectFacts(
        name="roman_roads",
        concurrency=12,
        target=target,
        kind="local, native",
        model="Qwen/Qwen3-0.6B",
        settings="qlora, 3 epochs, lr 2e-4",
        epochs=3,
    )


def plan_facts(*, resume: tuple[str, int, str] | None = None, warnings: tuple[str, ...] = ()) -> PlanFacts:
    """What a start dialog tells."""
    return PlanFacts(
        target="local",
        kind="local, native",
        model="Qwen/Qwen3-0.6B",
        settings="qlora, 3 epochs, lr 2e-4",
        train_examples=1906,
        eval_examples=212,
        warnings=warnings,
        resume=resume,
    )


def app_state(*, target: str | None = "local", is_readonly: bool = False) -> AppState:
    """The state of an app that has just opened, on a terminal of 80x24, at the tests' time."""
    state = AppState(
        project(target=target),
        version="0.1.0",
        repository="https://overbrainer.example/overbrainer",
        is_readonly=is_readonly,
    )
    state.at(MONO, NOW)
    return state


PROJECT_TOML = """\
[project]
name = "small"

[[topics]]
name = "numbers"
subtopics = 1
questions_per_subtopic = 1

[providers.demo]
protocol = "openai"

[roles]
generator = { provider = "demo", model = "demo/generator" }
parent = { provider = "demo", model = "demo/parent" }

[training]
target = "local"
trainer = "tiny"
base_model = "tiny-0.5m"
adapter = "full"
epochs = EPOCHS
micro_batch_size = 2
gradient_accumulation_steps = 1
sequence_len = 64
evals_per_epoch = 1

[targets.local]
kind = "local"
runtime = "native"
"""


def write_project(root: Path, *, epochs: int = 2) -> Path:
    """A small project on the demo's provider and trainer, its data ready: two epochs train for a second."""
    (root / "data").mkdir(parents=True)
    (root / "overbrainer.toml").write_text(PROJECT_TOML.replace("EPOCHS", str(epochs)))
    (root / ".env").write_text("OVERBRAINER_PROVIDERS__DEMO__BASE_URL=demo:\n")
    for name, count in (("train", 8), ("eval", 2)):
        lines = [
            json.dumps(
                {
                    "id": f"{name}{number}",
                    "messages": [
                        {"role": "user", "content": f"What is {number}?"},
                        {"role": "assistant", "content": f"It is {number}."},
                    ],
                }
            )
            for number in range(count)
        ]
        (root / "data" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return root
