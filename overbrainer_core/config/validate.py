"""Do the settings fit together? Every problem at once, in a fixed order, each naming its key and never a value typed.

Range checks are written so that NaN fails them. What may be quoted are names and IDs that are no secret: providers,
targets, topics, GPU types, data centers, the quantize type, the Hub repo.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from overbrainer_core.config.hints import known_hint, name_text
from overbrainer_core.config.settings import Pipeline, Role, Roles, Settings, Training
from overbrainer_core.config.validate_places import check_compare, check_export, check_hub, check_runpod
from overbrainer_core.config.validate_targets import check_target
from overbrainer_core.errors import Problem

TINY_MODELS = ("tiny-0.2m", "tiny-0.5m", "tiny-0.9m")
"""Values of `base_model` that the embedded trainer knows."""
TINY_UNUSED = (
    "lora_r",
    "lora_alpha",
    "lora_dropout",
    "optimizer",
    "lr_scheduler",
    "sample_packing",
    "merge",
    "hub_model_id",
    "axolotl_extra",
)
"""Keys that the embedded trainer has no use for, refused when set."""
EXTRA_WITH_SETTING: Mapping[str, str] = {
    "base_model": "training.base_model",
    "adapter": "training.adapter",
    "num_epochs": "training.epochs",
    "learning_rate": "training.learning_rate",
    "lora_r": "training.lora_r",
    "lora_alpha": "training.lora_alpha",
    "lora_dropout": "training.lora_dropout",
    "sequence_len": "training.sequence_len",
    "micro_batch_size": "training.micro_batch_size",
    "gradient_accumulation_steps": "training.gradient_accumulation_steps",
    "optimizer": "training.optimizer",
    "lr_scheduler": "training.lr_scheduler",
    "sample_packing": "training.sample_packing",
    "evals_per_epoch": "training.evals_per_epoch",
    "saves_per_epoch": "training.saves_per_epoch",
    "hub_model_id": "[hub] repo",
}
"""Keys of `axolotl_extra` that have a setting of their own."""
EXTRA_MANAGED = (
    "datasets",
    "test_datasets",
    "val_set_size",
    "output_dir",
    "dataset_prepared_path",
    "plugins",
    "resume_from_checkpoint",
)
"""Keys of `axolotl_extra` that overbrainer writes itself."""

MAX_CONCURRENCY = 1024
MIN_THINKING_BUDGET = 1024
_NAME = re.compile(r"[a-z0-9_]+", re.ASCII)
_AT_LEAST_1 = "must be at least 1"
_COUNTS = (
    "epochs",
    "lora_r",
    "lora_alpha",
    "sequence_len",
    "micro_batch_size",
    "gradient_accumulation_steps",
    "evals_per_epoch",
    "saves_per_epoch",
)


def check_settings(settings: Settings, targets: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Every problem of typed settings; `targets` holds the keys that each target was given."""
    roles = _named_roles(settings.roles)
    return list(
        chain(
            _names("providers", settings.providers),
            _names("targets", settings.targets),
            _role_providers(settings, roles),
            *(_role_parameters(name, role, settings) for name, role in roles),
            *(_temperature_with_thinking(name, role, settings) for name, role in roles),
            *(_thinking_budget(name, role, settings) for name, role in roles),
            _topics(settings),
            _pipeline(settings.pipeline),
            _training(settings) if settings.training else (),
            check_export(settings.tables["export"]),
            *(check_target(f"targets.{name}", values) for name, values in targets.items()),
            check_runpod(settings.tables["runpod"]),
            check_hub(settings.tables["hub"]),
            check_compare(settings.tables["compare"]),
        )
    )


def is_name(text: str) -> bool:
    """Whether a provider, a target or a topic of the app may have this name."""
    return bool(_NAME.fullmatch(text))


def _names(section: str, names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if not is_name(name):
            yield Problem(f"{section}.{name_text(name)}", "name must match ^[a-z0-9_]+$")


def _named_roles(roles: Roles) -> list[tuple[str, Role]]:
    named = (
        ("generator", roles.generator),
        ("parent", roles.parent),
        ("embedder", roles.embedder),
        ("judge", roles.judge),
    )
    return [(name, role) for name, role in named if role is not None]


def _is_anthropic(role: Role, settings: Settings) -> bool:
    provider = settings.providers.get(role.provider)
    return provider is not None and provider.protocol == "anthropic"


def _role_providers(settings: Settings, roles: list[tuple[str, Role]]) -> Iterator[Problem]:
    for name, role in roles:
        if role.provider not in settings.providers:
            hint = known_hint(role.provider, settings.providers)
            yield Problem(f"roles.{name}", f"unknown provider `{name_text(role.provider)}`{hint}")
        elif name == "embedder" and _is_anthropic(role, settings):
            reason = 'the anthropic protocol has no embeddings, use a provider with protocol = "openai"'
            yield Problem("roles.embedder", reason)


def _role_parameters(name: str, role: Role, settings: Settings) -> Iterator[Problem]:
    key = f"roles.{name}"
    if role.max_tokens < 1:
        yield Problem(f"{key}.max_tokens", _AT_LEAST_1)
    if role.temperature is not None and not 0 <= role.temperature <= 2:
        yield Problem(f"{key}.temperature", "must be in [0, 2]")
    effort = f"{key}.reasoning_effort"
    if role.reasoning_effort == "none":
        if role.reasoning:
            yield Problem(effort, '"none" cannot be combined with reasoning = true')
        if _is_anthropic(role, settings):
            yield Problem(effort, '"none" is not available on the anthropic protocol')
    elif role.reasoning_effort is not None and not role.reasoning:
        yield Problem(effort, "requires reasoning = true")


def _temperature_with_thinking(name: str, role: Role, settings: Settings) -> Iterator[Problem]:
    if role.temperature is not None and role.reasoning and _is_anthropic(role, settings):
        yield Problem(f"roles.{name}.temperature", "the anthropic protocol takes none with reasoning = true")


def _thinking_budget(name: str, role: Role, settings: Settings) -> Iterator[Problem]:
    budget = role.thinking_budget
    if budget is None:
        return
    rules = (
        (role.reasoning, "requires reasoning = true"),
        (role.reasoning_effort is None, "cannot be combined with reasoning_effort"),
        (_is_anthropic(role, settings), "only valid on the anthropic protocol"),
        (budget >= MIN_THINKING_BUDGET, f"must be at least {MIN_THINKING_BUDGET}"),
        (budget < role.max_tokens, "must be less than max_tokens"),
    )
    for holds, reason in rules:
        if not holds:
            yield Problem(f"roles.{name}.thinking_budget", reason)


def _topics(settings: Settings) -> Iterator[Problem]:
    seen: set[str] = set()
    for topic in settings.topics:
        name = name_text(topic.name)
        if topic.name in seen:
            yield Problem("topics", f"duplicate name `{name}`")
        seen.add(topic.name)
        if topic.subtopics < 1:
            yield Problem(f"topics.{name}.subtopics", _AT_LEAST_1)
        if topic.questions_per_subtopic < 1:
            yield Problem(f"topics.{name}.questions_per_subtopic", _AT_LEAST_1)


def _pipeline(pipeline: Pipeline) -> Iterator[Problem]:
    cap = pipeline.max_cost_usd
    rules: tuple[tuple[str, bool, str], ...] = (
        ("concurrency", pipeline.concurrency >= 1, _AT_LEAST_1),
        ("concurrency", pipeline.concurrency <= MAX_CONCURRENCY, f"must be at most {MAX_CONCURRENCY}"),
        ("max_retries", pipeline.max_retries >= 0, "must be at least 0"),
        ("eval_ratio", 0 < pipeline.eval_ratio < 1, "must be in (0, 1)"),
        ("seed", pipeline.seed >= 0, "must be at least 0"),
        ("dedup_threshold", 0 < pipeline.dedup_threshold <= 1, "must be in (0, 1]"),
        ("embedding_threshold", 0 < pipeline.embedding_threshold <= 1, "must be in (0, 1]"),
        ("question_batch_size", pipeline.question_batch_size >= 1, _AT_LEAST_1),
        ("request_timeout_secs", pipeline.request_timeout_secs >= 1, _AT_LEAST_1),
        ("max_cost_usd", cap is None or (cap > 0 and math.isfinite(cap)), "must be greater than 0"),
    )
    for key, holds, reason in rules:
        if not holds:
            yield Problem(f"pipeline.{key}", reason)


def _training(settings: Settings) -> Iterator[Problem]:
    training = settings.training
    if training is None:
        return
    if training.target not in settings.targets:
        hint = known_hint(training.target, settings.targets)
        yield Problem("training.target", f"unknown target `{name_text(training.target)}`{hint}")
    for key in _COUNTS:
        if getattr(training, key) < 1:
            yield Problem(f"training.{key}", _AT_LEAST_1)
    for key in ("optimizer", "lr_scheduler", "hub_model_id"):
        text = getattr(training, key)
        if text is not None and not text.strip():
            yield Problem(f"training.{key}", "must not be empty")
    if not (training.learning_rate > 0 and math.isfinite(training.learning_rate)):
        yield Problem("training.learning_rate", "must be greater than 0")
    if not 0 <= training.lora_dropout < 1:
        yield Problem("training.lora_dropout", "must be in [0, 1)")
    trainer: Callable[[Settings, Training], Iterator[Problem]] = _tiny if training.trainer == "tiny" else _axolotl
    yield from trainer(settings, training)


def _tiny(settings: Settings, training: Training) -> Iterator[Problem]:
    if training.base_model not in TINY_MODELS:
        yield Problem("training.base_model", f"must be one of {', '.join(TINY_MODELS)}")
    if training.adapter != "full":
        yield Problem("training.adapter", 'trainer "tiny" needs full')
    for key in TINY_UNUSED:
        if key in training.given:
            yield Problem(f"training.{key}", 'not used by trainer "tiny"')
    target = settings.targets.get(training.target)
    if target is not None and target.kind == "runpod":
        yield Problem("training.target", TINY_ON_RUNPOD)


TINY_ON_RUNPOD = 'trainer "tiny" does not run on a runpod target'
"""Also the refusal of `train --target`."""


def _axolotl(settings: Settings, training: Training) -> Iterator[Problem]:
    if training.merge and training.adapter == "full":
        yield Problem("training.merge", 'needs adapter = "lora" or "qlora"')
    for key, value in training.axolotl_extra.items():
        name = f"training.axolotl_extra.{key}"
        if key in EXTRA_WITH_SETTING:
            yield Problem(name, f"set {EXTRA_WITH_SETTING[key]} instead")
        elif key in EXTRA_MANAGED:
            yield Problem(name, "managed by overbrainer, cannot be overridden")
        elif key == "save_only_model" and value is True:
            yield Problem(name, "such checkpoints lack the optimizer state and cannot be resumed, remove it")
