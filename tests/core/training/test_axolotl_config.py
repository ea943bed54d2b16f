"""`axolotl.yaml`, key by key, against observed files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from overbrainer_core.config.settings import Training
from overbrainer_core.training.axolotl_config import axolotl_config, differing_keys
from overbrainer_core.training.yaml_writer import to_yaml

GOLDEN = sorted((Path(__file__).resolve().parents[2] / "golden" / "axolotl").glob("*.json"))


def training(**changes: Any) -> Training:
    """Settings of a small training."""
    return Training(**{"target": "box", "base_model": "acme/tiny-qwen3", "adapter": "lora", **changes})


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_settings_give_the_observed_file(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    settings = training(**case["training"], axolotl_extra=case["axolotl_extra"])
    config = axolotl_config(settings, root="<root>", has_eval=case["eval_data"])
    expected = case["axolotl_yaml"]
    if path.stem == "extra_max_steps":
        assert {"warmup_steps", "warmup_ratio"} <= case["axolotl_extra"].keys()
    assert config == expected
    assert yaml.safe_load(to_yaml(config)) == expected


def test_there_are_golden_files() -> None:
    assert len(GOLDEN) == 17


def test_c059_numbers_of_the_settings_read_back_as_numbers() -> None:
    for rate, text in ((2e-4, "0.0002"), (1e-7, "1.0e-7"), (3e20, "3.0e+20")):
        settings = training(learning_rate=rate, axolotl_extra={"adam_epsilon": 1e-8, "weight_decay": 0.01})
        written = to_yaml(axolotl_config(settings, root="/r", has_eval=False))
        assert f"learning_rate: {text}\n" in written
        assert "adam_epsilon: 1.0e-8\n" in written
        assert "weight_decay: 0.01\n" in written
        assert yaml.safe_load(written)["learning_rate"] == rate


@pytest.mark.parametrize("model", ["/data/models/Quill-9.5b", "./out/merged"])
def test_c060_a_path_as_base_model_is_passed_through(model: str) -> None:
    assert axolotl_config(training(base_model=model), root="/r", has_eval=False)["base_model"] == model


def test_c051_without_evaluation_data_there_are_no_evaluation_keys() -> None:
    config = axolotl_config(training(), root="/r", has_eval=False)
    assert not {"test_datasets", "evals_per_epoch", "eval_steps", "eval_strategy"} & config.keys()


def test_c051_an_extra_that_packs_evaluation_samples_is_kept() -> None:
    config = axolotl_config(training(axolotl_extra={"eval_sample_packing": True}), root="/r", has_eval=True)
    assert config["eval_sample_packing"] is True


def test_a_warm_up_in_steps_leaves_out_the_generated_ratio() -> None:
    config = axolotl_config(training(axolotl_extra={"warmup_steps": 5}), root="/r", has_eval=True)
    assert config["warmup_steps"] == 5
    assert "warmup_ratio" not in config


@pytest.mark.parametrize("strategy", ["no", "epoch"])
def test_another_evaluation_strategy_leaves_out_the_generated_cadence(strategy: str) -> None:
    config = axolotl_config(training(axolotl_extra={"eval_strategy": strategy}), root="/r", has_eval=True)
    assert config["eval_strategy"] == strategy
    assert "evals_per_epoch" not in config


def test_tables_merge_at_every_depth_and_lists_replace() -> None:
    extra = {"datasets_extra": {"a": {"b": [1]}}, "plugins_extra": [1]}
    config = axolotl_config(training(axolotl_extra=extra), root="/r", has_eval=False)
    assert config["datasets_extra"] == {"a": {"b": [1]}}
    assert config["plugins_extra"] == [1]


def test_a_resumed_run_names_its_checkpoint() -> None:
    config = axolotl_config(training(), root="/r", has_eval=False, resume_checkpoint="resume/checkpoint-7")
    assert config["resume_from_checkpoint"] == "/r/resume/checkpoint-7"


def test_the_extra_itself_is_never_changed() -> None:
    extra = {"special_tokens": {"a": 1}}
    config = axolotl_config(training(axolotl_extra=extra), root="/r", has_eval=False)
    config["special_tokens"]["b"] = 2
    assert extra == {"special_tokens": {"a": 1}}


def test_differing_keys_compare_values_and_leave_out_what_a_resume_may_change() -> None:
    first = {"lora_r": 16, "wandb_name": "a", "saves_per_epoch": 1, "datasets": [{"a": 1}], "x": 1.0, "flag": True}
    second = {"lora_r": 8, "mlflow_x": 1, "saves_per_epoch": 2, "datasets": [{"a": 1}], "x": 1, "flag": 1, "new": None}
    assert differing_keys(first, second) == ["flag", "lora_r", "new"]
