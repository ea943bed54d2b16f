"""How much memory and CPU may a job use, how much is in use, and how much CPU time went by since the last look?

A container's own limits win over the machine's: cgroup v2 first, then v1, then `/proc`. A changed source or capacity,
a counter that went back or no time passed give no usage rather than a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from overbrainer_core.text import parse_number
from overbrainer_core.values.sample import Memory

NO_LIMIT_BYTES = 1 << 62
"""A cgroup limit from here on means "none": v1 writes about 2^63."""

_HOST_FIELDS = 8
_IDLE_FIELDS = (3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCounters:
    """CPU time so far: busy and possible seconds (clock ticks of a host), where from, and for how many CPUs."""

    source: str
    cpus: float | None
    busy: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLook:
    """What one look says about the CPUs; `counters` is None where usage cannot be told from it."""

    cpus: float | None
    is_container: bool
    counters: CpuCounters | None


def cpu_usage(previous: CpuCounters | None, current: CpuCounters | None) -> float | None:
    """The part of the CPUs in use between two looks, 0..1; None where it cannot be told."""
    if previous is None or current is None:
        return None
    if (previous.source, previous.cpus) != (current.source, current.cpus):
        return None
    busy, total = current.busy - previous.busy, current.total - previous.total
    if busy < 0 or total <= 0:
        return None
    return min(busy / total, 1.0)


def read_cpu(parts: Mapping[str, str]) -> CpuLook:
    """CPUs and counters out of the parts of a probe, a container's where the job runs in one with a CPU limit."""
    uptime = _first_number(parts.get("uptime", ""))
    online = _positive(_first_number(parts.get("nproc", "")))
    quota = parts.get("cpu.max", "").split()
    if len(quota) == 2:
        cpus = online if quota[0] == "max" else _ratio(quota[0], quota[1])
        spent = _keyed_number(parts.get("cpu.stat", ""), "usage_usec")
        busy = None if spent is None else spent / 1e6
        return _container_look("cgroup v2", cpus=cpus, busy=busy, uptime=uptime)
    v1_quota = _first_number(parts.get("cpu.cfs_quota_us", ""))
    if v1_quota is not None and v1_quota > 0:
        cpus = _ratio(parts["cpu.cfs_quota_us"].strip(), parts.get("cpu.cfs_period_us", "").strip())
        spent = _first_number(parts.get("cpuacct.usage", ""))
        busy = None if spent is None else spent / 1e9
        return _container_look("cgroup v1", cpus=cpus, busy=busy, uptime=uptime)
    return CpuLook(cpus=online, is_container=False, counters=_host_counters(parts.get("stat", ""), cpus=online))


def _container_look(source: str, *, cpus: float | None, busy: float | None, uptime: float | None) -> CpuLook:
    counters = None
    if cpus is not None and busy is not None and uptime is not None:
        counters = CpuCounters(source=source, cpus=cpus, busy=busy, total=uptime * cpus)
    return CpuLook(cpus=cpus, is_container=True, counters=counters)


def _host_counters(line: str, *, cpus: float | None) -> CpuCounters | None:
    """Counters of the first line of `/proc/stat`; guest time is in user and nice already, so eight fields count."""
    words = line.split()
    if len(words) <= _HOST_FIELDS or words[0] != "cpu":
        return None
    fields = [parse_number(word) for word in words[1 : _HOST_FIELDS + 1]]
    known = [field for field in fields if field is not None]
    if len(known) != _HOST_FIELDS:
        return None
    total = sum(known)
    idle = sum(known[index] for index in _IDLE_FIELDS)
    return CpuCounters(source="host", cpus=cpus, busy=total - idle, total=total)


def read_memory(parts: Mapping[str, str]) -> Memory | None:
    """Memory in use and its limit out of the parts of a probe; None when neither cgroup nor `/proc` tells it."""
    machine = _kib(parts.get("meminfo", ""), "MemTotal:")
    return (
        _cgroup_memory(
            machine,
            limit=parts.get("memory.max", ""),
            current=parts.get("memory.current", ""),
            inactive=_keyed_number(parts.get("memory.stat", ""), "inactive_file"),
        )
        or _cgroup_memory(
            machine,
            limit=parts.get("memory.limit_in_bytes", ""),
            current=parts.get("memory.usage_in_bytes", ""),
            inactive=_keyed_number(parts.get("memory.stat.v1", ""), "total_inactive_file"),
        )
        or _machine_memory(machine, _kib(parts.get("meminfo", ""), "MemAvailable:"))
    )


def _cgroup_memory(machine: int | None, *, limit: str, current: str, inactive: float | None) -> Memory | None:
    """A cgroup's memory, its reclaimable file cache not counted as used; None without a limit."""
    limit_bytes, used = _positive(_first_number(limit)), _first_number(current)
    if limit_bytes is None or limit_bytes >= NO_LIMIT_BYTES or used is None:
        return None
    capped = int(limit_bytes) if machine is None else min(int(limit_bytes), machine)
    return Memory(used_bytes=max(int(used - (inactive or 0)), 0), limit_bytes=capped)


def _machine_memory(total: int | None, available: int | None) -> Memory | None:
    if total is None or available is None:
        return None
    return Memory(used_bytes=max(total - available, 0), limit_bytes=total)


def _kib(text: str, key: str) -> int | None:
    """Bytes of a `/proc/meminfo` line, given in KiB."""
    number = _keyed_number(text, key)
    return None if number is None else int(number) * 1024


def _keyed_number(text: str, key: str) -> float | None:
    """The number after the first word `key` of a line."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == key:
            return parse_number(words[1])
    return None


def _first_number(text: str) -> float | None:
    """The first word when it is a number."""
    words = text.split()
    return parse_number(words[0]) if words else None


def _positive(number: float | None) -> float | None:
    return number if number is not None and number > 0 else None


def _ratio(quota: str, period: str) -> float | None:
    """CPUs of a quota and its period; None for what gives no finite number above 0."""
    above, below = parse_number(quota), parse_number(period)
    if above is None or below is None or below == 0:
        return None
    cpus = above / below
    return cpus if math.isfinite(cpus) and cpus > 0 else None
