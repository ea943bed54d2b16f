"""GPUs asked for, seen and driven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from overbrainer_core.config.settings import DEFAULT_IMAGE
from overbrainer_core.flows.doctor_checks.base import Status
from overbrainer_core.flows.doctor_checks.gpus import check_gpus, cuda_of
from overbrainer_core.flows.doctor_checks.looks import MachineLook
from overbrainer_core.values.sample import Gpu

H200 = Gpu(index=0, name="NVIDIA H200", memory_total_bytes=143771 << 20)
MACHINE = MachineLook(
    system="Linux x86_64",
    directory="/",
    is_writable=True,
    missing=(),
    disk=None,
    gpus=(H200, Gpu(index=1, name="NVIDIA H200", memory_total_bytes=143771 << 20)),
    driver="580.65.06",
    cuda=(13, 0),
)
BARE = replace(MACHINE, gpus=(), driver="", cuda=None)


def test_what_is_there_is_named_with_its_driver() -> None:
    check = check_gpus(MACHINE, gpus="all", in_container=True, needed_cuda=(13, 0))
    assert (check.status, check.detail) == (Status.OK, "2 x NVIDIA H200, 151 GB, driver 580.65.06 (CUDA 13.0)")


def test_kinds_are_told_apart() -> None:
    mixed = replace(MACHINE, gpus=(H200, Gpu(index=1, name="NVIDIA T4")), driver="", cuda=None)
    assert (
        check_gpus(mixed, gpus="all", in_container=False, needed_cuda=None).detail
        == "NVIDIA H200, 151 GB and NVIDIA T4"
    )


def test_no_gpu_stops_a_container_and_slows_a_native_training() -> None:
    assert check_gpus(BARE, gpus="all", in_container=True, needed_cuda=None).status is Status.FAILURE
    assert check_gpus(BARE, gpus="all", in_container=False, needed_cuda=None).status is Status.WARNING
    assert check_gpus(BARE, gpus="none", in_container=True, needed_cuda=None).status is Status.SKIPPED


def test_an_index_that_is_not_there_is_named() -> None:
    check = check_gpus(MACHINE, gpus="1, 3,11", in_container=True, needed_cuda=None)
    assert (check.status, check.detail) == (Status.FAILURE, "the target asks for GPU 3, 11, but 0, 1 is there")
    assert check_gpus(MACHINE, gpus="1,0", in_container=True, needed_cuda=None).status is Status.OK


def test_a_driver_older_than_the_trainer_is_a_warning() -> None:
    old = replace(MACHINE, cuda=(12, 8))
    check = check_gpus(old, gpus="all", in_container=True, needed_cuda=(13, 0))
    assert check.status is Status.WARNING
    assert check.detail.endswith("(CUDA 12.8), but the trainer is built for CUDA 13.0")
    assert check_gpus(old, gpus="all", in_container=True, needed_cuda=(12, 9)).status is Status.OK
    unknown = replace(MACHINE, cuda=None)
    assert check_gpus(unknown, gpus="all", in_container=True, needed_cuda=(13, 0)).status is Status.OK


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (DEFAULT_IMAGE, (13, 0)),
        ("axolotlai/axolotl:main-py3.11-cu128-2.8.0", (12, 8)),
        ("2.9.1+cu126", (12, 6)),
        ("2.9.1+cpu", None),
        ("acu130", None),
        ("image:latest", None),
    ],
)
def test_the_cuda_of_an_image_or_a_torch(text: str, version: tuple[int, int] | None) -> None:
    assert cuda_of(text) == version
