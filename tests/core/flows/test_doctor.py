"""The whole examination: every finding in its order, none of it stopped by another, nothing changed by any."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from overbrainer_core.errors import ConfigError
from overbrainer_core.flows.doctor import check_line, examine, is_fit, summary_line
from overbrainer_core.flows.doctor_checks.base import Check, Status, failure, ok, skipped, warning
from tests.peers.program import TINY_TRAINING, write_project

AXOLOTL = """
[training]
target = "local"
base_model = "Qwen/Qwen3-0.6B"
adapter = "lora"

[targets.local]
kind = "local"
runtime = "native"

[targets.spare]
kind = "local"
runtime = "native"
venv = "/nonexistent"
"""


async def findings(root: Path, provider: Any, **options: Any) -> list[Check]:
    """All findings, with the provider in the test's hands."""
    variables = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **options.pop("variables", {})}
    return [
        check async for check in examine(root, process_env=variables, connect=lambda _provider: provider, **options)
    ]


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Every path below, with its size and time."""
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in (root, *sorted(root.rglob("*")))}


async def test_a_project_that_is_ready(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1))
    provider.listing = lambda: httpx.Response(200, json={"data": [{"id": "generator"}, {"id": "parent"}]})
    before = tree(root)
    checks = await findings(root, provider)
    assert [check.name for check in checks] == [
        "python",
        "configuration",
        "disk",
        "prompts",
        "providers.here.api_key",
        "providers.here",
        "roles.generator",
        "roles.parent",
        "training",
        "targets.local",
        "targets.local disk",
        "trainer",
        "gpu",
    ]
    assert is_fit(checks)
    assert tree(root) == before


async def test_a_locked_project_can_be_examined(tmp_path: Path, provider: Any) -> None:
    from overbrainer_core.flows.session import open_session

    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1))
    async with open_session(root, process_env={}):
        assert is_fit(await findings(root, provider))


async def test_what_comes_after_a_broken_configuration_is_left_out(tmp_path: Path, provider: Any) -> None:
    checks = await findings(tmp_path, provider)
    assert [(check.name, check.status) for check in checks] == [
        ("python", Status.OK),
        ("configuration", Status.FAILURE),
        ("everything else", Status.SKIPPED),
    ]
    assert not is_fit(checks)


async def test_without_a_training_it_ends_with_the_stages(tmp_path: Path, provider: Any) -> None:
    checks = await findings(write_project(tmp_path), provider)
    assert (checks[-1].name, checks[-1].status) == ("training", Status.SKIPPED)


async def test_a_failure_stops_nothing(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1))
    (root / "prompts").mkdir()
    (root / "prompts" / "judge.txt").write_text("{{ nope }}")
    provider.listing = lambda: httpx.Response(503)
    checks = {check.name: check.status for check in await findings(root, provider)}
    assert (checks["prompts"], checks["providers.here"]) == (Status.FAILURE, Status.FAILURE)
    assert checks["trainer"] is Status.OK


async def test_settings_that_the_trainer_refuses(tmp_path: Path, provider: Any) -> None:
    pod = '[targets.pod]\nkind = "runpod"\nmax_hours = 1\ngpu_types = "auto"\n'
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1) + pod)
    checks = {check.name: check for check in await findings(root, provider, target="pod")}
    assert checks["training"].status is Status.FAILURE
    assert checks["targets.pod"].status is Status.FAILURE


async def test_another_target_can_be_named(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=AXOLOTL)
    checks = {check.name: check for check in await findings(root, provider, target="spare")}
    assert "targets.local" not in checks
    assert checks["trainer"].detail == "`axolotl` is not in /nonexistent/bin, or cannot be run"
    assert checks["training"].detail == "Qwen/Qwen3-0.6B on spare, lora, trainer axolotl"


async def test_a_target_that_is_not_configured_is_an_error_with_the_near_miss(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=AXOLOTL)
    with pytest.raises(ConfigError, match="unknown target `spar`; did you mean `spare`"):
        await findings(root, provider, target="spar")


async def test_offline_nobody_is_asked(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=TINY_TRAINING.format(epochs=1))
    checks = {check.name: check.status for check in await findings(root, provider, offline=True)}
    assert checks["providers.here"] is Status.SKIPPED
    assert checks["trainer"] is Status.OK
    assert provider.requests == []


@pytest.mark.parametrize(
    ("variables", "extra", "status"),
    [
        ({"HF_TOKEN": "hf_doctor0123456789"}, "", Status.OK),
        ({}, "", Status.SKIPPED),
        ({}, 'hub_model_id = "me/model"\n', Status.WARNING),
        ({"HF_TOKEN": "vault:a/b#c"}, "", Status.FAILURE),
    ],
)
async def test_the_token_of_a_training(
    tmp_path: Path, provider: Any, variables: dict[str, str], extra: str, status: Status
) -> None:
    root = write_project(tmp_path, training=AXOLOTL.replace('adapter = "lora"\n', f'adapter = "lora"\n{extra}'))
    checks = {check.name: check for check in await findings(root, provider, variables=variables)}
    assert checks["hf_token"].status is status
    assert "hf_doctor" not in repr(checks)


async def test_a_model_whose_reasoning_may_be_dropped_is_a_warning(tmp_path: Path, provider: Any) -> None:
    root = write_project(tmp_path, training=AXOLOTL.replace("Qwen/Qwen3-0.6B", "other/model"))
    checks = [check for check in await findings(root, provider) if check.name == "training"]
    assert [check.status for check in checks] == [Status.OK, Status.WARNING]


def test_a_finding_is_a_line_with_the_next_step_at_its_end() -> None:
    assert check_line(ok("python", "Python 3")) == "ok       python: Python 3"
    assert check_line(failure("gpu", "none is seen", "look")) == "failure  gpu: none is seen; look"


def test_the_summary_counts_each_kind() -> None:
    checks = [ok("a", "b"), warning("c", "d"), skipped("e", "f"), skipped("g", "h")]
    assert summary_line(checks) == "doctor: 1 ok, 1 warning, 0 failures, 2 skipped"
    assert is_fit(checks)
    assert summary_line([failure("a", "b")]) == "doctor: 0 ok, 0 warnings, 1 failure, 0 skipped"
