"""Which metrics does a project expose, and how do events change them?

Counters go on from the history, so that they are cumulative for the project; then every event of every bus counts,
through an observer of its own for each bus: what a bus follows ends with it. Nothing of a dataset, no secret and no
address is ever a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from overbrainer_core.events.types import (
    Event,
    ItemDone,
    ItemFailed,
    JobStatus,
    Mark,
    RunWatched,
    StageFinished,
    StageModel,
    StageStarted,
    System,
)
from overbrainer_core.events.types import Metric as MetricEvent
from overbrainer_core.history import HistoryEntry
from overbrainer_core.values.metric import PhaseMark, TrainMetric
from overbrainer_core.values.sample import MachineSample
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Usage

PHASES = ("training", "evaluating", "finalizing", "merging", "exporting", "retrieving")
UNKNOWN_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class _Family:
    name: str
    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...]
    help: str


_RUN = ("run_id",)
_GPU = ("run_id", "gpu")
_FAMILIES = (
    _Family("overbrainer_stage_items", "counter", ("stage", "result"), "Items of a stage by result."),
    _Family("overbrainer_tokens", "counter", ("stage", "model", "direction"), "Tokens of a stage."),
    _Family("overbrainer_cost_usd", "counter", ("stage", "model"), "Cost of a stage in USD, where its price is known."),
    _Family("overbrainer_stage_running", "gauge", ("stage",), "Stages that run now."),
    _Family("overbrainer_item_retries", "counter", ("stage",), "Failures that were tried again by this process."),
    _Family("overbrainer_train_step", "gauge", _RUN, "Last step of a run."),
    _Family("overbrainer_train_max_steps", "gauge", _RUN, "Steps that a run will have."),
    _Family("overbrainer_train_phase", "gauge", ("run_id", "phase"), "What a followed run does now."),
    _Family("overbrainer_train_loss", "gauge", _RUN, "Last training loss of a run."),
    _Family("overbrainer_eval_loss", "gauge", _RUN, "Last evaluation loss of a run."),
    _Family("overbrainer_learning_rate", "gauge", _RUN, "Last learning rate of a run."),
    _Family("overbrainer_build_info", "gauge", ("version",), "The version of overbrainer."),
    _Family("overbrainer_target_disk_used_bytes", "gauge", ("run_id", "mount"), "Used bytes of a target's disk."),
    _Family("overbrainer_target_disk_size_bytes", "gauge", ("run_id", "mount"), "Size of a target's disk."),
    _Family("overbrainer_target_cpu_usage_ratio", "gauge", _RUN, "CPU use of a target, 0 to 1."),
    _Family("overbrainer_target_cpu_load1", "gauge", _RUN, "Load of a target over a minute."),
    _Family("overbrainer_target_cpus", "gauge", _RUN, "CPUs of a target."),
    _Family("overbrainer_target_memory_used_bytes", "gauge", _RUN, "Used memory of a target."),
    _Family("overbrainer_target_memory_limit_bytes", "gauge", _RUN, "Memory that a target may use."),
    _Family("overbrainer_target_sample_timestamp_seconds", "gauge", _RUN, "Unix time of a target's last sample."),
    _Family("overbrainer_gpu_utilization_ratio", "gauge", _GPU, "Use of a GPU, 0 to 1."),
    _Family("overbrainer_gpu_memory_used_bytes", "gauge", _GPU, "Used memory of a GPU."),
    _Family("overbrainer_gpu_memory_total_bytes", "gauge", _GPU, "Memory of a GPU."),
    _Family("overbrainer_gpu_temperature_celsius", "gauge", _GPU, "Temperature of a GPU."),
    _Family("overbrainer_gpu_power_watts", "gauge", _GPU, "Power that a GPU draws."),
    _Family("overbrainer_gpu_power_limit_watts", "gauge", _GPU, "Power that a GPU may draw."),
    _Family("overbrainer_gpu_info", "gauge", ("run_id", "gpu", "name"), "The name of a GPU."),
)
_OF_MACHINES = tuple(
    family.name for family in _FAMILIES if family.name.startswith(("overbrainer_target_", "overbrainer_gpu_"))
)
"""Families that are replaced at each sample of a machine."""


class PhaseNow(Protocol):
    """A phase of a job."""

    @property
    def short(self) -> str:
        """Its short name."""
        ...


class PhaseReader(Protocol):
    """Tells a job's phase from its lines."""

    def apply(self, line: TrainMetric | PhaseMark) -> None:
        """Add a line."""
        ...

    def phase(self, *, job_ended: bool = False) -> PhaseNow:
        """The phase now."""
        ...


class MetricFamilies:
    """The values of all families of one project, a collector as `prometheus_client` knows them."""

    def __init__(self, *, version: str, phase_reader: Callable[[], PhaseReader]) -> None:
        self._series: dict[str, dict[tuple[str, ...], float]] = {family.name: {} for family in _FAMILIES}
        self._phase_reader = phase_reader
        self.set("overbrainer_build_info", version, value=1)
        for stage in Stage:
            self.set("overbrainer_stage_running", stage, value=0)

    def set(self, family: str, *labels: str, value: float | None) -> None:
        """Give a series its value; an unknown one (None) leaves it as it is."""
        if value is not None:
            self._series[family][tuple(map(str, labels))] = value

    def add(self, family: str, *labels: str, value: float) -> None:
        """Raise a series; zero adds none."""
        if value:
            key = tuple(map(str, labels))
            series = self._series[family]
            series[key] = series.get(key, 0) + value

    def raise_running(self, stage: Stage, by: int) -> None:
        """So many more of a stage run now."""
        self._series["overbrainer_stage_running"][(str(stage),)] += by

    def forget_run(self, run_id: str, *families: str) -> None:
        """Remove a run's series of these families."""
        for family in families:
            series = self._series[family]
            for key in [key for key in series if key[0] == run_id]:
                del series[key]

    def seed(self, entries: Iterable[HistoryEntry]) -> None:
        """Count what the history tells."""
        for entry in entries:
            for result in ("done", "skipped", "failed", "excluded"):
                self.add("overbrainer_stage_items", entry.stage, result, value=getattr(entry, result))
            if entry.model is not None:
                usage = Usage(input_tokens=entry.input_tokens, output_tokens=entry.output_tokens)
                self.spend(entry.stage, entry.model, usage, entry.cost)

    def spend(self, stage: Stage, model: str, usage: Usage, cost_usd: float | None) -> None:
        """Count tokens and their cost; an unknown cost adds nothing."""
        self.add("overbrainer_tokens", stage, model, "in", value=usage.input_tokens)
        self.add("overbrainer_tokens", stage, model, "out", value=usage.output_tokens)
        self.add("overbrainer_cost_usd", stage, model, value=cost_usd or 0)

    def bus_observer(self) -> BusObserver:
        """The observer of one bus."""
        return BusObserver(self, self._phase_reader)

    def show_phase(self, run_id: str, phase: str) -> None:
        """What a run does now; what is no phase of a training shows none."""
        self.forget_run(run_id, "overbrainer_train_phase")
        if phase in PHASES:
            for name in PHASES:
                self.set("overbrainer_train_phase", run_id, name, value=int(name == phase))

    def show_metric(self, run_id: str, metric: TrainMetric) -> None:
        """The last values of a run."""
        self.set("overbrainer_train_step", run_id, value=metric.step)
        self.set("overbrainer_train_max_steps", run_id, value=metric.max_steps)
        self.set("overbrainer_train_loss", run_id, value=metric.loss)
        self.set("overbrainer_eval_loss", run_id, value=metric.eval_loss)
        self.set("overbrainer_learning_rate", run_id, value=metric.learning_rate)

    def show_sample(self, run_id: str, sample: MachineSample) -> None:
        """A machine as it is now, in the place of what it was."""
        self.forget_machine(run_id)
        self.set("overbrainer_target_sample_timestamp_seconds", run_id, value=int(sample.at.timestamp()))
        for disk in sample.disks:
            self.set("overbrainer_target_disk_used_bytes", run_id, disk.mount, value=disk.used_bytes)
            self.set("overbrainer_target_disk_size_bytes", run_id, disk.mount, value=disk.size_bytes)
        if sample.cpu is not None:
            self.set("overbrainer_target_cpu_usage_ratio", run_id, value=sample.cpu.usage)
            self.set("overbrainer_target_cpu_load1", run_id, value=sample.cpu.load1)
            self.set("overbrainer_target_cpus", run_id, value=sample.cpu.cpus)
        if sample.memory is not None:
            self.set("overbrainer_target_memory_used_bytes", run_id, value=sample.memory.used_bytes)
            self.set("overbrainer_target_memory_limit_bytes", run_id, value=sample.memory.limit_bytes)
        for gpu in sample.gpus:
            index = str(gpu.index)
            self.set("overbrainer_gpu_utilization_ratio", run_id, index, value=gpu.utilization)
            self.set("overbrainer_gpu_memory_used_bytes", run_id, index, value=gpu.memory_used_bytes)
            self.set("overbrainer_gpu_memory_total_bytes", run_id, index, value=gpu.memory_total_bytes)
            self.set("overbrainer_gpu_temperature_celsius", run_id, index, value=gpu.temperature_c)
            self.set("overbrainer_gpu_power_watts", run_id, index, value=gpu.power_w)
            self.set("overbrainer_gpu_power_limit_watts", run_id, index, value=gpu.power_limit_w)
            self.set("overbrainer_gpu_info", run_id, index, gpu.name, value=1)

    def forget_machine(self, run_id: str) -> None:
        """Nothing is known of a run's machine any more."""
        self.forget_run(run_id, *_OF_MACHINES)

    def collect(self) -> Iterator[Metric]:
        """Every family that has a series."""
        for family in _FAMILIES:
            series = self._series[family.name]
            if not series:
                continue
            kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
            metric = kind(family.name, family.help, labels=family.labels)
            for labels, value in series.items():
                metric.add_metric(labels, value)
            yield metric


class BusObserver:
    """Counts what one bus tells."""

    def __init__(self, families: MetricFamilies, phase_reader: Callable[[], PhaseReader]) -> None:
        self._families = families
        self._phase_reader = phase_reader
        self._models: dict[Stage, str] = {}
        self._running: list[Stage] = []
        self._run_id: str | None = None
        self._seen_runs: set[str] = set()
        self._phases = phase_reader()

    def on_event(self, event: Event) -> None:
        """Count an event."""
        match event:
            case StageStarted(stage=stage):
                self._running.append(stage)
                self._families.raise_running(stage, 1)
            case StageModel(stage=stage, model=model):
                self._models[stage] = model
            case ItemDone() | ItemFailed():
                self._count(event)
            case StageFinished(stage=stage, stats=stats):
                if stage is Stage.SPLIT:
                    self._families.add("overbrainer_stage_items", stage, "excluded", value=stats.excluded)
                self._stop(stage)
            case RunWatched(run_id=run_id):
                self._run_id = run_id
                self._seen_runs.add(run_id)
                self._phases = self._phase_reader()
                self._families.show_phase(run_id, self._phases.phase().short)
            case MetricEvent() | Mark() | JobStatus() | System():
                if self._run_id is not None:
                    self._follow(self._run_id, event)
            case _:
                pass

    def _count(self, event: ItemDone | ItemFailed) -> None:
        families, stage = self._families, event.stage
        if isinstance(event, ItemFailed):
            if event.retryable:
                families.add("overbrainer_item_retries", stage, value=1)
            else:
                families.add("overbrainer_stage_items", stage, "failed", value=1)
            return
        if event.usage is None:
            families.add("overbrainer_stage_items", stage, "skipped", value=1)
            return
        families.add("overbrainer_stage_items", stage, "excluded" if event.excluded else "done", value=1)
        families.spend(stage, self._models.get(stage, UNKNOWN_MODEL), event.usage, event.cost)

    def _follow(self, run_id: str, event: MetricEvent | Mark | JobStatus | System) -> None:
        families = self._families
        match event:
            case MetricEvent(metric=metric):
                families.show_metric(run_id, metric)
                self._phases.apply(metric)
                families.show_phase(run_id, self._phases.phase().short)
            case Mark(mark=mark):
                families.set("overbrainer_train_max_steps", run_id, value=mark.max_steps)
                self._phases.apply(mark)
                families.show_phase(run_id, self._phases.phase().short)
            case JobStatus(state=state):
                families.show_phase(run_id, self._phases.phase(job_ended=state.has_ended).short)
            case System(sample=sample):
                families.show_sample(run_id, sample)

    def _stop(self, stage: Stage) -> None:
        if stage in self._running:
            self._running.remove(stage)
            self._families.raise_running(stage, -1)

    def on_close(self) -> None:
        """What the bus followed is no longer known: stages that were cut, phases and machines."""
        for stage in list(self._running):
            self._stop(stage)
        for run_id in self._seen_runs:
            self._families.forget_run(run_id, "overbrainer_train_phase")
            self._families.forget_machine(run_id)
