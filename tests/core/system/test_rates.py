"""Memory, CPUs and CPU use out of one or two looks."""

from __future__ import annotations

import pytest

from overbrainer_core.system.rates import CpuCounters, cpu_usage, read_cpu, read_memory
from overbrainer_core.values.sample import Memory

GIB = 1 << 30
MACHINE = f"MemTotal: {64 * GIB // 1024} kB\nMemAvailable: {40 * GIB // 1024} kB"
PLAIN = Memory(used_bytes=24 * GIB, limit_bytes=64 * GIB)


def counters(busy: float, total: float, *, source: str = "host", cpus: float | None = 4) -> CpuCounters:
    """Counters of a look."""
    return CpuCounters(source=source, cpus=cpus, busy=busy, total=total)


@pytest.mark.parametrize(
    ("previous", "current", "usage"),
    [
        (None, counters(10, 100), None),
        (counters(10, 100), None, None),
        (counters(10, 100), counters(35, 200), 0.25),
        (counters(10, 100), counters(10, 200), 0.0),
        (counters(10, 100), counters(300, 200), 1.0),
        (counters(10, 100), counters(9, 200), None),
        (counters(10, 100), counters(20, 100), None),
        (counters(10, 100), counters(20, 90), None),
        (counters(10, 100), counters(20, 200, source="cgroup v2"), None),
        (counters(10, 100), counters(20, 200, cpus=8), None),
        (counters(10, 100, cpus=None), counters(20, 200, cpus=None), 0.1),
    ],
)
def test_usage_is_told_only_when_it_is_right(
    previous: CpuCounters | None, current: CpuCounters | None, usage: float | None
) -> None:
    assert cpu_usage(previous, current) == usage


def test_a_host_counts_eight_fields_and_waiting_is_not_busy() -> None:
    look = read_cpu({"stat": "cpu  100 10 50 800 40 0 5 5 77 9", "nproc": "8", "uptime": "1000.5 3000"})
    assert (look.cpus, look.is_container) == (8, False)
    assert look.counters == counters(170, 1010, cpus=8)


@pytest.mark.parametrize(
    "line", ["", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 nan"]
)
def test_a_damaged_line_of_counters_is_no_counter(line: str) -> None:
    assert read_cpu({"stat": line, "nproc": "2"}).counters is None


def test_cgroup_v2_counts_microseconds_of_its_quota() -> None:
    parts = {"cpu.max": "250000 100000", "cpu.stat": "usage_usec 5000000", "uptime": "100.0 1", "nproc": "64"}
    look = read_cpu({**parts, "stat": "cpu 1 2 3 4 5 6 7 8"})
    assert (look.cpus, look.is_container) == (2.5, True)
    assert look.counters == counters(5.0, 250.0, source="cgroup v2", cpus=2.5)


def test_cgroup_v2_without_a_quota_is_still_a_container_with_the_machines_cpus() -> None:
    look = read_cpu({"cpu.max": "max 100000", "cpu.stat": "usage_usec 10", "uptime": "10 1", "nproc": "6"})
    assert (look.cpus, look.is_container) == (6, True)
    assert look.counters == counters(1e-5, 60.0, source="cgroup v2", cpus=6)


def test_cgroup_v1_counts_nanoseconds_of_a_positive_quota() -> None:
    parts = {
        "cpu.cfs_quota_us": "400000",
        "cpu.cfs_period_us": "100000",
        "cpuacct.usage": "8000000000",
        "uptime": "50 1",
    }
    look = read_cpu(parts)
    assert (look.cpus, look.is_container) == (4, True)
    assert look.counters == counters(8.0, 200.0, source="cgroup v1", cpus=4)


def test_a_quota_of_minus_one_is_a_plain_host() -> None:
    parts = {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000", "cpuacct.usage": "8", "nproc": "2"}
    look = read_cpu({**parts, "stat": "cpu 1 1 1 1 1 1 1 1"})
    assert (look.cpus, look.is_container) == (2, False)
    assert look.counters == counters(6, 8, cpus=2)


@pytest.mark.parametrize("quota", ["0 100000", "100000 0", "x y", "1e400 1", "-5 100000"])
def test_a_quota_of_nothing_is_no_value(quota: str) -> None:
    look = read_cpu({"cpu.max": quota, "cpu.stat": "usage_usec 10", "uptime": "10 1", "nproc": "6"})
    assert (look.cpus, look.is_container, look.counters) == (None, True, None)


def test_no_source_at_all_is_nothing_known() -> None:
    look = read_cpu({})
    assert (look.cpus, look.is_container, look.counters) == (None, False, None)
    assert read_cpu({"nproc": "0"}).cpus is None


@pytest.mark.parametrize(
    ("parts", "memory"),
    [
        ({}, PLAIN),
        ({"memory.max": "max", "memory.current": "123"}, PLAIN),
        ({"memory.limit_in_bytes": "9223372036854771712", "memory.usage_in_bytes": "123"}, PLAIN),
        ({"memory.max": str(1 << 62), "memory.current": "123"}, PLAIN),
        ({"memory.max": "0", "memory.current": "123"}, PLAIN),
        ({"memory.max": str(8 * GIB)}, PLAIN),
        (
            {
                "memory.max": str(8 * GIB),
                "memory.current": str(5 * GIB),
                "memory.stat": f"inactive_file {2 * GIB}",
            },
            Memory(used_bytes=3 * GIB, limit_bytes=8 * GIB),
        ),
        (
            {"memory.max": str(1000 * GIB), "memory.current": str(5 * GIB)},
            Memory(used_bytes=5 * GIB, limit_bytes=64 * GIB),
        ),
        (
            {"memory.max": str(8 * GIB), "memory.current": str(9 * GIB), "memory.stat": "inactive_file 0"},
            Memory(used_bytes=9 * GIB, limit_bytes=8 * GIB),
        ),
        (
            {"memory.max": str(8 * GIB), "memory.current": "5", "memory.stat": "inactive_file 99"},
            Memory(used_bytes=0, limit_bytes=8 * GIB),
        ),
        (
            {
                "memory.limit_in_bytes": str(16 * GIB),
                "memory.usage_in_bytes": str(4 * GIB),
                "memory.stat.v1": f"total_inactive_file {GIB}",
            },
            Memory(used_bytes=3 * GIB, limit_bytes=16 * GIB),
        ),
        (
            {
                "memory.max": "max",
                "memory.current": "7",
                "memory.limit_in_bytes": str(16 * GIB),
                "memory.usage_in_bytes": str(4 * GIB),
            },
            Memory(used_bytes=4 * GIB, limit_bytes=16 * GIB),
        ),
        (
            {
                "memory.max": str(8 * GIB),
                "memory.current": str(GIB),
                "memory.limit_in_bytes": str(16 * GIB),
                "memory.usage_in_bytes": str(4 * GIB),
            },
            Memory(used_bytes=GIB, limit_bytes=8 * GIB),
        ),
    ],
)
def test_a_container_limit_wins_where_it_is_one(parts: dict[str, str], memory: Memory) -> None:
    assert read_memory({"meminfo": MACHINE, **parts}) == memory


def test_memory_without_the_machines_figures() -> None:
    assert read_memory({}) is None
    assert read_memory({"meminfo": "MemTotal: 5 kB"}) is None
    assert read_memory({"meminfo": "MemTotal: 10 kB\nMemAvailable: 99 kB"}) == Memory(used_bytes=0, limit_bytes=10240)
    found = read_memory({"memory.max": "100", "memory.current": "40"})
    assert found == Memory(used_bytes=40, limit_bytes=100)
