"""What does one look at a target machine say? None is "not known", which is not zero."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Disk(Struct, frozen=True, kw_only=True):
    """A file system; `is_shared` on a network volume, whose figures are the whole cluster's."""

    mount: str
    fs_type: str | None
    is_shared: bool
    size_bytes: int
    used_bytes: int
    available_bytes: int

    @property
    def used_ratio(self) -> float:
        """used / (used + available), 0..1; 0 when both are 0."""
        usable = self.used_bytes + self.available_bytes
        return self.used_bytes / usable if usable else 0.0


class Memory(Struct, frozen=True, kw_only=True):
    """Memory in use and its limit, a container's where it has one."""

    used_bytes: int
    limit_bytes: int


class Cpu(Struct, frozen=True, kw_only=True):
    """CPU use 0..1 (None on a first sample), 1-minute load, CPUs, and whether the figures are a container's."""

    usage: float | None
    load1: float | None
    cpus: float | None
    is_container: bool


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU as `nvidia-smi` lists it; utilization 0..1, memory in bytes, degrees Celsius, watts."""

    index: int
    name: str
    utilization: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


class MachineSample(Struct, frozen=True, kw_only=True):
    """One sample; `at` is this machine's clock when the answer arrived, the run directory's disk is first."""

    at: datetime
    disks: tuple[Disk, ...] = ()
    memory: Memory | None = None
    cpu: Cpu | None = None
    gpus: tuple[Gpu, ...] = ()
