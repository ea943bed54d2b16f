"""The checks of targets: one test a rule, with its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]


def target(kind: str, *lines: str) -> str:
    return f"[targets.t]\nkind = '{kind}'\n" + "".join(f"{line}\n" for line in lines)


NATIVE, DOCKER = "runtime = 'native'", "runtime = 'docker'"
IMAGE = "may hold only letters, digits and . _ / : @ -"
PATH = "may hold only letters, digits and . _ / ~ -"


@pytest.mark.parametrize("kind", ["local", "ssh"])
@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ((DOCKER, "venv = '/v'"), '.venv: only with runtime = "native"'),
        ((NATIVE, "engine = 'docker'"), ': engine and image only apply with runtime = "docker"'),
        ((NATIVE, "image = 'a'"), ': engine and image only apply with runtime = "docker"'),
        ((NATIVE, "gpus = 'all'"), '.gpus: only with runtime = "docker"'),
        ((DOCKER, "gpus = 'some'"), ".gpus: must be all, none or device indexes such as 0,1"),
        ((DOCKER, "gpus = '0,'"), ".gpus: must be all, none or device indexes such as 0,1"),
        ((DOCKER, "image = ' '"), ".image: must not be empty"),
        ((DOCKER, "image = 'a b'"), f".image: {IMAGE}"),
        ((DOCKER, "image = 'a$(id)'"), f".image: {IMAGE}"),
        ((DOCKER, "image = '-v'"), ".image: must not start with -"),
        ((NATIVE, "venv = ''"), ".venv: must not be empty"),
        ((NATIVE, "venv = '/a b/..'"), f".venv: {PATH}"),
        ((NATIVE, "venv = '\u00e9'"), f".venv: {PATH}"),
        ((NATIVE, "venv = '-x'"), ".venv: must not start with -"),
        ((NATIVE, "venv = 'a/../b'"), ".venv: must not contain .."),
        ((NATIVE, "venv = '/a/~'"), ".venv: ~ may only be the first character, alone or before /"),
        ((NATIVE, "venv = '~me/x'"), ".venv: ~ may only be the first character, alone or before /"),
    ],
)
def test_a_rule_of_local_and_ssh_targets(problems: Lines, kind: str, lines: tuple[str, ...], problem: str) -> None:
    assert problems(target(kind, *lines)) == [f"targets.t{problem}"]


@pytest.mark.parametrize(
    ("value", "reason"), [("''", "must not be empty"), ("'a;b'", PATH), ("'..'", "must not contain ..")]
)
def test_a_rule_of_the_working_directory(problems: Lines, value: str, reason: str) -> None:
    assert problems(target("ssh", DOCKER, f"workdir = {value}")) == [f"targets.t.workdir: {reason}"]


@pytest.mark.parametrize(
    "lines",
    [
        (NATIVE, "venv = '~'"),
        (NATIVE, "venv = '~/venvs/a..b'"),
        (DOCKER, "engine = 'podman'", "image = 'localhost:5000/a/b:1@sha256:0a'", "gpus = '0,1'"),
        (DOCKER, "gpus = 'none'"),
    ],
)
def test_a_target_may_be_so(problems: Lines, lines: tuple[str, ...]) -> None:
    assert problems(target("local", *lines)) == []


def pod(*lines: str, gpu_types: str = "'auto'", max_hours: str = "6") -> str:
    return target("runpod", f"gpu_types = {gpu_types}", f"max_hours = {max_hours}", *lines)


LISTED = "['NVIDIA A40']"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (pod("venv = 'venv'"), ".venv: must be an absolute path"),
        (pod("image = ''"), ".image: must not be empty"),
        (pod("gpu_count = 0"), ".gpu_count: must be at least 1"),
        (pod("container_disk_gb = 19"), ".container_disk_gb: must be at least 20"),
        (pod("boot_grace_minutes = 4"), ".boot_grace_minutes: must be at least 5"),
        (pod("retrieve_grace_minutes = 0"), ".retrieve_grace_minutes: must be at least 1"),
        (pod(max_hours="0"), ".max_hours: must be greater than 0 and at most 720"),
        (pod(max_hours="720.5"), ".max_hours: must be greater than 0 and at most 720"),
        (pod(max_hours="nan"), ".max_hours: must be greater than 0 and at most 720"),
        (pod("max_cost_usd = 0"), ".max_cost_usd: must be greater than 0"),
        (pod("max_cost_usd = inf"), ".max_cost_usd: must be greater than 0"),
        (pod("max_volume_gb = 10"), ".max_volume_gb: needs network_volume_id, the only disk that grows"),
        (pod(gpu_types="[]"), ".gpu_types: must list at least one GPU type"),
        (pod(gpu_types="''"), ".gpu_types: must list at least one GPU type"),
        (pod(gpu_types="['A', ' ']"), ".gpu_types: an entry is empty"),
        (pod(gpu_types="['A,B']"), ".gpu_types: `A,B` holds a comma or a control character"),
        (pod(gpu_types='["A\\tB"]'), ".gpu_types: `A\\tB` holds a comma or a control character"),
        (pod(gpu_types="['A', 'B', 'A', 'A']"), ".gpu_types: `A` is listed twice"),
        (pod(gpu_types="['A', 'AUTO', '']"), '.gpu_types: write gpu_types = "auto", not a list holding it'),
        (pod(gpu_types="'Auto'"), '.gpu_types: write gpu_types = "auto", not a list holding it'),
        (pod("min_vram_gb = 0", gpu_types=LISTED), '.min_vram_gb: only with gpu_types = "auto"'),
        (pod("max_price_per_hour = nan", gpu_types=LISTED), '.max_price_per_hour: only with gpu_types = "auto"'),
        (pod("min_vram_gb = 0"), ".min_vram_gb: must be at least 1"),
        (pod("max_price_per_hour = 0"), ".max_price_per_hour: must be greater than 0"),
        (pod("max_price_per_hour = inf"), ".max_price_per_hour: must be greater than 0"),
        (pod("data_center_ids = ['eu']"), ".data_center_ids: `eu` may hold only capital letters, digits and -"),
        (pod("data_center_ids = ['EU-1', 'EU-1']"), ".data_center_ids: `EU-1` is listed twice"),
        (pod("data_center_ids = ['auto']"),
         '.data_center_ids: write data_center_ids = "auto", not a list holding it'),
        (pod("data_center_ids = ['EU-1']", "network_volume_id = 'a-b'"),
         ".network_volume_id: must use only letters and digits"),
        (pod("data_center_ids = 'auto'", "network_volume_id = 'ab'"),
         ".data_center_ids: cannot be \"auto\" with network_volume_id; list the volume's data center"),
        (pod("network_volume_id = 'ab'"),
         ".network_volume_id: needs exactly one entry in data_center_ids, the volume's data center"),
        (pod("data_center_ids = ['A', 'B']", "network_volume_id = 'ab'"),
         ".network_volume_id: needs exactly one entry in data_center_ids, the volume's data center"),
    ],
)  # fmt: skip
def test_a_rule_of_pods(problems: Lines, text: str, problem: str) -> None:
    assert problems(text) == [f"targets.t{problem}"]


def test_a_volume_of_no_size_is_told_twice_when_it_has_no_volume(problems: Lines) -> None:
    assert problems(pod("max_volume_gb = 0", "network_volume_id = 'ab'", "data_center_ids = ['A']")) == [
        "targets.t.max_volume_gb: must be at least 1"
    ]
    assert len(problems(pod("max_volume_gb = 0"))) == 2


@pytest.mark.parametrize("key", ["gpu_count", "min_vram_gb", "container_disk_gb", "boot_grace_minutes"])
@pytest.mark.parametrize("value", ["20", "20.0", "'20'", "' 20 '"])
def test_numbers_of_a_pod_may_be_texts(problems: Lines, key: str, value: str) -> None:
    assert problems(pod(f"{key} = {value}")) == []
    assert problems(pod(), **{f"OVERBRAINER_TARGETS__T__{key.upper()}": value.strip("'")}) == []


def test_gpu_types_of_the_environment_keep_their_empty_items(problems: Lines) -> None:
    assert problems(pod(), OVERBRAINER_TARGETS__T__GPU_TYPES="A,,B") == ["targets.t.gpu_types: an entry is empty"]
