"""Which tables and keys may `overbrainer.toml` hold, of which kind each, and which must be there?

One pydantic model for each table; a field's kind (`config.kinds`) reads its values. Defaults are in
`config.settings`: a key that was not given stays unset here. Pydantic is used in this module alone and none of its
words leave it: `check_table` gives problems in ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from overbrainer_core.config import kinds
from overbrainer_core.config.hints import known_hint, name_text
from overbrainer_core.config.kinds import Kind, choice
from overbrainer_core.config.settings import SecretText
from overbrainer_core.errors import Problem

Text = Annotated[str, kinds.TEXT]
Secret = Annotated[SecretText, kinds.SECRET]
Count = Annotated[int, kinds.COUNT]
Seconds = Annotated[int, kinds.SECONDS]
Seed = Annotated[int, kinds.SEED]
Number = Annotated[float, kinds.NUMBER]
Boolean = Annotated[bool, kinds.BOOLEAN]
TargetCount = Annotated[int, kinds.TARGET_COUNT]
TargetNumber = Annotated[float, kinds.TARGET_NUMBER]
Names = Annotated[Any, kinds.NAMES]
Free = Annotated[dict[str, Any], kinds.FREE]

Protocol = Annotated[str, choice("openai", "anthropic")]
Effort = Annotated[str, choice("none", "low", "medium", "high")]
Trainer = Annotated[str, choice("axolotl", "tiny")]
Adapter = Annotated[str, choice("lora", "qlora", "full")]
TargetKind = Annotated[str, choice("local", "ssh", "runpod")]
Runtime = Annotated[str, choice("docker", "native")]
Engine = Annotated[str, choice("docker", "podman")]
SshClient = Annotated[str, choice("openssh", "builtin")]


class Table(BaseModel):
    """A table: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ProjectTable(Table):
    """`[project]`."""

    name: Text


class TopicTable(Table):
    """An item of `[[topics]]`."""

    name: Text
    description: Text | None = None
    subtopics: Count
    questions_per_subtopic: Count


class ProviderTable(Table):
    """`[providers.<name>]`."""

    protocol: Protocol
    base_url: Text | None = None
    api_key: Secret | None = None


class RoleTable(Table):
    """A role of `[roles]`."""

    provider: Text
    model: Text
    reasoning: Boolean | None = None
    max_tokens: Count | None = None
    temperature: Number | None = None
    reasoning_effort: Effort | None = None
    thinking_budget: Count | None = None


class PipelineTable(Table):
    """`[pipeline]`."""

    concurrency: Count | None = None
    max_retries: Count | None = None
    dedup_threshold: Number | None = None
    embedding_threshold: Number | None = None
    question_batch_size: Count | None = None
    request_timeout_secs: Seconds | None = None
    eval_ratio: Number | None = None
    seed: Seed | None = None
    include_system_prompt: Boolean | None = None
    max_cost_usd: Number | None = None


class TrainingTable(Table):
    """`[training]`."""

    target: Text
    trainer: Trainer | None = None
    base_model: Text
    adapter: Adapter
    epochs: Count | None = None
    learning_rate: Number | None = None
    lora_r: Count | None = None
    lora_alpha: Count | None = None
    lora_dropout: Number | None = None
    sequence_len: Count | None = None
    micro_batch_size: Count | None = None
    gradient_accumulation_steps: Count | None = None
    optimizer: Text | None = None
    lr_scheduler: Text | None = None
    sample_packing: Boolean | None = None
    evals_per_epoch: Count | None = None
    saves_per_epoch: Count | None = None
    merge: Boolean | None = None
    hub_model_id: Text | None = None
    axolotl_extra: Free | None = None


class LocalTable(Table):
    """`[targets.<name>]` of kind `local`."""

    kind: TargetKind
    runtime: Runtime
    engine: Engine | None = None
    image: Text | None = None
    gpus: Text | None = None
    venv: Text | None = None


class SshTable(LocalTable):
    """`[targets.<name>]` of kind `ssh`."""

    host: Text | None = None
    workdir: Text | None = None
    ssh_client: SshClient | None = None


class RunpodTargetTable(Table):
    """`[targets.<name>]` of kind `runpod`."""

    kind: TargetKind
    gpu_types: Names
    min_vram_gb: TargetCount | None = None
    max_price_per_hour: TargetNumber | None = None
    gpu_count: TargetCount | None = None
    image: Text | None = None
    venv: Text | None = None
    container_disk_gb: TargetCount | None = None
    max_hours: TargetNumber
    max_cost_usd: TargetNumber | None = None
    boot_grace_minutes: TargetCount | None = None
    retrieve_grace_minutes: TargetCount | None = None
    data_center_ids: Names | None = None
    network_volume_id: Text | None = None
    max_volume_gb: TargetCount | None = None
    ssh_client: SshClient | None = None


class ExportTable(Table):
    """`[export]`."""

    after_training: Boolean | None = None
    quantize: Annotated[str, kinds.QUANTIZE] | None = None
    ollama_name: Text | None = None


class HubTable(Table):
    """`[hub]`."""

    repo: Text | None = None
    private: Boolean | None = None
    after_training: Boolean | None = None
    base_url: Text | None = None


class CompareTable(Table):
    """`[compare]`."""

    parent_price_in: Number | None = None
    parent_price_out: Number | None = None
    child_price_per_hour: Number | None = None
    max_tokens: Count | None = None
    temperature: Number | None = None
    server_start_secs: Seconds | None = None
    image: Text | None = None
    judge_orders: Annotated[str, choice("one", "both")] | None = None
    server: Annotated[str, choice("release", "builtin")] | None = None


class MetricsTable(Table):
    """`[metrics]`."""

    listen: Annotated[str, kinds.ADDRESS] | None = None


class RunpodTable(Table):
    """`[runpod]`, set from the environment alone."""

    api_key: Secret | None = None
    base_url: Text | None = None


SINGLE_TABLES: Mapping[str, type[Table]] = {
    "project": ProjectTable,
    "pipeline": PipelineTable,
    "training": TrainingTable,
    "export": ExportTable,
    "hub": HubTable,
    "compare": CompareTable,
    "metrics": MetricsTable,
    "runpod": RunpodTable,
}
TARGET_TABLES: Mapping[str, type[Table]] = {"local": LocalTable, "ssh": SshTable, "runpod": RunpodTargetTable}
ROLE_NAMES = ("generator", "parent", "embedder", "judge")
REQUIRED_ROLES = ("generator", "parent")
ROOT_LEAVES: Mapping[str, Kind] = {"hf_token": kinds.SECRET, "log": kinds.TEXT}
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
def fields_of(model: type[Table]) -> Mapping[str, Kind]:
    """The kind of each key of a table, in the order they are listed to people."""
    return {name: _kind(field.metadata, field.annotation) for name, field in model.model_fields.items()}


def _kind(metadata: list[Any], annotation: Any) -> Kind:
    """The kind in a field's own annotation, or inside `... | None`."""
    for item in metadata:
        if isinstance(item, Kind):
            return item
    for part in get_args(annotation):
        found = [item for item in getattr(part, "__metadata__", ()) if isinstance(item, Kind)]
        if found:
            return found[0]
    raise TypeError("a field of the schema has no kind")


@cache
def target_fields() -> Mapping[str, Kind]:
    """The keys of targets of every kind; a key has the same kind wherever it stands."""
    return {name: kind for model in TARGET_TABLES.values() for name, kind in fields_of(model).items()}


def check_table(
    model: type[Table], values: object, path: str, *, section: str, variables: Mapping[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """The given keys of one table with their types, and what is wrong with it in the order of its keys.

    Args:
        path: the table as it is named to people, `topics[0]`.
        section: the table's kind for hints, such as `topics`.
        variables: dotted keys that a variable set, with its name.
    """
    if not isinstance(values, dict):
        return {}, [wrong_type(path, "a table")]
    try:
        table = model.model_validate(values)
    except ValidationError as error:
        found = [(str(item["loc"][0]), item["type"]) for item in error.errors(include_url=False, include_input=False)]
    else:
        return {name: getattr(table, name) for name in fields_of(model) if name in table.model_fields_set}, []
    unknown = [name for name, kind in found if kind == "extra_forbidden"]
    problems = [unknown_field(path, name, _listed(model, section), variables=variables) for name in unknown]
    for name, kind in found:
        if kind == "missing" and not unknown:
            problems.append(missing_field(path, name, section=section))
        elif kind not in ("missing", "extra_forbidden"):
            problems.append(Problem(f"{path}.{name}", fields_of(model)[name].refusal))
    return {}, problems


def _listed(model: type[Table], section: str) -> tuple[str, ...]:
    hidden = ENVIRONMENT_ONLY.get(section, ()) or ENVIRONMENT_ONLY.get(f"{section}.*", ())
    return tuple(name for name in fields_of(model) if name not in hidden) or tuple(fields_of(model))


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
