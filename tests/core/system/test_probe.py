"""Answers of target machines, ordinary and odd, as samples."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from overbrainer_core.system.probe import (
    ProbeState,
    is_shared,
    machine_script,
    parse_disk,
    parse_gpus,
    parse_probe,
    split_parts,
)
from overbrainer_core.values.sample import Cpu, Disk, Gpu, MachineSample, Memory

AT = datetime(2026, 11, 2, 8, 15, tzinfo=UTC)
MIB = 1 << 20
HEADER = "Filesystem     Type 1024-blocks     Used Available Capacity Mounted on\n"
PLAIN_HEADER = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n"

WHOLE = """Welcome to node 7!

@gpu
0, NVIDIA A100-SXM4-80GB, 97, 40536, 81920, 61, 312.45, 400.00

@loadavg
3.50 2.10 1.00 2/345 6789

@uptime
1000.00 3500.00

@stat
cpu  1000 0 500 8000 500 0 0 0 0 0

@meminfo
MemTotal:       65536 kB
MemAvailable:   40960 kB

@memory.max

@nproc
4

@df.run
Filesystem     Type 1024-blocks     Used Available Capacity Mounted on
/dev/nvme1n1   xfs    104857600 52428800  52428800      50% /data

@df.root
Filesystem     Type 1024-blocks     Used Available Capacity Mounted on
overlay        overlay  10000      1000      9000      10% /
"""


def test_a_whole_answer_is_a_whole_sample() -> None:
    sample, state = parse_probe(WHOLE.encode(), None, at=AT)
    assert sample == MachineSample(
        at=AT,
        disks=(
            Disk(
                mount="/data",
                fs_type="xfs",
                is_shared=False,
                size_bytes=104857600 * 1024,
                used_bytes=52428800 * 1024,
                available_bytes=52428800 * 1024,
            ),
            Disk(
                mount="/",
                fs_type="overlay",
                is_shared=False,
                size_bytes=10000 * 1024,
                used_bytes=1000 * 1024,
                available_bytes=9000 * 1024,
            ),
        ),
        memory=Memory(used_bytes=24576 * 1024, limit_bytes=65536 * 1024),
        cpu=Cpu(usage=None, load1=3.5, cpus=4, is_container=False),
        gpus=(
            Gpu(
                index=0,
                name="NVIDIA A100-SXM4-80GB",
                utilization=0.97,
                memory_used_bytes=40536 * MIB,
                memory_total_bytes=81920 * MIB,
                temperature_c=61,
                power_w=312.45,
                power_limit_w=400,
            ),
        ),
    )
    later = WHOLE.replace("cpu  1000 0 500 8000 500", "cpu  1100 0 550 8030 520")
    second, _ = parse_probe(later.encode(), state, at=AT)
    assert second.cpu == Cpu(usage=0.75, load1=3.5, cpus=4, is_container=False)


def test_an_answer_of_nothing_is_a_sample_of_nothing() -> None:
    for output in (b"", b"garbage\n", b"\xff\xfe\n", b"@gpu"):
        sample, state = parse_probe(output, None, at=AT)
        assert sample == MachineSample(at=AT)
        assert state == ProbeState()


def test_a_changed_quota_gives_no_usage_and_the_next_look_does() -> None:
    def answer(quota: str, spent: int, uptime: int) -> bytes:
        return f"@uptime\n{uptime} 1\n@cpu.max\n{quota} 100000\n@cpu.stat\nusage_usec {spent}\n".encode()

    _, state = parse_probe(answer("200000", 1_000_000, 10), None, at=AT)
    changed, state = parse_probe(answer("400000", 2_000_000, 20), state, at=AT)
    assert changed.cpu == Cpu(usage=None, load1=None, cpus=4, is_container=True)
    again, _ = parse_probe(answer("400000", 12_000_000, 30), state, at=AT)
    assert again.cpu is not None
    assert again.cpu.usage == pytest.approx(0.25)


def test_a_machine_without_proc_gives_what_is_known() -> None:
    output = "@loadavg\n 1.25 1.50 1.75 \n@nproc\n10\n@df.run\n" + PLAIN_HEADER
    output += "/dev/disk3s5   482797652 200000000 201527612    50%    /System/Volumes/Data\n"
    sample, _ = parse_probe(output.encode(), None, at=AT)
    assert sample.cpu == Cpu(usage=None, load1=1.25, cpus=10, is_container=False)
    assert [(disk.mount, disk.fs_type) for disk in sample.disks] == [("/System/Volumes/Data", None)]
    assert sample.memory is None


def test_a_part_may_follow_an_unfinished_line_and_an_unfinished_answer_loses_its_last_line() -> None:
    parts = split_parts(b"noise\n@gpu\n0, NVIDIA A1\n@nproc\n8\n@loadavg\n0.5 0.")
    assert parts == {"gpu": "0, NVIDIA A1", "nproc": "8", "loadavg": ""}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "0, NVIDIA A100-SXM4-80GB, [N/A], [Insufficient Permissions], [Insufficient Permissions], 47,"
            " [Unknown Error], [Not Supported]",
            Gpu(index=0, name="NVIDIA A100-SXM4-80GB", temperature_c=47),
        ),
        (
            "1, GeForce GT 1030, N/A, 21, 2048, 52, ERR!, 30.00",
            Gpu(
                index=1,
                name="GeForce GT 1030",
                memory_used_bytes=21 * MIB,
                memory_total_bytes=2048 * MIB,
                temperature_c=52,
                power_limit_w=30,
            ),
        ),
        (
            "0, NVIDIA H100 PCIe, [N/A], 38012, 81559, 41, 87.20, 350.00",
            Gpu(
                index=0,
                name="NVIDIA H100 PCIe",
                memory_used_bytes=38012 * MIB,
                memory_total_bytes=81559 * MIB,
                temperature_c=41,
                power_w=87.2,
                power_limit_w=350,
            ),
        ),
        (
            "3, NVIDIA H100L-2-24C, 0, 0, 24576, -5, 0, 0",
            Gpu(
                index=3,
                name="NVIDIA H100L-2-24C",
                utilization=0,
                memory_used_bytes=0,
                memory_total_bytes=24576 * MIB,
                temperature_c=-5,
                power_w=0,
                power_limit_w=0,
            ),
        ),
        ("2, ACME, X1, 150, -1, nan, inf, 1_0, 0x10", Gpu(index=2, name="ACME,X1", utilization=1)),
        ("4, E\x1b[31mvil\u202e, , , , , , ", Gpu(index=4, name="E[31mvil")),
    ],
)
def test_a_gpu_keeps_its_numbers_and_knows_what_it_does_not_know(line: str, expected: Gpu) -> None:
    assert parse_gpus(line) == (expected,)


def test_a_gpu_that_fell_off_the_bus_is_a_sentence_and_the_others_keep_their_indexes() -> None:
    rows = "\n".join(f"{index}, NVIDIA A40, 1, 2, 3, 4, 5, 6" for index in (0, 1, 2, 4, 5, 6, 7))
    text = "Unable to determine the device handle for GPU0000:5E:00.0: Unknown Error\n" + rows
    assert [gpu.index for gpu in parse_gpus(text)] == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "sentence",
    [
        "GPU 0000:5E:00.0 is lost.  Reboot the system to recover this GPU",
        "No devices were found",
        "NVIDIA-SMI has failed, because, it, couldn't, communicate, with, the, driver, today",
        "12 errors, one, two, three, four, five, six, seven",
        "-1, NVIDIA A40, 1, 2, 3, 4, 5, 6",
        "٣, NVIDIA A40, 1, 2, 3, 4, 5, 6",
        "0, NVIDIA A40, 1, 2, 3",
        "0, , 1, 2, 3, 4, 5, 6",
        ",,,,,,,",
    ],
)
def test_a_sentence_is_no_gpu(sentence: str) -> None:
    assert parse_gpus(sentence) == ()


def test_a_lost_gpu_leaves_the_rest_of_the_sample() -> None:
    damaged = WHOLE.replace("0, NVIDIA A100-SXM4-80GB, 97, 40536, 81920, 61, 312.45, 400.00", "GPU is lost.")
    sample, _ = parse_probe(damaged.encode(), None, at=AT)
    assert sample.gpus == ()
    assert len(sample.disks) == 2
    assert sample.memory is not None


def disk(mount: str, fs_type: str | None, numbers: tuple[int, int, int], *, shared: bool = False) -> Disk:
    """A disk of these KiB."""
    size, used, available = (number * 1024 for number in numbers)
    return Disk(
        mount=mount, fs_type=fs_type, is_shared=shared, size_bytes=size, used_bytes=used, available_bytes=available
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADER + "/dev/sda1 ext4 100 40 55 43% /mnt/my  big disk", disk("/mnt/my  big disk", "ext4", (100, 40, 55))),
        (HEADER + "my odd source ext4 100 40 55 43% /m", disk("/m", "ext4", (100, 40, 55))),
        (PLAIN_HEADER + "my odd source 100 40 55 43% /m", disk("/m", None, (100, 40, 55))),
        (
            PLAIN_HEADER + "/dev/mapper/vg_gpu-lv_data\n                      51475068  41230112   7606652  85% /data",
            disk("/data", None, (51475068, 41230112, 7606652)),
        ),
        (
            HEADER + "/dev/mapper/a-very-long-name\n               xfs     51475068  41230112   7606652  85% /data",
            disk("/data", "xfs", (51475068, 41230112, 7606652)),
        ),
        (
            "Filesystem           Type       1024-blocks    Used Available Capacity Mounted on\n"
            "/dev/vda             ext4       264212084  27663676  78727236  26% /",
            disk("/", "ext4", (264212084, 27663676, 78727236)),
        ),
        (HEADER + "123 ext4 100 40 55 43% /m", disk("/m", "ext4", (100, 40, 55))),
        (HEADER + "/dev/sda1 - 100 40 -5 100% /m", disk("/m", None, (100, 40, 0))),
        (HEADER + "proc proc 0 0 0 - /proc", disk("/proc", "proc", (0, 0, 0))),
        (HEADER + "nas:/vol nfs4 100 40 55 43% /m", disk("/m", "nfs4", (100, 40, 55), shared=True)),
        (HEADER + "/dev/sda1 ext4 100 40 55 43% /m 1 2 3 4% /n", disk("/m 1 2 3 4% /n", "ext4", (100, 40, 55))),
        (HEADER, None),
        ("", None),
        (HEADER + "/dev/sda1 ext4 100 40 55", None),
        (HEADER + "/dev/sda1 ext4 100 40 55 43%", None),
        (HEADER + "/dev/sda1 ext4 - - - - /m", None),
        (HEADER + "100 40 55 43% /m", None),
        ("df: /gone: No such file or directory", None),
        ("/dev/sda1 ext4 100 40 55 43% /m", None),
    ],
)
def test_a_file_system_is_read_around_its_numbers(text: str, expected: Disk | None) -> None:
    assert parse_disk(text) == expected


def test_the_root_file_system_is_told_once() -> None:
    same = "@df.run\n" + HEADER + "/dev/vda ext4 9 4 5 43% /\n@df.root\n" + HEADER + "/dev/vda ext4 9 4 5 43% /\n"
    assert len(parse_probe(same.encode(), None, at=AT)[0].disks) == 1
    hung = "@df.run\n@df.root\n" + HEADER + "/dev/vda ext4 9 4 5 43% /\n"
    assert [found.mount for found in parse_probe(hung.encode(), None, at=AT)[0].disks] == ["/"]


@pytest.mark.parametrize(
    ("source", "fs_type", "shared"),
    [
        ("/dev/sda1", "ext4", False),
        ("overlay", "overlay", False),
        ("/dev/sda1", None, False),
        ("x", "nfs", True),
        ("x", "nfs4", True),
        ("x", "cifs", True),
        ("x", "smb3", True),
        ("x", "smbfs", True),
        ("x", "ceph", True),
        ("x", "glusterfs", True),
        ("x", "lustre", True),
        ("x", "9p", True),
        ("x", "fuse.sshfs", True),
        ("x", "fuse.juicefs", True),
        ("x", "fuse.fuse-overlayfs", False),
        ("x", "fuse.lxcfs", False),
        ("x", "fuse.gvfsd-fuse", False),
        ("x", "fuseblk", False),
        ("server:/export", None, True),
        ("mfs#cluster", None, True),
        ("mfs#cluster:9421", "fuse", True),
    ],
)
def test_network_volumes_are_known(source: str, fs_type: str | None, shared: bool) -> None:
    assert is_shared(source, fs_type) is shared


def test_the_script_gets_the_directory_quoted() -> None:
    assert machine_script("/runs/it's").startswith("set -- '/runs/it'\\''s'\n")
