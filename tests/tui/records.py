"""Fixed content of the views: one project, five runs, ten minutes of a machine, a loss that falls."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from overbrainer_core.values.metric import TrainMetric
from overbrainer_core.values.sample import Cpu, Disk, Gpu, MachineSample, Memory
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage
from overbrainer_tui.view_models.series import RunCurves
from overbrainer_tui.view_models.snapshots import (
    ChainLink,
    Cost,
    FooterShown,
    HeaderShown,
    Hint,
    ItemError,
    Level,
    LogRow,
    LogSource,
    LogsShown,
    MachineShown,
    MessageRow,
    PipelineShown,
    Progress,
    RailStep,
    RunRow,
    RunsShown,
    SelectedRun,
    StageResult,
    StageRow,
    Tab,
    TrainingShown,
)

START = datetime(2026, 11, 2, 8, 15, tzinfo=UTC)
RUN_ID = "roman_roads_20261102-081500"
GIB = 2**30


def header(selected: str = "4", *, work: str = "4") -> HeaderShown:
    """The header with the three views there are."""
    names = (("3", "Pipeline"), ("4", "Training"), ("5", "Logs"))
    tabs = tuple(Tab(key=key, name=name, is_selected=key == selected, has_work=key in work) for key, name in names)
    return HeaderShown(tabs=tabs, project="roman_roads")


def footer() -> FooterShown:
    """The footer of the Training view while a run is followed."""
    hints = (("j/k", "select"), ("a", "attach"), ("c", "cancel"), ("t", "start"), ("x", "clear"))
    return FooterShown(
        hints=tuple(Hint(key=key, label=label) for key, label in hints),
        work=("1 training task",),
        cost=Cost(usd=1.93, is_partial=True),
        version="0.10.0",
    )


def curves(last: int = 940, *, max_steps: int | None = 2600, every: int = 10) -> RunCurves:
    """A run that has come to a step."""
    made = RunCurves(RUN_ID)
    for step in range(every, last + 1, every):
        base = 0.66 + 1.7 * math.exp(-step / 400)
        noise = 0.03 * math.sin(step * 1.7)
        made.add(
            TrainMetric(
                time=1.9 * step,
                step=step,
                epoch=step / 870,
                max_steps=max_steps,
                loss=base * (1 + noise),
                learning_rate=2e-4 * min(1.0, step / 100),
                grad_norm=0.4 + 1.2 * math.exp(-step / 200) + (2 if step % 310 == 0 else 0),
            )
        )
        if step % 100 == 0:
            made.add(TrainMetric(time=1.9 * step, step=step, eval_loss=base * 1.1 + 0.05))
    return made


_USE = (0.97, 0.98, 0.4, 0.62, 0.97, 0.86, 0.97, 0.98, 0.97, 0.96, 0.3, 0.97)


def gpu(index: int, use: float | None = 0.97, **changes: float | int | None) -> Gpu:
    """One card with 80 GB."""
    values: dict[str, float | int | None] = {
        "memory_used_bytes": 71 * GIB,
        "memory_total_bytes": 80 * GIB,
        "temperature_c": 66.0,
        "power_w": 342.0,
    }
    return Gpu(index=index, name="NVIDIA A40", utilization=use, **{**values, **changes})  # type: ignore[arg-type]


def sample(index: int = 59, *, gpus: tuple[Gpu, ...] | None = None) -> MachineSample:
    """The n-th sample of a machine with two cards."""
    use = _USE[index * 12 // 60 % 12]
    disk = int((1.0 if index < 40 else 1.144) * 2**40)
    cards = (gpu(0, use), gpu(1, use - 0.02, memory_used_bytes=70 * GIB, temperature_c=68.0, power_w=339.0))
    return MachineSample(
        at=START + timedelta(seconds=10 * index),
        disks=(
            Disk(
                mount="/work",
                fs_type="nfs",
                is_shared=True,
                size_bytes=int(2.2 * 2**40),
                used_bytes=disk,
                available_bytes=int(1.056 * 2**40),
            ),
            Disk(
                mount="/",
                fs_type="ext4",
                is_shared=False,
                size_bytes=20 * GIB,
                used_bytes=int(6.6 * GIB),
                available_bytes=int(13.4 * GIB),
            ),
        ),
        memory=Memory(used_bytes=32 * GIB, limit_bytes=128 * GIB),
        cpu=Cpu(usage=0.61, load1=4.0, cpus=8.0, is_container=True),
        gpus=cards if gpus is None else gpus,
    )


def machine(*, age_s: float | None = None, is_followed: bool = True) -> MachineShown:
    """Ten minutes of samples."""
    return MachineShown(samples=tuple(sample(i) for i in range(60)), is_followed=is_followed, age_s=age_s)


def runs(state: str = "running", *, selected: int = 0) -> RunsShown:
    """Five runs, the newest one in the given state."""
    live = state == "running"
    rows = (
        RunRow(run_id=RUN_ID, state=state, target="cloud", work="followed" if live else "", is_followed=live),
        RunRow(run_id="roman_roads_20261030-191200", state="stopped", target="homelab"),
        RunRow(run_id="roman_roads_20261028-070001", state="succeeded", target="cloud"),
        RunRow(run_id="roman_roads_20261027-220415", state="failed", target="cloud"),
        RunRow(run_id="roman_roads_20261025-101010", state="succeeded", target="local"),
    )
    return RunsShown(rows=rows, selected=selected, followed=1 if live else 0)


def rail(running: str = "train") -> tuple[RailStep, ...]:
    """The phases of a local run with a merge."""
    names = ("setup", "train", "finalize", "merge", "retrieve")
    at = names.index(running)
    return tuple(
        RailStep(
            name=name,
            progress=Progress.DONE if i < at else Progress.RUNNING if i == at else Progress.PENDING,
        )
        for i, name in enumerate(names)
    )


def messages(*, error: str | None = None) -> tuple[MessageRow, ...]:
    """What a run's task said."""
    texts = ((4, "job started on 2 x NVIDIA A40"), (26, "checkpoint-500 saved"), (43, "checkpoint-900 saved"))
    said = tuple(MessageRow(time=START + timedelta(minutes=minutes), text=text) for minutes, text in texts)
    if error is None:
        return said
    return (*said, MessageRow(time=START + timedelta(minutes=50), text=error, level=Level.ERROR))


def selected_run(last: int = 940, *, state: str = "running", cursor: int | None = None) -> SelectedRun:
    """The newest run at a step, its numbers those of the drawings."""
    made = curves(last)
    live = state == "running"
    return SelectedRun(
        run_id=RUN_ID,
        state=state,
        target="cloud",
        is_followed=live,
        step=last,
        max_steps=2600,
        percent=min(100, last * 100 // 2600),
        progress=min(1.0, last / 2600),
        has_eta=live,
        eta_s=52 * 60.0 if live else None,
        steps_per_s=1 / 1.9,
        took_s=None if live else 5040.0,
        rail=rail(),
        epoch=1.08,
        epochs=3,
        loss=0.7782,
        loss_trend=-1 if live else 0,
        eval_loss=0.9196,
        eval_trend=-1 if live else 1,
        lr=1.61e-4,
        grad_norm=0.412,
        facts=(("resumed", "from roman_roads_20261030-191200", False),),
        messages=messages(),
        series=made.series(),
        cursor=made.cursor_at(cursor) if cursor is not None else None,
    )


def training(last: int = 940, *, state: str = "running", cursor: int | None = None) -> TrainingShown:
    """The Training view."""
    live = state == "running"
    return TrainingShown(
        runs=runs(state),
        selected=selected_run(last, state=state, cursor=cursor),
        machine=machine(age_s=None if live else 2460.0, is_followed=live),
    )


def pipeline() -> PipelineShown:
    """The Pipeline view while answers run."""
    done, running, pending = Progress.DONE, Progress.RUNNING, Progress.PENDING
    chain = (("subtopics", done), ("questions", done), ("answers", running), ("split", pending), ("train", pending))
    errors = (
        ("51aa…0c3e", "503 Service Unavailable; retrying in 2.0s", False),
        ("7be2…44f0", "429 Too Many Requests; retrying in 8.0s", False),
        ("90fe…d871", "gave up after 5 tries: empty reply", True),
    )
    return PipelineShown(
        command="answers",
        rows=(
            StageRow(stage=Stage.SUBTOPICS, progress=done, finished=16, total=16),
            StageRow(stage=Stage.QUESTIONS, progress=done, finished=320, total=320),
            StageRow(stage=Stage.ANSWERS, progress=running, finished=214, total=320, in_flight=12, retries=3, failed=1),
            StageRow(stage=Stage.SPLIT, progress=pending),
        ),
        chain=tuple(ChainLink(name=name, progress=progress) for name, progress in chain),
        tokens_in=129402,
        tokens_out=410221,
        cost=Cost(usd=0.0111, is_partial=True),
        errors=tuple(ItemError(stage=Stage.ANSWERS, item=i, text=t, is_final=f) for i, t, f in errors),
        errors_total=3,
        results=(
            StageResult(
                stage=Stage.SUBTOPICS,
                progress=done,
                stats=StageStats(done=16, usage=Usage(input_tokens=2100, output_tokens=480), cost=0.0009),
            ),
            StageResult(
                stage=Stage.QUESTIONS,
                progress=done,
                stats=StageStats(done=320, usage=Usage(input_tokens=31000, output_tokens=8000), cost=0.0102),
            ),
        ),
    )


_LINES = (
    ("08:15:02", "INFO", "pipeline", "split: train 1906, eval 212"),
    ("08:15:09", "INFO", "runs", "run roman_roads_20261102-081500 created on cloud"),
    ("08:16:40", "WARN", "runpod", "no stock for NVIDIA RTX A5000; trying NVIDIA A40"),
    ("08:17:02", "INFO", "runpod", "pod p7k2m9x4 created, $1.19/h"),
    ("08:19:33", "INFO", "runs", "job started"),
    ("08:27:12", "ERROR", "llm", "503 Service Unavailable from openrouter; 3 of 5 tries used"),
    ("08:27:16", "INFO", "llm", "retry succeeded"),
    ("08:31:00", "INFO", "pipeline", "answers: 200 of 320"),
    ("08:41:07", "INFO", "runs", "checkpoint-500 saved"),
    ("08:44:51", "WARN", "config", ".env changed; the next stages use it"),
    ("08:58:52", "INFO", "runs", "checkpoint-900 saved"),
)


def log_row(index: int) -> LogRow:
    """The n-th line of a log that repeats."""
    at, level, area, text = _LINES[index % len(_LINES)]
    hour, minute, second = (int(part) for part in at.split(":"))
    return LogRow(text=text, level=level, area=area, time=START.replace(hour=hour, minute=minute, second=second))


def logs(count: int = 20, *, newer: int = 4, shift: int = 0) -> LogsShown:
    """The Logs view, scrolled back."""
    rows = tuple(log_row(index) for index in range(count))
    return LogsShown(source=LogSource.OWN, rows=rows, newer=newer, is_pinned=bool(newer), shift=shift)
