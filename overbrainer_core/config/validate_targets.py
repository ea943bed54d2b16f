"""Can a target be used as it is set, its kind, runtime, paths, image and pod limits taken together?

Paths and images reach remote shells: callers quote them, and characters that matter to a shell are refused here too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from overbrainer_core.config.hints import name_text
from overbrainer_core.errors import Problem

MAX_HOURS = 720
"""Longest life of a pod, hours (30 days)."""
_IMAGE = re.compile(r"[A-Za-z0-9._/:@-]*", re.ASCII)
_PATH = re.compile(r"[A-Za-z0-9._/~-]*", re.ASCII)
_GPUS = re.compile(r"all|none|\d+(,\d+)*", re.ASCII)
_DATA_CENTER = re.compile(r"[A-Z0-9-]+", re.ASCII)
_VOLUME = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_POD_MINIMUMS = {"gpu_count": 1, "container_disk_gb": 20, "boot_grace_minutes": 5, "retrieve_grace_minutes": 1}


def check_target(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of one target, from the keys that it was given."""
    if given["kind"] == "runpod":
        yield from _runpod(path, given)
        return
    yield from _runtime(path, given)
    if "workdir" in given:
        yield from check_path(f"{path}.workdir", given["workdir"])


def _runtime(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    is_native = given["runtime"] == "native"
    if "venv" in given and not is_native:
        yield Problem(f"{path}.venv", 'only with runtime = "native"')
    if is_native and ("engine" in given or "image" in given):
        yield Problem(path, 'engine and image only apply with runtime = "docker"')
    if "image" in given:
        yield from check_image(f"{path}.image", given["image"])
    if "gpus" in given:
        if is_native:
            yield Problem(f"{path}.gpus", 'only with runtime = "docker"')
        elif not _GPUS.fullmatch(given["gpus"]):
            yield Problem(f"{path}.gpus", "must be all, none or device indexes such as 0,1")
    if "venv" in given:
        yield from check_path(f"{path}.venv", given["venv"])


def check_image(key: str, image: str) -> Iterator[Problem]:
    """An image reference."""
    if not image.strip():
        yield Problem(key, "must not be empty")
        return
    if not _IMAGE.fullmatch(image):
        yield Problem(key, "may hold only letters, digits and . _ / : @ -")
    if image.startswith("-"):
        yield Problem(key, "must not start with -")


def check_path(key: str, path: str) -> Iterator[Problem]:
    """A path on a target."""
    if not path.strip():
        yield Problem(key, "must not be empty")
        return
    if not _PATH.fullmatch(path):
        yield Problem(key, "may hold only letters, digits and . _ / ~ -")
        return
    if path.startswith("-"):
        yield Problem(key, "must not start with -")
    if ".." in path.split("/"):
        yield Problem(key, "must not contain ..")
    if "~" in path[1:] or (path.startswith("~") and path[1:2] not in ("", "/")):
        yield Problem(key, "~ may only be the first character, alone or before /")


def _runpod(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    if "image" in given:
        yield from check_image(f"{path}.image", given["image"])
    if "venv" in given:
        venv_problems = list(check_path(f"{path}.venv", given["venv"]))
        if not venv_problems and not given["venv"].startswith("/"):
            venv_problems.append(Problem(f"{path}.venv", "must be an absolute path"))
        yield from venv_problems
    yield from _limits(path, given)
    yield from _gpu_types(path, given)
    yield from _data_centers(path, given.get("data_center_ids", ()))
    yield from _volume(path, given)


def _limits(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    for key, minimum in _POD_MINIMUMS.items():
        if key in given and given[key] < minimum:
            yield Problem(f"{path}.{key}", f"must be at least {minimum}")
    if not 0 < given["max_hours"] <= MAX_HOURS:
        yield Problem(f"{path}.max_hours", f"must be greater than 0 and at most {MAX_HOURS}")
    if "max_cost_usd" in given and not _is_positive(given["max_cost_usd"]):
        yield Problem(f"{path}.max_cost_usd", "must be greater than 0")


def _is_positive(number: float) -> bool:
    return number > 0 and math.isfinite(number)


def _gpu_types(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    gpu_types = given["gpu_types"]
    is_auto = gpu_types == "auto"
    if not is_auto:
        yield from _gpu_list(f"{path}.gpu_types", gpu_types)
    for key, is_valid, reason in (
        ("min_vram_gb", lambda value: value >= 1, "must be at least 1"),
        ("max_price_per_hour", _is_positive, "must be greater than 0"),
    ):
        if key not in given:
            continue
        if not is_auto:
            yield Problem(f"{path}.{key}", 'only with gpu_types = "auto"')
        elif not is_valid(given[key]):
            yield Problem(f"{path}.{key}", reason)


def _holds_auto(items: Sequence[str]) -> bool:
    return any(item.lower() == "auto" for item in items)


def _gpu_list(key: str, items: Sequence[str]) -> Iterator[Problem]:
    if not items:
        yield Problem(key, "must list at least one GPU type")
        return
    if _holds_auto(items):
        yield Problem(key, 'write gpu_types = "auto", not a list holding it')
        return
    if any(not item.strip() for item in items):
        yield Problem(key, "an entry is empty")
    for item in items:
        if "," in item or _CONTROL.search(item):
            yield Problem(key, f"`{name_text(item)}` holds a comma or a control character")
    yield from _repeated(key, items)


def _repeated(key: str, items: Sequence[str]) -> Iterator[Problem]:
    for item in dict.fromkeys(item for item in items if item.strip() and items.count(item) > 1):
        yield Problem(key, f"`{name_text(item)}` is listed twice")


def _data_centers(path: str, items: str | Sequence[str]) -> Iterator[Problem]:
    key = f"{path}.data_center_ids"
    if isinstance(items, str):
        return
    if _holds_auto(items):
        yield Problem(key, 'write data_center_ids = "auto", not a list holding it')
        return
    for item in items:
        if not _DATA_CENTER.fullmatch(item):
            yield Problem(key, f"`{name_text(item)}` may hold only capital letters, digits and -")
    yield from _repeated(key, items)


def _volume(path: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    key = f"{path}.network_volume_id"
    size = given.get("max_volume_gb")
    if size is not None and size < 1:
        yield Problem(f"{path}.max_volume_gb", "must be at least 1")
    if "network_volume_id" not in given:
        if size is not None:
            yield Problem(f"{path}.max_volume_gb", "needs network_volume_id, the only disk that grows")
        return
    if not _VOLUME.fullmatch(given["network_volume_id"]):
        yield Problem(key, "must use only letters and digits")
    data_centers = given.get("data_center_ids", ())
    if data_centers == "auto":
        reason = 'cannot be "auto" with network_volume_id; list the volume\'s data center'
        yield Problem(f"{path}.data_center_ids", reason)
    elif len(data_centers) != 1:
        yield Problem(key, "needs exactly one entry in data_center_ids, the volume's data center")
