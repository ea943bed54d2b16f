"""`config check`: its lines, and where each value came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import parse_settings
from overbrainer_core.config.report import (
    check_document,
    check_lines,
    deprecations,
    resolve_all,
    set_secrets,
    value_text,
)
from overbrainer_core.config.settings import DEFAULT_IMAGE, DEFAULT_POD_IMAGE, Settings
from overbrainer_core.errors import SecretError

Parse = Callable[..., Settings]

WHOLE = """
[project]
name = "demo"
[[topics]]
name = "ownership"
subtopics = 5
questions_per_subtopic = 20
[providers.zed]
protocol = "anthropic"
[providers.openrouter]
protocol = "openai"
[roles]
generator = { provider = "openrouter", model = "some-model" }
parent = { provider = "openrouter", model = "big-model", reasoning = true }
[training]
target = "gpu_box"
base_model = "Qwen/Qwen3-4B"
adapter = "qlora"
[targets.here]
kind = "local"
runtime = "native"
[targets.gpu_box]
kind = "ssh"
runtime = "docker"
ssh_client = "openssh"
[targets.cloud]
kind = "runpod"
gpu_types = "auto"
min_vram_gb = 48
max_price_per_hour = 1.5
gpu_count = 2
max_hours = 6
max_cost_usd = 20
data_center_ids = "auto"
"""


def test_the_lines_are_these() -> None:
    environment = Environment(
        values={
            "OVERBRAINER_PROVIDERS__OPENROUTER__BASE_URL": "https://openrouter.ai/api/v1",
            "OVERBRAINER_PROVIDERS__OPENROUTER__API_KEY": "hidden",
            "OVERBRAINER_TARGETS__GPU_BOX__HOST": "user@host",
        }
    )
    assert check_lines(parse_settings(WHOLE, environment), environment) == [
        "project.name = demo",
        "topics.ownership = 5 subtopics x 20 questions",
        "providers.openrouter.protocol = openai",
        "providers.openrouter.base_url = https://openrouter.ai/api/v1",
        "providers.openrouter.api_key = ***",
        "providers.zed.protocol = anthropic",
        "providers.zed.base_url = (unset)",
        "providers.zed.api_key = (unset)",
        "roles.generator = openrouter/some-model (reasoning: false, max_tokens: 16384)",
        "roles.parent = openrouter/big-model (reasoning: true, max_tokens: 16384)",
        "pipeline = concurrency: 8, max_retries: 5, dedup_threshold: 0.8, eval_ratio: 0.1, seed: 42, "
        "include_system_prompt: false, embedding_threshold: 0.9, question_batch_size: 10, request_timeout_secs: 600",
        "training = Qwen/Qwen3-4B on gpu_box (qlora)",
        f"targets.cloud = runpod 2x [auto] (at least 48 GB, at most $1.5/h per GPU), max 6h, max $20, "
        f"image {DEFAULT_POD_IMAGE}, venv /workspace/axolotl-venv, disk 50 GB, boot grace 30 min, "
        "retrieve grace 60 min, data centers auto, network volume none",
        "targets.cloud.ssh_client = builtin",
        f"targets.gpu_box = ssh user@host in overbrainer, docker {DEFAULT_IMAGE}",
        'targets.gpu_box.ssh_client = openssh; set ssh_client = "builtin" (or OVERBRAINER_SSH_CLIENT=builtin) '
        "to use the built-in client",
        "targets.here = local, native, venv (axolotl on PATH)",
        "runpod.api_key = (unset)",
        "runpod.base_url = https://api.runpod.io/v2",
        "hf_token = (unset)",
    ]


def lines_of(parse: Parse, text: str = "", **variables: str) -> dict[str, str]:
    environment = Environment(values=variables)
    lines = check_lines(parse(text, **variables), environment)
    return dict(line.split(" = ", 1) for line in lines)


def test_the_ssh_client_variable_is_told(parse: Parse) -> None:
    ssh = "[targets.lab]\nkind = 'ssh'\nruntime = 'native'\nvenv = '/v'\n"
    found = lines_of(parse, ssh, OVERBRAINER_SSH_CLIENT="builtin")
    assert found["targets.lab.ssh_client"] == "builtin (OVERBRAINER_SSH_CLIENT)"
    assert found["targets.lab"] == "ssh (host unset) in overbrainer, native, venv /v"
    assert lines_of(parse, ssh, OVERBRAINER_SSH_CLIENT="openssh")["targets.lab.ssh_client"].startswith(
        "openssh (OVERBRAINER_SSH_CLIENT); set ssh_client"
    )


def test_other_forms_of_targets_and_training(parse: Parse) -> None:
    found = lines_of(
        parse,
        "[training]\ntarget = 'box'\nbase_model = 'tiny-0.5m'\nadapter = 'full'\ntrainer = 'tiny'\n"
        "[targets.box]\nkind = 'local'\nruntime = 'docker'\nengine = 'podman'\nimage = 'i'\ngpus = 'none'\n"
        "[targets.pod]\nkind = 'runpod'\ngpu_types = ['A', 'B']\nmax_hours = 0.5\nimage = 'i'\nvenv = '/v'\n"
        "data_center_ids = ['EU-1']\nnetwork_volume_id = 'ab'\nmax_volume_gb = 9\n"
        "[targets.pod2]\nkind = 'runpod'\ngpu_types = 'auto'\nmax_hours = 1\nimage = 'i'\nvenv = '/v'\n",
    )
    rest = "venv /v, disk 50 GB, boot grace 30 min, retrieve grace 60 min"
    assert found["training"] == "tiny-0.5m on box (full, trainer tiny)"
    assert found["targets.box"] == "local, podman i, gpus none"
    assert found["targets.pod"] == (
        f"runpod 1x [A, B], max 0.5h, image i, {rest}, data centers EU-1, network volume ab (grows up to 9 GB)"
    )
    assert found["targets.pod2"] == f"runpod 1x [auto], max 1h, image i, {rest}, data centers any, network volume none"


def test_late_tables_show_only_when_something_sets_them(parse: Parse) -> None:
    assert not {"export", "hub", "compare", "metrics.listen"} & set(lines_of(parse))
    found = lines_of(
        parse, "[export]\n[metrics]\nlisten = '[::1]:0'\n[pipeline]\nmax_cost_usd = 2.5\n", OVERBRAINER_HUB__REPO="me/x"
    )
    assert found["export"] == "after_training: false, quantize: Q4_K_M, ollama_name: (unset)"
    assert found["metrics.listen"] == "[::1]:0"
    assert found["hub"].startswith("repo: me/x, private: true")
    assert "compare" not in found
    assert found["pipeline"].endswith(", max_cost_usd: 2.5")


def test_a_secret_of_a_standard_variable_is_told_by_its_name(parse: Parse) -> None:
    found = lines_of(
        parse,
        HF_TOKEN="hidden",
        OPENAI_API_KEY="hidden",
        OVERBRAINER_PROVIDERS__OPEN__BASE_URL="https://api.openai.com/v1",
        OVERBRAINER_RUNPOD__API_KEY="vault:a/b#c",
    )
    assert found["hf_token"] == "*** (HF_TOKEN)"
    assert found["providers.open.api_key"] == "*** (OPENAI_API_KEY)"
    assert found["runpod.api_key"] == "***"


def test_a_line_stays_a_line(parse: Parse) -> None:
    text = '[[topics]]\nname = "a\\nb\\u001b"\nsubtopics = 1\nquestions_per_subtopic = 1\n'
    assert lines_of(parse, text)["topics.a\\nb\\u{1b}"] == "1 subtopics x 1 questions"


@pytest.mark.parametrize(
    ("value", "text"),
    [(6.0, "6"), (1.5, "1.5"), (1e-7, "0.0000001"), (2e20, "200000000000000000000"), (True, "true"), (None, "(unset)"),
     (("a", "b"), "a, b"), ((), ""), ("x", "x"), (0.0, "0"), (100.0, "100"), (100, "100")],
)  # fmt: skip
def test_values_in_lines(value: object, text: str) -> None:
    assert value_text(value) == text


def test_the_deprecated_key_is_warned_of(parse: Parse) -> None:
    text = "[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\n"
    assert deprecations(parse(text)) == []
    assert deprecations(parse(text + "hub_model_id = 'me/x'\n")) == [
        "training.hub_model_id is deprecated, use [hub] repo (overbrainer migrate moves it)"
    ]


def test_the_document_tells_every_value_and_its_origin(parse: Parse) -> None:
    values = {
        "OVERBRAINER_PIPELINE__CONCURRENCY": "5",
        "overbrainer_pipeline__seed": "6",
        "HF_TOKEN": "hidden",
        "OVERBRAINER_PROVIDERS__OPEN__API_KEY": "hidden",
        "OVERBRAINER_SSH_CLIENT": "openssh",
    }
    environment = Environment(values=values, dotenv_keys=frozenset({"overbrainer_pipeline__seed"}))
    text = (
        "[pipeline]\nmax_retries = 2\nseed = 9\n"
        "[targets.lab]\nkind = 'ssh'\nruntime = 'docker'\nssh_client = 'builtin'\n"
        "[targets.gpu]\nkind = 'runpod'\ngpu_types = ['A']\nmax_hours = 1\n"
        "[[topics]]\nname = 'a'\nsubtopics = 1\nquestions_per_subtopic = 2\n"
        "[training]\ntarget = 'here'\nbase_model = 'm'\nadapter = 'lora'\n[training.axolotl_extra.a]\nb = 1\n"
    )
    document = check_document(parse(text, **values), environment)
    assert list(document) == ["settings"]
    rows: dict[str, tuple[Any, str]] = {row["key"]: (row["value"], row["origin"]) for row in document["settings"]}
    assert len(rows) == len(document["settings"])
    assert rows["pipeline.concurrency"] == (5, "shell")
    assert rows["pipeline.seed"] == (6, ".env")
    assert rows["pipeline.max_retries"] == (2, "file")
    assert rows["pipeline.eval_ratio"] == (0.1, "default")
    assert rows["hf_token"] == ("***", "HF_TOKEN")
    assert rows["providers.open.api_key"] == ("***", "shell")
    assert rows["providers.claude.api_key"] == (None, "default")
    assert rows["targets.lab.ssh_client"] == ("openssh", "shell")
    assert rows["targets.gpu.gpu_types"] == (["A"], "file")
    assert rows["targets.gpu.kind"] == ("runpod", "file")
    assert rows["topics.a.questions_per_subtopic"] == (2, "file")
    assert rows["training.axolotl_extra.a.b"] == (1, "file")
    assert rows["export.quantize"] == ("Q4_K_M", "default")
    assert "training.given" not in rows
    assert "hidden" not in str(document)


async def test_every_secret_is_resolved_in_order(parse: Parse) -> None:
    variables = {
        "OVERBRAINER_HF_TOKEN": "a",
        "OVERBRAINER_RUNPOD__API_KEY": "b",
        "OVERBRAINER_PROVIDERS__OPEN__API_KEY": "c",
        "OVERBRAINER_PROVIDERS__CLAUDE__API_KEY": "d",
    }
    settings = parse(**variables)
    resolved: list[str] = []
    await resolve_all(settings, Environment(values=variables), on_resolved=resolved.append)
    expected = ["providers.claude.api_key", "providers.open.api_key", "runpod.api_key", "hf_token"]
    assert resolved == expected == [key for key, _ in set_secrets(settings)]


async def test_resolving_stops_at_the_first_failure(parse: Parse) -> None:
    variables = {"OVERBRAINER_HF_TOKEN": "a", "OVERBRAINER_RUNPOD__API_KEY": "vault:hidden"}
    resolved: list[str] = []
    with pytest.raises(SecretError, match=r"^cannot resolve runpod.api_key: invalid secret reference: expected vault:"):
        await resolve_all(parse(**variables), Environment(values=variables), on_resolved=resolved.append)
    assert resolved == []
