"""Every key with its type and default, written out; secrets of the settings show as a mask."""

from __future__ import annotations

import pytest

from overbrainer_core.config.fields import SECTION_TABLES, default_of, is_environment_only, is_required, schema_fields
from overbrainer_core.config.settings import Provider, SecretText

IMAGE = "axolotlai/axolotl:0.21.0-py3.12-cu130-2.14.1"
IMAGE += "@sha256:d08da8a5dd2b3223a49fb25cdadd85bdf0c5acee9c5de223bf6ab10d0b511e14"
POD_IMAGE = "axolotlai/axolotl-cloud-term:0.21.0-py3.12-cu130-2.14.1"
POD_IMAGE += "@sha256:6dd02035f432a81725fc7405a525f6539a7bc9e40ac91702188170800b4415c1"

REQUIRED = "required"
TEXT, INTEGER, NUMBER, BOOLEAN = "a string", "an integer", "a number", "true or false"
NAMES = '"auto" or a list of strings'
QUANTIZE = "`Q4_K_M`, `Q4_K_S`, `Q5_K_M`, `Q5_K_S`, `Q6_K`, `Q8_0`, `Q3_K_M`, `Q2_K`, `F16`, `BF16`"

Rows = list[tuple[str, str, object]]

LOCAL: Rows = [
    ("kind", "`local`, `ssh`, `runpod`", REQUIRED),
    ("runtime", "`docker`, `native`", REQUIRED),
    ("engine", "`docker`, `podman`", "docker"),
    ("image", TEXT, IMAGE),
    ("gpus", TEXT, "all"),
    ("venv", TEXT, None),
]
ROWS: dict[str, Rows] = {
    "project": [("name", TEXT, REQUIRED)],
    "topics": [
        ("name", TEXT, REQUIRED),
        ("description", TEXT, None),
        ("subtopics", INTEGER, REQUIRED),
        ("questions_per_subtopic", INTEGER, REQUIRED),
    ],
    "providers": [
        ("protocol", "`openai`, `anthropic`", REQUIRED),
        ("base_url", TEXT, None),
        ("api_key", TEXT, None),
    ],
    "roles": [
        ("provider", TEXT, REQUIRED),
        ("model", TEXT, REQUIRED),
        ("reasoning", BOOLEAN, False),
        ("max_tokens", INTEGER, 16384),
        ("temperature", NUMBER, None),
        ("reasoning_effort", "`none`, `low`, `medium`, `high`", None),
        ("thinking_budget", INTEGER, None),
    ],
    "pipeline": [
        ("concurrency", INTEGER, 8),
        ("max_retries", INTEGER, 5),
        ("dedup_threshold", NUMBER, 0.8),
        ("embedding_threshold", NUMBER, 0.9),
        ("question_batch_size", INTEGER, 10),
        ("request_timeout_secs", INTEGER, 600),
        ("eval_ratio", NUMBER, 0.1),
        ("seed", INTEGER, 42),
        ("include_system_prompt", BOOLEAN, False),
        ("max_cost_usd", NUMBER, None),
    ],
    "training": [
        ("target", TEXT, REQUIRED),
        ("trainer", "`axolotl`, `tiny`", "axolotl"),
        ("base_model", TEXT, REQUIRED),
        ("adapter", "`lora`, `qlora`, `full`", REQUIRED),
        ("epochs", INTEGER, 3),
        ("learning_rate", NUMBER, 2e-4),
        ("lora_r", INTEGER, 16),
        ("lora_alpha", INTEGER, 32),
        ("lora_dropout", NUMBER, 0.05),
        ("sequence_len", INTEGER, 4096),
        ("micro_batch_size", INTEGER, 2),
        ("gradient_accumulation_steps", INTEGER, 4),
        ("optimizer", TEXT, "adamw_torch_fused"),
        ("lr_scheduler", TEXT, "cosine"),
        ("sample_packing", BOOLEAN, True),
        ("evals_per_epoch", INTEGER, 4),
        ("saves_per_epoch", INTEGER, 1),
        ("merge", BOOLEAN, False),
        ("hub_model_id", TEXT, None),
        ("axolotl_extra", "a table", {}),
    ],
    "targets.local": LOCAL,
    "targets.ssh": [
        *LOCAL,
        ("host", TEXT, None),
        ("workdir", TEXT, "overbrainer"),
        ("ssh_client", "`openssh`, `builtin`", "builtin"),
    ],
    "targets.runpod": [
        ("kind", "`local`, `ssh`, `runpod`", REQUIRED),
        ("gpu_types", NAMES, REQUIRED),
        ("min_vram_gb", INTEGER, None),
        ("max_price_per_hour", NUMBER, None),
        ("gpu_count", INTEGER, 1),
        ("image", TEXT, POD_IMAGE),
        ("venv", TEXT, "/workspace/axolotl-venv"),
        ("container_disk_gb", INTEGER, 50),
        ("max_hours", NUMBER, REQUIRED),
        ("max_cost_usd", NUMBER, None),
        ("boot_grace_minutes", INTEGER, 30),
        ("retrieve_grace_minutes", INTEGER, 60),
        ("data_center_ids", NAMES, ()),
        ("network_volume_id", TEXT, None),
        ("max_volume_gb", INTEGER, None),
        ("ssh_client", "`openssh`, `builtin`", "builtin"),
    ],
    "export": [("after_training", BOOLEAN, False), ("quantize", QUANTIZE, "Q4_K_M"), ("ollama_name", TEXT, None)],
    "hub": [
        ("repo", TEXT, None),
        ("private", BOOLEAN, True),
        ("after_training", BOOLEAN, False),
        ("base_url", TEXT, "https://huggingface.co"),
    ],
    "compare": [
        ("parent_price_in", NUMBER, None),
        ("parent_price_out", NUMBER, None),
        ("child_price_per_hour", NUMBER, None),
        ("max_tokens", INTEGER, 4096),
        ("temperature", NUMBER, 0.0),
        ("server_start_secs", INTEGER, 300),
        ("image", TEXT, None),
        ("judge_orders", "`one`, `both`", "one"),
        ("server", "`release`, `builtin`", "release"),
    ],
    "metrics": [("listen", "an address such as 127.0.0.1:9464", None)],
    "runpod": [("api_key", TEXT, None), ("base_url", TEXT, "https://api.runpod.io/v2")],
    "": [("hf_token", TEXT, None), ("log", TEXT, None)],
}
ENVIRONMENT_ONLY = {
    ("providers", "base_url"), ("providers", "api_key"), ("targets.ssh", "host"), ("hub", "base_url"),
    ("runpod", "api_key"), ("runpod", "base_url"), ("", "hf_token"), ("", "log"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("section", "key", "expected", "default"), [(section, *row) for section, rows in ROWS.items() for row in rows]
)
def test_a_key_has_this_type_and_default(section: str, key: str, expected: str, default: object) -> None:
    assert schema_fields(section)[key].expected == expected
    assert is_required(section, key) == (default == REQUIRED)
    assert default_of(section, key) == (None if default == REQUIRED else default)
    assert is_environment_only(section, key) == ((section, key) in ENVIRONMENT_ONLY)


@pytest.mark.parametrize("section", [*SECTION_TABLES, ""])
def test_a_table_has_these_keys_and_no_other(section: str) -> None:
    assert list(schema_fields(section)) == [key for key, _, _ in ROWS[section]]


def test_a_secret_never_shows() -> None:
    secret = SecretText("hidden")
    assert f"{secret}{secret!r}{[secret]}{Provider(name='a', protocol='openai', api_key=secret)}".count("hidden") == 0
    assert str(secret) == "***"
    assert secret.reveal() == "hidden"


def test_secrets_compare_by_text_and_know_a_reference() -> None:
    assert SecretText("a") == SecretText("a")
    assert SecretText("a") != SecretText("b")
    assert SecretText("a") != "a"
    assert len({SecretText("a"), SecretText("a")}) == 1
    assert SecretText("vault:a/b#c").is_reference
    assert not SecretText(" vault:a/b#c").is_reference
