"""What stands in a run's `axolotl.yaml`, key by key, and what of it must be equal to resume a run?

Pure values: settings in, a mapping out. `axolotl_extra` is merged last and wins; a generated key whose rival it
sets is left out, because Axolotl refuses the pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overbrainer_core.config.settings import Training

PLUGIN = "overbrainer_metrics.OverbrainerMetricsPlugin"
"""The plugin class, importable from `plugin/` in the run directory."""

_NOT_COMPARED = frozenset(
    {
        "resume_from_checkpoint",
        "hub_model_id",
        "hub_strategy",
        "evals_per_epoch",
        "eval_steps",
        "eval_strategy",
        "saves_per_epoch",
        "save_steps",
        "save_strategy",
        "save_total_limit",
        "logging_steps",
        "use_tensorboard",
        "use_wandb",
        "use_mlflow",
        "use_comet",
    }
)
_NOT_COMPARED_PREFIXES = ("wandb_", "mlflow_", "comet_")


def dataset_entry(path: str) -> dict[str, Any]:
    """One entry of `datasets`: chat messages, trained on the assistant's turns and their end token."""
    return {
        "path": path,
        "ds_type": "json",
        "type": "chat_template",
        "field_messages": "messages",
        "field_thinking": "reasoning_content",
        "roles_to_train": ["assistant"],
        "train_on_eos": "turn",
    }


def data_keys(root: str, *, has_eval: bool) -> dict[str, Any]:
    """`datasets`, and `test_datasets` where there is evaluation data."""
    keys: dict[str, Any] = {"datasets": [dataset_entry(f"{root}/data/train.jsonl")]}
    if has_eval:
        keys["test_datasets"] = [{**dataset_entry(f"{root}/data/eval.jsonl"), "split": "train"}]
    return keys


def axolotl_config(
    training: Training, *, root: str, has_eval: bool, resume_checkpoint: str | None = None
) -> dict[str, Any]:
    """The content of `axolotl.yaml`.

    Args:
        root: the run directory as the job sees it.
        has_eval: whether the run has evaluation data.
        resume_checkpoint: the checkpoint to resume from, relative to the run directory.
    """
    config = _fixed_keys(training, root) | data_keys(root, has_eval=has_eval) | _adapter_keys(training)
    config |= _cadence_keys(training, has_eval=has_eval)
    if training.hub_model_id is not None:
        config["hub_model_id"] = training.hub_model_id
    extra = training.axolotl_extra
    if "warmup_steps" in extra and "warmup_ratio" not in extra:
        del config["warmup_ratio"]
    merged = _merged(config, extra)
    if not has_eval:
        merged.pop("eval_steps", None)
        merged.pop("eval_strategy", None)
    if resume_checkpoint is not None:
        merged["resume_from_checkpoint"] = f"{root}/{resume_checkpoint}"
    return merged


def _fixed_keys(training: Training, root: str) -> dict[str, Any]:
    return {
        "base_model": training.base_model,
        "val_set_size": 0,
        "sequence_len": training.sequence_len,
        "sample_packing": training.sample_packing,
        "micro_batch_size": training.micro_batch_size,
        "gradient_accumulation_steps": training.gradient_accumulation_steps,
        "learning_rate": training.learning_rate,
        "optimizer": training.optimizer,
        "lr_scheduler": training.lr_scheduler,
        "num_epochs": training.epochs,
        "eval_sample_packing": False,
        "attn_implementation": "sdpa",
        "warmup_ratio": 0.1,
        "gradient_checkpointing": True,
        "logging_steps": 1,
        "output_dir": f"{root}/output",
        # One cache for each run: Axolotl's key of it ignores what the files hold.
        "dataset_prepared_path": f"{root}/prepared",
        "plugins": [PLUGIN],
    }


def _adapter_keys(training: Training) -> dict[str, Any]:
    if training.adapter == "full":
        return {}
    return {
        "adapter": training.adapter,
        "load_in_4bit": training.adapter == "qlora",
        "load_in_8bit": False,
        "lora_r": training.lora_r,
        "lora_alpha": training.lora_alpha,
        "lora_dropout": training.lora_dropout,
        "lora_target_linear": True,
    }


def _cadence_keys(training: Training, *, has_eval: bool) -> dict[str, Any]:
    extra = training.axolotl_extra
    keys: dict[str, Any] = {}
    if has_eval and "eval_steps" not in extra and extra.get("eval_strategy", "steps") == "steps":
        keys["evals_per_epoch"] = training.evals_per_epoch
    if "save_steps" not in extra:
        keys["saves_per_epoch"] = training.saves_per_epoch
    if "save_total_limit" not in extra:
        keys["save_total_limit"] = 2
    return keys


def _merged(base: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`extra` over `base`: a table merges into a table, anything else replaces."""
    merged = dict(base)
    for key, value in extra.items():
        present = merged.get(key)
        if isinstance(value, Mapping):
            merged[key] = _merged(present if isinstance(present, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def differing_keys(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Top-level keys whose values differ between two configurations, sorted; those a resume may change left out."""
    return sorted(
        key
        for key in first.keys() | second.keys()
        if key not in _NOT_COMPARED
        and not key.startswith(_NOT_COMPARED_PREFIXES)
        and not (key in first and key in second and _is_same(first[key], second[key]))
    )


def _is_same(first: Any, second: Any) -> bool:
    """Equal as YAML values: a truth value is never a number, an absent block never null."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_is_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)
