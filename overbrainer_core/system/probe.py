"""What does a look at a target machine say about its disks, memory, CPUs and GPUs?

One script is run on the target; its answer is parts, each after a line `@name`. What cannot be read is "not known":
nothing here fails, a damaged part only leaves its figures out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from overbrainer_core.assets import job_script
from overbrainer_core.shell import quote
from overbrainer_core.system.rates import CpuCounters, cpu_usage, read_cpu, read_memory
from overbrainer_core.text import drop_controls, parse_number
from overbrainer_core.values.sample import Cpu, Disk, Gpu, MachineSample

_MIB = 1 << 20
_KIB = 1 << 10

_PART = re.compile(r"@([a-z][a-z0-9_.]*)", re.ASCII)
_GPU_NUMBERS = 6
_INDEX = re.compile(r"\d{1,6}", re.ASCII)
_DF = re.compile(
    r"(?P<head>\S.*?)\s+(?P<size>\d+)\s+(?P<used>\d+)\s+(?P<available>-?\d+)\s+(\d+%|-)\s+(?P<mount>/.*)", re.ASCII
)

_SHARED_TYPES = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "9p"})
_LOCAL_FUSE_TYPES = frozenset({"fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.gvfsd-fuse"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeState:
    """What the next answer is compared with."""

    cpu: CpuCounters | None = None


def machine_script(directory: str) -> str:
    """The text for `sh` that looks at the machine; the run directory's file system is the first one shown."""
    return f"set -- {quote(directory)}\n" + job_script("probe/machine.sh")


def parse_probe(output: bytes, previous: ProbeState | None, *, at: datetime) -> tuple[MachineSample, ProbeState]:
    """The sample of an answer and the state for the next one.

    Args:
        previous: the state of the sample before, None for the first, whose CPU use is not known.
        at: this machine's time when the answer arrived.
    """
    parts = split_parts(output)
    look = read_cpu(parts)
    load1 = parse_number(next(iter(parts.get("loadavg", "").split()), ""))
    usage = cpu_usage(previous.cpu if previous else None, look.counters)
    cpu = None
    if look.is_container or not (look.cpus is None and load1 is None and look.counters is None):
        cpu = Cpu(usage=usage, load1=load1, cpus=look.cpus, is_container=look.is_container)
    sample = MachineSample(
        at=at, disks=_disks(parts), memory=read_memory(parts), cpu=cpu, gpus=parse_gpus(parts.get("gpu", ""))
    )
    return sample, ProbeState(cpu=look.counters)


def split_parts(output: bytes) -> dict[str, str]:
    """The answer's parts by name; what stands before the first and a line without its end are left out."""
    text = output.decode("utf-8", errors="replace")
    lines = text.split("\n")[:-1]
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        match = _PART.fullmatch(line.rstrip("\r"))
        if match:
            current = parts.setdefault(match[1], [])
        elif line.strip():
            current.append(line)
    return {name: "\n".join(found) for name, found in parts.items()}


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """GPUs of `nvidia-smi`'s CSV lines with their own indexes; a sentence is none, a word for a number is not known."""
    return tuple(gpu for line in text.split("\n") if (gpu := _gpu(line)) is not None)


def _gpu(line: str) -> Gpu | None:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) < _GPU_NUMBERS + 2 or not _INDEX.fullmatch(fields[0]):
        return None
    name = drop_controls(",".join(fields[1:-_GPU_NUMBERS])).strip()
    if not name:
        return None
    utilization, used, total, temperature, power, limit = (parse_number(field) for field in fields[-_GPU_NUMBERS:])
    return Gpu(
        index=int(fields[0]),
        name=name,
        utilization=None if utilization is None or utilization < 0 else min(utilization / 100, 1.0),
        memory_used_bytes=_mebibytes(used),
        memory_total_bytes=_mebibytes(total),
        temperature_c=temperature,
        power_w=power,
        power_limit_w=limit,
    )


def _mebibytes(number: float | None) -> int | None:
    return None if number is None or number < 0 else int(number * _MIB)


def _disks(parts: Mapping[str, str]) -> tuple[Disk, ...]:
    """The run directory's file system, then the root one when it is another."""
    run, root = (parse_disk(parts.get(name, "")) for name in ("df.run", "df.root"))
    if run is not None and root is not None and run.mount == root.mount:
        root = None
    return tuple(disk for disk in (run, root) if disk is not None)


def parse_disk(text: str) -> Disk | None:
    """The file system of a `df` answer about one path; None for an answer that is not whole.

    Read around its four number columns: names before and after them may hold blanks, and a long source name may stand
    on a line of its own.
    """
    header, _, rest = text.partition("\n")
    columns = header.split()
    if len(columns) < 2 or columns[0] != "Filesystem":
        return None
    match = _DF.fullmatch(" ".join(line.strip() for line in rest.split("\n")))
    if match is None:
        return None
    source, fs_type = match["head"], None
    if columns[1] == "Type":
        words = source.rsplit(None, 1)
        if len(words) != 2:
            return None
        source, fs_type = words[0], words[1] if words[1] != "-" else None
    return Disk(
        mount=match["mount"],
        fs_type=fs_type,
        is_shared=is_shared(source, fs_type),
        size_bytes=int(match["size"]) * _KIB,
        used_bytes=int(match["used"]) * _KIB,
        available_bytes=max(int(match["available"]), 0) * _KIB,
    )


def is_shared(source: str, fs_type: str | None) -> bool:
    """Whether a file system is a network volume, whose figures are the whole cluster's."""
    if ":" in source or source.startswith("mfs#"):
        return True
    if fs_type is None:
        return False
    return fs_type in _SHARED_TYPES or (fs_type.startswith("fuse.") and fs_type not in _LOCAL_FUSE_TYPES)
