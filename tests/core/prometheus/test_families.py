"""What each event does to the families, bus by bus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import (
    ItemDone,
    ItemFailed,
    JobStatus,
    Mark,
    Metric,
    RunWatched,
    StageFinished,
    StageModel,
    StageStarted,
    System,
)
from overbrainer_core.history import EntryStatus, HistoryEntry
from overbrainer_core.prometheus.exposition import exposition
from overbrainer_core.prometheus.families import MetricFamilies
from overbrainer_core.training.phases import PhaseTracker
from overbrainer_core.values.job import JobPhase, JobState
from overbrainer_core.values.metric import MarkKind, PhaseMark, TrainMetric
from overbrainer_core.values.sample import Cpu, Disk, Gpu, MachineSample, Memory
from overbrainer_core.values.stage import Stage, StageStats
from overbrainer_core.values.usage import Usage

USAGE = Usage(input_tokens=10, output_tokens=20)


@pytest.fixture
def families() -> MetricFamilies:
    return MetricFamilies(version="1.2.3", phase_reader=PhaseTracker)


def lines(families: MetricFamilies, start: str = "overbrainer") -> list[str]:
    """The samples whose name begins so."""
    text = exposition(families.collect())
    list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]  # the strict parser takes it
    return [line for line in text.splitlines() if line.startswith(start)]


def bus_of(families: MetricFamilies) -> EventBus:
    return EventBus((families.bus_observer(),))


def test_a_new_project_shows_its_version_and_that_nothing_runs(families: MetricFamilies) -> None:
    assert lines(families) == [
        *(f'overbrainer_stage_running{{stage="{stage}"}} 0' for stage in Stage),
        'overbrainer_build_info{version="1.2.3"} 1',
    ]


def test_counters_go_on_from_the_history(families: MetricFamilies) -> None:
    def entry(stage: Stage, **more: object) -> HistoryEntry:
        return HistoryEntry(stage=stage, started_at="", ended_at="", status=EntryStatus.OK, **more)  # type: ignore[arg-type]

    families.seed(
        [
            entry(Stage.ANSWERS, model="m", done=3, excluded=1, input_tokens=30, output_tokens=60, cost=0.5),
            entry(Stage.ANSWERS, model="m", done=1, input_tokens=5, output_tokens=5, cost=None),
            entry(Stage.ANSWERS, model=None, skipped=2, input_tokens=7, output_tokens=7, cost=1.0),
            entry(Stage.SPLIT, excluded=4),
        ]
    )
    assert lines(families, "overbrainer_stage_items") == [
        'overbrainer_stage_items_total{stage="answers",result="done"} 4',
        'overbrainer_stage_items_total{stage="answers",result="excluded"} 1',
        'overbrainer_stage_items_total{stage="answers",result="skipped"} 2',
        'overbrainer_stage_items_total{stage="split",result="excluded"} 4',
    ]
    assert lines(families, "overbrainer_tokens") == [
        'overbrainer_tokens_total{stage="answers",model="m",direction="in"} 35',
        'overbrainer_tokens_total{stage="answers",model="m",direction="out"} 65',
    ]
    assert lines(families, "overbrainer_cost") == ['overbrainer_cost_usd_total{stage="answers",model="m"} 0.5']
    assert lines(families, "overbrainer_item_retries") == []


def test_a_stage_is_counted_event_by_event(families: MetricFamilies) -> None:
    stage = Stage.ANSWERS
    with bus_of(families) as bus:
        bus.publish(StageStarted(stage=stage, total=5))
        bus.publish(ItemDone(stage=stage, id="early", usage=USAGE))
        bus.publish(StageModel(stage=stage, model="m"))
        bus.publish(ItemDone(stage=stage, id="skipped"))
        bus.publish(ItemFailed(stage=stage, id="a", error="no", retryable=True))
        bus.publish(ItemDone(stage=stage, id="a", usage=USAGE, cost=0.25))
        bus.publish(ItemDone(stage=stage, id="b", usage=USAGE, cost=0.25, excluded=True))
        bus.publish(ItemFailed(stage=stage, id="c", error="no", retryable=False))
        assert 'overbrainer_stage_running{stage="answers"} 1' in lines(families)
        bus.publish(StageFinished(stage=stage, stats=StageStats(done=9, excluded=9)))
        assert 'overbrainer_stage_running{stage="answers"} 0' in lines(families)
    assert lines(families, "overbrainer_stage_items") == [
        'overbrainer_stage_items_total{stage="answers",result="done"} 2',
        'overbrainer_stage_items_total{stage="answers",result="skipped"} 1',
        'overbrainer_stage_items_total{stage="answers",result="excluded"} 1',
        'overbrainer_stage_items_total{stage="answers",result="failed"} 1',
    ]
    assert 'overbrainer_tokens_total{stage="answers",model="unknown",direction="out"} 20' in lines(families)
    assert 'overbrainer_tokens_total{stage="answers",model="m",direction="out"} 40' in lines(families)
    assert lines(families, "overbrainer_cost") == ['overbrainer_cost_usd_total{stage="answers",model="m"} 0.5']
    assert lines(families, "overbrainer_item_retries") == ['overbrainer_item_retries_total{stage="answers"} 1']


def test_a_split_counts_what_it_excluded_at_its_end(families: MetricFamilies) -> None:
    with bus_of(families) as bus:
        bus.publish(StageStarted(stage=Stage.SPLIT, total=3))
        bus.publish(StageFinished(stage=Stage.SPLIT, stats=StageStats(excluded=3)))
    assert lines(families, "overbrainer_stage_items") == [
        'overbrainer_stage_items_total{stage="split",result="excluded"} 3'
    ]


def test_a_stage_that_was_cut_stops_with_its_bus_and_with_no_other(families: MetricFamilies) -> None:
    first, second = bus_of(families), bus_of(families)
    for bus in (first, second):
        bus.publish(StageStarted(stage=Stage.ANSWERS, total=3))
    assert 'overbrainer_stage_running{stage="answers"} 2' in lines(families)
    first.close()
    assert 'overbrainer_stage_running{stage="answers"} 1' in lines(families)
    second.publish(StageFinished(stage=Stage.ANSWERS, stats=StageStats()))
    second.close()
    assert 'overbrainer_stage_running{stage="answers"} 0' in lines(families)


def test_values_of_a_run_stay_and_its_phase_goes_with_the_bus(families: MetricFamilies) -> None:
    metric = TrainMetric(time=1, step=7, max_steps=400, loss=0.5, learning_rate=0.00002)
    with bus_of(families) as bus:
        bus.publish(Metric(run_id="r", metric=metric))
        assert lines(families, "overbrainer_train") == []
        bus.publish(RunWatched(run_id="r"))
        bus.publish(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.BEGIN, time=0, max_steps=400)))
        bus.publish(Metric(run_id="r", metric=metric))
        bus.publish(Metric(run_id="r", metric=TrainMetric(time=2, step=8, eval_loss=0.75)))
        assert phases(families) == {"training"}
        bus.publish(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.STAGE, time=3, name="merge")))
        assert phases(families) == {"merging"}
        bus.publish(JobStatus(run_id="r", state=JobState(phase=JobPhase.EXITED, exit_code=0)))
        assert phases(families) == {"retrieving"}
        assert len(lines(families, "overbrainer_train_phase")) == 6
    assert lines(families, "overbrainer_train") == [
        'overbrainer_train_step{run_id="r"} 8',
        'overbrainer_train_max_steps{run_id="r"} 400',
        'overbrainer_train_loss{run_id="r"} 0.5',
    ]
    assert lines(families, "overbrainer_eval_loss") == ['overbrainer_eval_loss{run_id="r"} 0.75']
    assert lines(families, "overbrainer_learning_rate") == ['overbrainer_learning_rate{run_id="r"} 0.00002']


def phases(families: MetricFamilies) -> set[str]:
    """The phases that are on."""
    found = lines(families, "overbrainer_train_phase")
    return {line.split('phase="')[1].split('"')[0] for line in found if line.endswith(" 1")}


def test_a_compare_has_no_phase_of_a_training(families: MetricFamilies) -> None:
    with bus_of(families) as bus:
        bus.publish(RunWatched(run_id="r", job="c"))
        bus.publish(Mark(run_id="r", mark=PhaseMark(kind=MarkKind.STAGE, time=3, name="compare")))
        assert lines(families, "overbrainer_train_phase") == []


def sample(disks: tuple[Disk, ...] = (), gpus: tuple[Gpu, ...] = ()) -> MachineSample:
    return MachineSample(
        at=datetime(2026, 11, 2, 8, 15, tzinfo=UTC),
        disks=disks,
        memory=Memory(used_bytes=3, limit_bytes=4),
        cpu=Cpu(usage=0.25, load1=1.5, cpus=8.0, is_container=False),
        gpus=gpus,
    )


def disk(mount: str) -> Disk:
    return Disk(mount=mount, fs_type=None, is_shared=False, size_bytes=9, used_bytes=4, available_bytes=5)


def machine(families: MetricFamilies) -> Iterator[str]:
    for line in lines(families):
        if line.startswith(("overbrainer_target_", "overbrainer_gpu_")):
            yield line.removeprefix("overbrainer_")


def test_a_machine_is_shown_as_it_is_now_and_goes_with_the_bus(families: MetricFamilies) -> None:
    gpu = Gpu(index=0, name="A100", utilization=0.5, memory_used_bytes=7, power_w=310.5)
    with bus_of(families) as bus:
        bus.publish(RunWatched(run_id="r"))
        bus.publish(System(run_id="r", sample=sample((disk("/"), disk("/data")), (gpu,))))
        bus.publish(System(run_id="r", sample=sample((disk("/"),), (gpu,))))
        assert list(machine(families)) == [
            'target_disk_used_bytes{run_id="r",mount="/"} 4',
            'target_disk_size_bytes{run_id="r",mount="/"} 9',
            'target_cpu_usage_ratio{run_id="r"} 0.25',
            'target_cpu_load1{run_id="r"} 1.5',
            'target_cpus{run_id="r"} 8',
            'target_memory_used_bytes{run_id="r"} 3',
            'target_memory_limit_bytes{run_id="r"} 4',
            'target_sample_timestamp_seconds{run_id="r"} 1793607300',
            'gpu_utilization_ratio{run_id="r",gpu="0"} 0.5',
            'gpu_memory_used_bytes{run_id="r",gpu="0"} 7',
            'gpu_power_watts{run_id="r",gpu="0"} 310.5',
            'gpu_info{run_id="r",gpu="0",name="A100"} 1',
        ]
    assert list(machine(families)) == []
