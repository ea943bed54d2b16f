"""The checks of names, roles, topics, pipeline and training: one test a rule, with its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overbrainer_core.config.settings import Settings
from overbrainer_core.config.validate import is_name

Lines = Callable[..., list[str]]
Parse = Callable[..., Settings]


@pytest.mark.parametrize("name", ["My", "a-b", "a.b", "\u00e9"])
def test_a_provider_or_target_has_a_plain_name(problems: Lines, name: str) -> None:
    reason = "name must match ^[a-z0-9_]+$"
    assert problems(f'[providers."{name}"]\nprotocol = "openai"\n') == [f"providers.{name}: {reason}"]
    assert problems(f'[targets."{name}"]\nkind = "local"\nruntime = "native"\n') == [f"targets.{name}: {reason}"]
    assert not is_name(name)
    assert is_name("a_1")


def roles(role: str) -> str:
    return (
        "[project]\nname = 'x'\n[providers.open]\nprotocol = 'openai'\n[providers.claude]\nprotocol = 'anthropic'\n"
        f"[roles]\ngenerator = {{ provider = 'open', model = 'm' }}\nparent = {role}\n"
    )


@pytest.mark.parametrize(
    ("role", "lines"),
    [
        ("{ provider = 'opne', model = 'm' }",
         ["roles.parent: unknown provider `opne`; did you mean `open`? known: `claude`, `open`"]),
        ("{ provider = 'open', model = 'm', max_tokens = 0 }", ["roles.parent.max_tokens: must be at least 1"]),
        ("{ provider = 'open', model = 'm', temperature = 2.1 }", ["roles.parent.temperature: must be in [0, 2]"]),
        ("{ provider = 'open', model = 'm', temperature = nan }", ["roles.parent.temperature: must be in [0, 2]"]),
        ("{ provider = 'open', model = 'm', reasoning_effort = 'low' }",
         ["roles.parent.reasoning_effort: requires reasoning = true"]),
        ("{ provider = 'open', model = 'm', reasoning = true, reasoning_effort = 'none' }",
         ['roles.parent.reasoning_effort: "none" cannot be combined with reasoning = true']),
        ("{ provider = 'claude', model = 'm', reasoning_effort = 'none' }",
         ['roles.parent.reasoning_effort: "none" is not available on the anthropic protocol']),
        ("{ provider = 'claude', model = 'm', reasoning = true, temperature = 1 }",
         ["roles.parent.temperature: the anthropic protocol takes none with reasoning = true"]),
        ("{ provider = 'claude', model = 'm', thinking_budget = 2000 }",
         ["roles.parent.thinking_budget: requires reasoning = true"]),
        ("{ provider = 'claude', model = 'm', reasoning = true, reasoning_effort = 'low', thinking_budget = 2000 }",
         ["roles.parent.thinking_budget: cannot be combined with reasoning_effort"]),
        ("{ provider = 'open', model = 'm', reasoning = true, thinking_budget = 2000 }",
         ["roles.parent.thinking_budget: only valid on the anthropic protocol"]),
        ("{ provider = 'claude', model = 'm', reasoning = true, thinking_budget = 1023 }",
         ["roles.parent.thinking_budget: must be at least 1024"]),
        ("{ provider = 'claude', model = 'm', reasoning = true, thinking_budget = 2000, max_tokens = 2000 }",
         ["roles.parent.thinking_budget: must be less than max_tokens"]),
        ("{ provider = 'gone', model = 'm', thinking_budget = 5, max_tokens = 5, reasoning_effort = 'low' }",
         ["roles.parent: unknown provider `gone`; known: `claude`, `open`",
          "roles.parent.reasoning_effort: requires reasoning = true",
          "roles.parent.thinking_budget: requires reasoning = true",
          "roles.parent.thinking_budget: cannot be combined with reasoning_effort",
          "roles.parent.thinking_budget: only valid on the anthropic protocol",
          "roles.parent.thinking_budget: must be at least 1024",
          "roles.parent.thinking_budget: must be less than max_tokens"]),
    ],
)  # fmt: skip
def test_a_rule_of_roles(problems: Lines, role: str, lines: list[str]) -> None:
    assert problems(base=roles(role)) == lines


@pytest.mark.parametrize(
    "role",
    [
        "{ provider = 'open', model = 'm', reasoning_effort = 'none', max_tokens = 1024 }",
        "{ provider = 'open', model = 'm', reasoning = true, reasoning_effort = 'high', temperature = 2 }",
        "{ provider = 'claude', model = 'm', reasoning = true, thinking_budget = 1024, max_tokens = 1025 }",
        "{ provider = 'claude', model = 'm', temperature = 0 }",
    ],
)
def test_a_role_may_be_so(problems: Lines, role: str) -> None:
    assert problems(base=roles(role)) == []


def test_an_embedder_needs_the_openai_protocol(problems: Lines) -> None:
    text = roles("{ provider = 'open', model = 'm' }") + "embedder = { provider = 'claude', model = 'm' }\n"
    (line,) = problems(base=text)
    assert line == ('roles.embedder: the anthropic protocol has no embeddings, use a provider with protocol = "openai"')
    assert problems(base=text.replace("embedder", "judge")) == []


def topic(name: str, subtopics: int = 1, questions: int = 1) -> str:
    return f"[[topics]]\nname = '{name}'\nsubtopics = {subtopics}\nquestions_per_subtopic = {questions}\n"


def test_rules_of_topics(problems: Lines) -> None:
    assert problems(topic("a", 0, 0) + topic("a") + topic("a") + topic("b", -1)) == [
        "topics.a.subtopics: must be at least 1",
        "topics.a.questions_per_subtopic: must be at least 1",
        "topics: duplicate name `a`",
        "topics: duplicate name `a`",
        "topics.b.subtopics: must be at least 1",
    ]
    assert problems("") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("concurrency = 0", "must be at least 1"),
        ("concurrency = 1025", "must be at most 1024"),
        ("max_retries = -1", "must be at least 0"),
        ("eval_ratio = 0", "must be in (0, 1)"),
        ("eval_ratio = 1", "must be in (0, 1)"),
        ("eval_ratio = nan", "must be in (0, 1)"),
        ("dedup_threshold = 0.0", "must be in (0, 1]"),
        ("dedup_threshold = 1.01", "must be in (0, 1]"),
        ("embedding_threshold = nan", "must be in (0, 1]"),
        ("question_batch_size = 0", "must be at least 1"),
        ("request_timeout_secs = 0", "must be at least 1"),
        ("max_cost_usd = 0", "must be greater than 0"),
        ("max_cost_usd = inf", "must be greater than 0"),
        ("max_cost_usd = nan", "must be greater than 0"),
        ("seed = -1", "must be at least 0"),
    ],
)
def test_a_rule_of_the_pipeline(problems: Lines, line: str, reason: str) -> None:
    assert problems(f"[pipeline]\n{line}\n") == [f"pipeline.{line.split()[0]}: {reason}"]


def test_bounds_of_the_pipeline_that_are_included(problems: Lines) -> None:
    text = "[pipeline]\nconcurrency = 1024\nmax_retries = 0\ndedup_threshold = 1\nembedding_threshold = 1\n"
    assert problems(text + "seed = 9223372036854775807\neval_ratio = 0.999\nmax_cost_usd = 0.01\n") == []


def training(*lines: str, model: str = "m", adapter: str = "lora", target: str = "here") -> str:
    head = f"[training]\ntarget = '{target}'\nbase_model = '{model}'\nadapter = '{adapter}'\n"
    return head + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((f"{key} = 0", "must be at least 1") for key in (
            "epochs", "lora_r", "lora_alpha", "sequence_len", "micro_batch_size", "gradient_accumulation_steps",
            "evals_per_epoch", "saves_per_epoch")),
        ("optimizer = ''", "must not be empty"),
        ("lr_scheduler = ' '", "must not be empty"),
        ("hub_model_id = ''", "must not be empty"),
        ("learning_rate = 0", "must be greater than 0"),
        ("learning_rate = inf", "must be greater than 0"),
        ("learning_rate = nan", "must be greater than 0"),
        ("lora_dropout = 1", "must be in [0, 1)"),
        ("lora_dropout = -0.1", "must be in [0, 1)"),
        ("lora_dropout = nan", "must be in [0, 1)"),
    ],
)  # fmt: skip
def test_a_rule_of_training(problems: Lines, line: str, reason: str) -> None:
    key = line.split()[0]
    assert problems(training(line)) == [f"training.{key}: {reason}"]
    assert problems(training(line, adapter="full")) == [f"training.{key}: {reason}"]


def test_training_names_a_declared_target(problems: Lines) -> None:
    assert problems(training(target="hree")) == [
        "training.target: unknown target `hree`; did you mean `here`? known: `here`"
    ]


def test_a_full_training_has_nothing_to_merge(problems: Lines) -> None:
    assert problems(training("merge = true", adapter="full")) == ['training.merge: needs adapter = "lora" or "qlora"']
    assert problems(training("merge = true", adapter="qlora")) == []


EXTRA_TYPED = {
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


@pytest.mark.parametrize("key", EXTRA_TYPED)
def test_an_extra_setting_with_a_key_of_its_own_is_refused(problems: Lines, key: str) -> None:
    assert problems(training("[training.axolotl_extra]", f"{key} = 1")) == [
        f"training.axolotl_extra.{key}: set {EXTRA_TYPED[key]} instead"
    ]


@pytest.mark.parametrize(
    "key",
    [
        "datasets", "test_datasets", "val_set_size", "output_dir", "dataset_prepared_path", "plugins",
        "resume_from_checkpoint",
    ],
)  # fmt: skip
def test_an_extra_setting_that_is_managed_is_refused(problems: Lines, key: str) -> None:
    reason = f"training.axolotl_extra.{key}: managed by overbrainer, cannot be overridden"
    assert problems(training("[training.axolotl_extra]", f"{key} = 1")) == [reason]
    assert problems(training(), **{f"OVERBRAINER_TRAINING__AXOLOTL_EXTRA__{key.upper()}": "x"}) == [reason]


def test_checkpoints_must_hold_the_optimizer(problems: Lines) -> None:
    (line,) = problems(training("[training.axolotl_extra]", "save_only_model = true"))
    assert line == (
        "training.axolotl_extra.save_only_model: such checkpoints lack the optimizer state and cannot be resumed, "
        "remove it"
    )
    assert problems(training("[training.axolotl_extra]", "save_only_model = 'true'")) == []
    assert problems(training("[training.axolotl_extra.deep]", "datasets = 1")) == []


@pytest.mark.parametrize("model", ["tiny-0.2m", "tiny-0.5m", "tiny-0.9m"])
def test_the_tiny_trainer_takes_its_three_models(problems: Lines, model: str) -> None:
    assert problems(training("trainer = 'tiny'", "epochs = 2", model=model, adapter="full")) == []


def test_the_tiny_trainer_refuses_other_models_and_adapters(problems: Lines) -> None:
    assert problems(training("trainer = 'tiny'", model="Qwen/Qwen3-4B", adapter="qlora")) == [
        "training.base_model: must be one of tiny-0.2m, tiny-0.5m, tiny-0.9m",
        'training.adapter: trainer "tiny" needs full',
    ]


@pytest.mark.parametrize(
    "line",
    [
        "lora_r = 16", "lora_alpha = 32", "lora_dropout = 0.05", "optimizer = 'x'", "lr_scheduler = 'x'",
        "sample_packing = true", "merge = false", "hub_model_id = 'me/x'", "axolotl_extra = {}",
    ],
)  # fmt: skip
def test_the_tiny_trainer_refuses_a_key_it_does_not_use(problems: Lines, line: str) -> None:
    assert problems(training("trainer = 'tiny'", line, model="tiny-0.5m", adapter="full")) == [
        f'training.{line.split()[0]}: not used by trainer "tiny"'
    ]


def test_the_tiny_trainers_rules_hold_for_the_environment(problems: Lines) -> None:
    text = training("trainer = 'tiny'", model="tiny-0.5m", adapter="full")
    assert problems(text, OVERBRAINER_TRAINING__MERGE="false") == ['training.merge: not used by trainer "tiny"']
    assert problems(text, OVERBRAINER_TRAINING__AXOLOTL_EXTRA__X="1") == [
        'training.axolotl_extra: not used by trainer "tiny"'
    ]
    assert problems(training(model="tiny-0.5m", adapter="qlora"), OVERBRAINER_TRAINING__TRAINER="tiny") == [
        'training.adapter: trainer "tiny" needs full'
    ]


def test_the_tiny_trainer_does_not_run_on_a_pod(problems: Lines) -> None:
    text = "[targets.gpu]\nkind = 'runpod'\ngpu_types = 'auto'\nmax_hours = 1\n"
    assert problems(training("trainer = 'tiny'", model="tiny-0.5m", adapter="full", target="gpu") + text) == [
        'training.target: trainer "tiny" does not run on a runpod target'
    ]


def test_problems_come_in_a_fixed_order(problems: Lines, base: str) -> None:
    text = (
        f'hf_token = "x"\n{base}'
        + topic("a", 0)
        + "[compare]\nmax_tokens = 0\n[hub]\nrepo = 'x'\n[export]\nquantize = 'x'\n[pipeline]\nconcurrency = 0\n"
        + training("epochs = 0", target="here")
        + "[targets.box]\nkind = 'local'\nruntime = 'native'\nvenv = ''\n[providers.A]\nprotocol = 'openai'\n"
    )
    found = problems(base=text, OVERBRAINER_RUNPOD__BASE_URL="http://x")
    assert [line.partition(":")[0].partition(" ")[0] for line in found] == [
        "hf_token",
        "providers.A",
        "topics.a.subtopics",
        "pipeline.concurrency",
        "training.epochs",
        "export.quantize",
        "targets.box.venv",
        "runpod.base_url",
        "hub.repo",
        "compare.max_tokens",
    ]
