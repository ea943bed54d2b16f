"""Which tables and keys may `overbrainer.toml` hold, of which kind each, and which must be there?

One description for each table; a key's kind (`config.kinds`) reads its values. Defaults are in `config.settings`: a
key that was not given stays unset here. No library checks the tables: each kind reads its values itself, so that
little is left to do, and importing one takes longer than all else that opens a project.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from overbrainer_core.config.hints import known_hint, name_text
from overbrainer_core.config.kinds import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    FREE,
    NAMES,
    NUMBER,
    QUANTIZE,
    SECONDS,
    SECRET,
    SEED,
    TARGET_COUNT,
    TARGET_NUMBER,
    TEXT,
    Kind,
    Typed,
    choice,
)
from overbrainer_core.errors import Problem


class Table:
    """The keys of one table: unknown keys are refused, those in `required` must be there."""

    def __init__(self, **keys: Kind | _Required) -> None:
        self.fields: Mapping[str, Kind] = {
            name: key.kind if isinstance(key, _Required) else key for name, key in keys.items()
        }
        """The kind of each key, in the order they are listed to people."""
        self.required = frozenset(name for name, key in keys.items() if isinstance(key, _Required))

    def extended(self, **keys: Kind | _Required) -> Table:
        """A table with these keys after its own."""
        own = {name: _Required(kind) if name in self.required else kind for name, kind in self.fields.items()}
        return Table(**own, **keys)


class _Required:
    """A key that must be there."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind


_ENGINE = choice("docker", "podman")
_SSH_CLIENT = choice("openssh", "builtin")
_TARGET_KIND = choice("local", "ssh", "runpod")

PROJECT = Table(name=_Required(TEXT))
"""`[project]`."""

TOPIC = Table(
    name=_Required(TEXT),
    description=TEXT,
    subtopics=_Required(COUNT),
    questions_per_subtopic=_Required(COUNT),
)
"""An item of `[[topics]]`."""

PROVIDER = Table(protocol=_Required(choice("openai", "anthropic")), base_url=TEXT, api_key=SECRET)
"""`[providers.<name>]`."""

ROLE = Table(
    provider=_Required(TEXT),
    model=_Required(TEXT),
    reasoning=BOOLEAN,
    max_tokens=COUNT,
    temperature=NUMBER,
    reasoning_effort=choice("none", "low", "medium", "high"),
    thinking_budget=COUNT,
)
"""A role of `[roles]`."""

PIPELINE = Table(
    concurrency=COUNT,
    max_retries=COUNT,
    dedup_threshold=NUMBER,
    embedding_threshold=NUMBER,
    question_batch_size=COUNT,
    request_timeout_secs=SECONDS,
    eval_ratio=NUMBER,
    seed=SEED,
    include_system_prompt=BOOLEAN,
    max_cost_usd=NUMBER,
)
"""`[pipeline]`."""

TRAINING = Table(
    target=_Required(TEXT),
    trainer=choice("axolotl", "tiny"),
    base_model=_Required(TEXT),
    adapter=_Required(choice("lora", "qlora", "full")),
    epochs=COUNT,
    learning_rate=NUMBER,
    lora_r=COUNT,
    lora_alpha=COUNT,
    lora_dropout=NUMBER,
    sequence_len=COUNT,
    micro_batch_size=COUNT,
    gradient_accumulation_steps=COUNT,
    optimizer=TEXT,
    lr_scheduler=TEXT,
    sample_packing=BOOLEAN,
    evals_per_epoch=COUNT,
    saves_per_epoch=COUNT,
    merge=BOOLEAN,
    hub_model_id=TEXT,
    axolotl_extra=FREE,
)
"""`[training]`."""

LOCAL_TARGET = Table(
    kind=_Required(_TARGET_KIND),
    runtime=_Required(choice("docker", "native")),
    engine=_ENGINE,
    image=TEXT,
    gpus=TEXT,
    venv=TEXT,
)
"""`[targets.<name>]` of kind `local`."""

SSH_TARGET = LOCAL_TARGET.extended(host=TEXT, workdir=TEXT, ssh_client=_SSH_CLIENT)
"""`[targets.<name>]` of kind `ssh`."""

RUNPOD_TARGET = Table(
    kind=_Required(_TARGET_KIND),
    gpu_types=_Required(NAMES),
    min_vram_gb=TARGET_COUNT,
    max_price_per_hour=TARGET_NUMBER,
    gpu_count=TARGET_COUNT,
    image=TEXT,
    venv=TEXT,
    container_disk_gb=TARGET_COUNT,
    max_hours=_Required(TARGET_NUMBER),
    max_cost_usd=TARGET_NUMBER,
    boot_grace_minutes=TARGET_COUNT,
    retrieve_grace_minutes=TARGET_COUNT,
    data_center_ids=NAMES,
    network_volume_id=TEXT,
    max_volume_gb=TARGET_COUNT,
    ssh_client=_SSH_CLIENT,
)
"""`[targets.<name>]` of kind `runpod`."""

EXPORT = Table(after_training=BOOLEAN, quantize=QUANTIZE, ollama_name=TEXT)
"""`[export]`."""

HUB = Table(repo=TEXT, private=BOOLEAN, after_training=BOOLEAN, base_url=TEXT)
"""`[hub]`."""

COMPARE = Table(
    parent_price_in=NUMBER,
    parent_price_out=NUMBER,
    child_price_per_hour=NUMBER,
    max_tokens=COUNT,
    temperature=NUMBER,
    server_start_secs=SECONDS,
    image=TEXT,
    judge_orders=choice("one", "both"),
    server=choice("release", "builtin"),
)
"""`[compare]`."""

METRICS = Table(listen=ADDRESS)
"""`[metrics]`."""

RUNPOD = Table(api_key=SECRET, base_url=TEXT)
"""`[runpod]`, set from the environment alone."""

SINGLE_TABLES: Mapping[str, Table] = {
    "project": PROJECT,
    "pipeline": PIPELINE,
    "training": TRAINING,
    "export": EXPORT,
    "hub": HUB,
    "compare": COMPARE,
    "metrics": METRICS,
    "runpod": RUNPOD,
}
TARGET_TABLES: Mapping[str, Table] = {"local": LOCAL_TARGET, "ssh": SSH_TARGET, "runpod": RUNPOD_TARGET}
ROLE_NAMES = ("generator", "parent", "embedder", "judge")
REQUIRED_ROLES = ("generator", "parent")
ROOT_LEAVES: Mapping[str, Kind] = {"hf_token": SECRET, "log": TEXT}
FILE_TABLES = (
    "project",
    "topics",
    "providers",
    "roles",
    "pipeline",
    "training",
    "targets",
    "export",
    "hub",
    "compare",
    "metrics",
)
ROOT_KEYS = (*FILE_TABLES, "runpod", *ROOT_LEAVES)

ENVIRONMENT_ONLY: Mapping[str, tuple[str, ...]] = {
    "providers.*": ("base_url", "api_key"),
    "targets.*": ("host",),
    "runpod": ("api_key", "base_url"),
    "hub": ("base_url",),
    "": ("hf_token", "log"),
}
"""Keys that only the environment may set, by table; `*` stands for a name."""

_EXAMPLES: Mapping[str, str] = {
    "project.name": 'name = "my_project"',
    "topics.name": 'name = "ownership"',
    "topics.subtopics": "subtopics = 10",
    "topics.questions_per_subtopic": "questions_per_subtopic = 30",
    "providers.protocol": 'protocol = "openai"',
    "roles.provider": 'provider = "openrouter"',
    "roles.model": 'model = "qwen/qwen3-235b-a22b"',
    "roles.generator": 'generator = { provider = "openrouter", model = "qwen/qwen3-235b-a22b" }',
    "roles.parent": 'parent = { provider = "openrouter", model = "qwen/qwen3-235b-a22b", reasoning = true }',
    "training.target": 'target = "local"',
    "training.base_model": 'base_model = "Qwen/Qwen3-4B"',
    "training.adapter": 'adapter = "qlora"',
    "targets.kind": 'kind = "local"',
    "targets.runtime": 'runtime = "native"',
    "targets.gpu_types": 'gpu_types = "auto"',
    "targets.max_hours": "max_hours = 6.0",
}
"""A line that would set a key that must be there."""

_MISSING_TABLES: Mapping[str, str] = {
    "project": 'for example [project] with name = "my_project"',
    "roles": "for example [roles] with generator = {...} and parent = {...}",
}


@cache
def target_fields() -> Mapping[str, Kind]:
    """The keys of targets of every kind; a key has the same kind wherever it stands."""
    return {name: kind for table in TARGET_TABLES.values() for name, kind in table.fields.items()}


def check_table(
    table: Table, values: object, path: str, *, section: str, variables: Mapping[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """The given keys of one table with their types, and what is wrong with it in the order of its keys.

    Args:
        path: the table as it is named to people, `topics[0]`.
        section: the table's kind for hints, such as `topics`.
        variables: dotted keys that a variable set, with its name.
    """
    if not isinstance(values, dict):
        return {}, [wrong_type(path, "a table")]
    unknown = [name for name in values if name not in table.fields]
    problems = [unknown_field(path, name, _listed(table, section), variables=variables) for name in unknown]
    checked: dict[str, Any] = {}
    for name, kind in table.fields.items():
        if name in values:
            value = values[name]
            try:
                checked[name] = value.value if isinstance(value, Typed) else kind.from_file(value)
            except ValueError:
                problems.append(Problem(f"{path}.{name}", kind.refusal))
        elif name in table.required and not unknown:
            problems.append(missing_field(path, name, section=section))
    return ({} if problems else checked), problems


def _listed(table: Table, section: str) -> tuple[str, ...]:
    hidden = ENVIRONMENT_ONLY.get(section, ()) or ENVIRONMENT_ONLY.get(f"{section}.*", ())
    return tuple(name for name in table.fields if name not in hidden) or tuple(table.fields)


def wrong_type(path: str, expected: str) -> Problem:
    """A value of another type than its key asks for."""
    return Problem(path, f"has the wrong type, expected {expected}")


def unknown_field(path: str, name: str, known: tuple[str, ...], *, variables: Mapping[str, str]) -> Problem:
    """A key that the table at `path` (empty: the file's root) does not have."""
    shown = name_text(name)
    reason = f"unknown field `{shown}`, expected one of " + ", ".join(f"`{item}`" for item in known)
    reason += known_hint(name, known, list_known=False)
    variable = variables.get(f"{path}.{name}" if path else name)
    if variable:
        reason += f" (set by {name_text(variable)})"
    return Problem(f"{path}.{shown}" if path else shown, reason, f"`{path}`: {reason}" if path else reason)


def missing_field(path: str, name: str, *, section: str) -> Problem:
    """A key or table that must be there, with a line that would set it."""
    if not path:
        reason = f"missing field `{name}`, {_MISSING_TABLES[name]}"
        return Problem(name, reason, reason)
    reason = f"missing field `{name}`, for example {_EXAMPLES[f'{section}.{name}']}"
    return Problem(f"{path}.{name}", reason, f"`{path}`: {reason}")
