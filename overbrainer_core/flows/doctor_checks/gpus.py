"""Will the training find the GPUs that its target asks for, and a driver that is new enough?"""

from __future__ import annotations

import re
from collections import Counter

from overbrainer_core.flows.doctor_checks.base import Check, failure, gigabytes, ok, skipped, warning
from overbrainer_core.flows.doctor_checks.looks import MachineLook
from overbrainer_core.values.sample import Gpu

Cuda = tuple[int, int]

_CUDA_TAG = re.compile(r"(?<![a-z0-9])cu(\d{2})(\d)(?!\d)", re.ASCII)


def check_gpus(machine: MachineLook, *, gpus: str, in_container: bool, needed_cuda: Cuda | None) -> Check:
    """The finding about GPUs and driver.

    Args:
        gpus: what the target asks for: `all`, `none` or indexes such as `0,1`; `all` where programs run natively.
        needed_cuda: the CUDA version that the trainer was built for, None when it is not known.
    """
    name = "gpu"
    if gpus == "none":
        return skipped(name, 'left out: the target\'s gpus is "none"')
    if not machine.gpus:
        if in_container:
            return failure(
                name, "no NVIDIA GPU is seen", 'look at `nvidia-smi` there, or set the target\'s gpus to "none"'
            )
        return warning(name, "no NVIDIA GPU is seen: a training on the CPU takes days", "look at `nvidia-smi` there")
    seen = {gpu.index for gpu in machine.gpus}
    absent = [part.strip() for part in gpus.split(",") if gpus != "all" and part.strip() not in map(str, seen)]
    if absent:
        there = ", ".join(map(str, sorted(seen)))
        return failure(name, f"the target asks for GPU {', '.join(absent)}, but {there} is there", "correct its gpus")
    text = f"{_names(machine.gpus)}{_driver(machine)}"
    if needed_cuda is not None and machine.cuda is not None and machine.cuda[0] < needed_cuda[0]:
        text = f"{text}, but the trainer is built for CUDA {needed_cuda[0]}.{needed_cuda[1]}"
        return warning(name, text, "update the NVIDIA driver, or use a trainer built for an older CUDA")
    return ok(name, text)


def _driver(machine: MachineLook) -> str:
    driver = f", driver {machine.driver}" if machine.driver else ""
    return driver + (f" (CUDA {machine.cuda[0]}.{machine.cuda[1]})" if machine.cuda else "")


def _names(gpus: tuple[Gpu, ...]) -> str:
    """`2 x NVIDIA H200, 151 GB`, kinds joined by `and`."""
    kinds = Counter((gpu.name, gpu.memory_total_bytes) for gpu in gpus)
    texts = []
    for (name, memory), count in kinds.items():
        size = f", {gigabytes(memory)}" if memory is not None else ""
        texts.append(f"{f'{count} x ' if count > 1 else ''}{name}{size}")
    return " and ".join(texts)


def cuda_of(text: str) -> Cuda | None:
    """The CUDA version that an image or a version of torch names, such as `cu130` for 13.0; None without one."""
    match = _CUDA_TAG.search(text)
    return (int(match[1]), int(match[2])) if match else None
