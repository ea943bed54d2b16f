"""What does `config check` say of the settings: plain lines, or one document with the origin of each value?

Secrets show as `***` when set and `(unset)` when not; base URLs and hosts are no secrets. A secret that comes from a
variable of other programs is told with that variable's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from overbrainer_core.config.env import SSH_CLIENT, Environment, setting_variables, ssh_client_choice
from overbrainer_core.config.settings import (
    LocalTarget,
    Pipeline,
    Provider,
    Role,
    RunpodTarget,
    SecretText,
    Settings,
    SshTarget,
    Target,
    Topic,
    Training,
)
from overbrainer_core.secrets.resolve import resolve_secret
from overbrainer_core.text import escape_controls

UNSET = "(unset)"
HUB_KEY_DEPRECATED = "training.hub_model_id is deprecated, use [hub] repo (overbrainer migrate moves it)"
_LATE_TABLES = ("export", "hub", "compare", "metrics")
_OPENSSH_HINT = '; set ssh_client = "builtin" (or OVERBRAINER_SSH_CLIENT=builtin) to use the built-in client'


def check_lines(settings: Settings, environment: Environment) -> list[str]:
    """The lines `key = value`, in a fixed order: project, topics, providers, roles, pipeline, training, targets, rest.

    Raises:
        ConfigError: `OVERBRAINER_SSH_CLIENT` names no client.
    """
    return [escape_controls(f"{key} = {value}") for key, value in _facts(settings, environment)]


def deprecations(settings: Settings) -> list[str]:
    """Deprecated settings in use, a line each."""
    training = settings.training
    return [HUB_KEY_DEPRECATED] if training is not None and training.hub_model_id is not None else []


def set_secrets(settings: Settings) -> list[tuple[str, SecretText]]:
    """Each secret that is set, by its dotted key: providers by name, the Runpod key, the Hugging Face token."""
    secrets = [(f"providers.{name}.api_key", provider.api_key) for name, provider in settings.providers.items()]
    secrets += [("runpod.api_key", settings.tables["runpod"]["api_key"]), ("hf_token", settings.hf_token)]
    return [(key, secret) for key, secret in secrets if secret is not None]


async def resolve_all(
    settings: Settings, environment: Environment, *, on_resolved: Callable[[str], None] = lambda key: None
) -> None:
    """Resolve every secret that is set, in order, telling each key; literals count as resolved.

    Raises:
        SecretError: the first that cannot be resolved.
    """
    for key, secret in set_secrets(settings):
        await resolve_secret(secret, key=key, environment=environment)
        on_resolved(key)


def _facts(settings: Settings, environment: Environment) -> Iterator[tuple[str, str]]:
    yield "project.name", settings.project_name
    for topic in settings.topics:
        yield f"topics.{topic.name}", f"{topic.subtopics} subtopics x {topic.questions_per_subtopic} questions"
    for provider in settings.providers.values():
        yield f"providers.{provider.name}.protocol", provider.protocol
        yield f"providers.{provider.name}.base_url", UNSET if provider.base_url is None else provider.base_url
        yield _secret(f"providers.{provider.name}.api_key", provider.api_key, settings)
    for name, role in _roles(settings):
        reasoning = value_text(role.reasoning)
        yield f"roles.{name}", f"{role.provider}/{role.model} (reasoning: {reasoning}, max_tokens: {role.max_tokens})"
    yield "pipeline", _pipeline(settings.pipeline)
    if settings.training is not None:
        yield "training", _training(settings.training)
    for target in settings.targets.values():
        yield f"targets.{target.name}", _target(target)
        if not isinstance(target, LocalTarget):
            yield f"targets.{target.name}.ssh_client", _client(target, environment)
    runpod = settings.tables["runpod"]
    yield _secret("runpod.api_key", runpod["api_key"], settings)
    yield "runpod.base_url", runpod["base_url"]
    yield _secret("hf_token", settings.hf_token, settings)
    yield from _late_tables(settings, environment)


def _late_tables(settings: Settings, environment: Environment) -> Iterator[tuple[str, str]]:
    """The tables that show only when the file or the environment sets something of them."""
    from_environment = {key[0] for key in setting_variables(environment)}
    for name in _LATE_TABLES:
        if name not in settings.file_keys and name not in from_environment:
            continue
        if name == "metrics":
            yield "metrics.listen", value_text(settings.tables[name]["listen"])
        else:
            yield name, ", ".join(f"{key}: {value_text(value)}" for key, value in settings.tables[name].items())


def value_text(value: object) -> str:
    """A value as the lines show it: `true`, `0.00002`, `6` for 6.0, lists with commas, `(unset)`.

    >>> value_text(6.0), value_text(1e-7), value_text(None)
    ('6', '0.0000001', '(unset)')
    """
    if value is None:
        return UNSET
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, tuple | list):
        return ", ".join(value_text(item) for item in value)
    return str(value)


def _secret(key: str, secret: SecretText | None, settings: Settings) -> tuple[str, str]:
    if secret is None:
        return key, UNSET
    variable = settings.standard_variables.get(key)
    return key, f"*** ({variable})" if variable else "***"


def _roles(settings: Settings) -> Iterator[tuple[str, Role]]:
    for name in ("generator", "parent", "embedder", "judge"):
        role: Role | None = getattr(settings.roles, name)
        if role is not None:
            yield name, role


def _pipeline(pipeline: Pipeline) -> str:
    values = {item.name: getattr(pipeline, item.name) for item in fields(pipeline)}
    return ", ".join(
        f"{key}: {value_text(value)}" for key, value in values.items() if key != "max_cost_usd" or value is not None
    )


def _training(training: Training) -> str:
    trainer = "" if training.trainer == "axolotl" else f", trainer {training.trainer}"
    return f"{training.base_model} on {training.target} ({training.adapter}{trainer})"


def _target(target: Target) -> str:
    if isinstance(target, RunpodTarget):
        return _runpod(target.values)
    runtime = _runtime(target)
    if isinstance(target, LocalTarget):
        return f"local, {runtime}"
    host = target.host or "(host unset)"
    return f"ssh {host} in {target.workdir}, {runtime}"


def _runtime(target: LocalTarget | SshTarget) -> str:
    if target.runtime == "native":
        return f"native, venv {target.venv or '(axolotl on PATH)'}"
    gpus = "" if target.gpus == "all" else f", gpus {target.gpus}"
    return f"{target.engine} {target.image}{gpus}"


def _runpod(values: Mapping[str, Any]) -> str:
    limits = []
    if values["min_vram_gb"] is not None:
        limits.append(f"at least {values['min_vram_gb']} GB")
    if values["max_price_per_hour"] is not None:
        limits.append(f"at most ${value_text(values['max_price_per_hour'])}/h per GPU")
    limit = f" ({', '.join(limits)})" if limits else ""
    cost = f", max ${value_text(values['max_cost_usd'])}" if values["max_cost_usd"] is not None else ""
    grow = f" (grows up to {values['max_volume_gb']} GB)" if values["max_volume_gb"] is not None else ""
    return (
        f"runpod {values['gpu_count']}x [{value_text(values['gpu_types'])}]{limit}, "
        f"max {value_text(values['max_hours'])}h{cost}, image {values['image']}, venv {values['venv']}, "
        f"disk {values['container_disk_gb']} GB, boot grace {values['boot_grace_minutes']} min, "
        f"retrieve grace {values['retrieve_grace_minutes']} min, "
        f"data centers {value_text(values['data_center_ids']) or 'any'}, "
        f"network volume {values['network_volume_id'] or 'none'}{grow}"
    )


def _client(target: SshTarget | RunpodTarget, environment: Environment) -> str:
    client = target.ssh_client if isinstance(target, SshTarget) else target.values["ssh_client"]
    chosen = f" ({SSH_CLIENT})" if ssh_client_choice(environment) else ""
    return f"{client}{chosen}{_OPENSSH_HINT if client == 'openssh' else ''}"


def check_document(settings: Settings, environment: Environment) -> dict[str, Any]:
    """Every effective key by its dotted name, with its value and origin, for `--json`.

    An origin is `shell`, `.env`, `file`, `default`, or the name of a variable of other programs; a secret's value is
    `***` or None.
    """
    variables = {".".join(key): variable.name for key, variable in setting_variables(environment).items()}
    client = ssh_client_choice(environment)

    def origin(key: str) -> str:
        if client and key.startswith("targets.") and key.endswith(".ssh_client"):
            return environment.origin(SSH_CLIENT)
        if key in variables:
            return environment.origin(variables[key])
        return settings.standard_variables.get(key) or ("file" if key in settings.file_keys else "default")

    return {
        "settings": [
            {"key": key, "value": _json_value(value), "origin": origin(key)} for key, value in _effective(settings)
        ]
    }


def _json_value(value: object) -> object:
    if isinstance(value, SecretText):
        return "***"
    if isinstance(value, tuple):
        return list(value)
    return value


def _effective(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "project.name", settings.project_name
    for topic in settings.topics:
        yield from _keys(f"topics.{topic.name}", topic, skip=())
    for provider in settings.providers.values():
        yield from _keys(f"providers.{provider.name}", provider, skip=("name",))
    for name, role in _roles(settings):
        yield from _keys(f"roles.{name}", role, skip=())
    yield from _keys("pipeline", settings.pipeline, skip=())
    if settings.training is not None:
        yield from _keys("training", settings.training, skip=("given", "axolotl_extra"))
        yield from _leaves("training.axolotl_extra", settings.training.axolotl_extra)
    for target in settings.targets.values():
        path = f"targets.{target.name}"
        if isinstance(target, RunpodTarget):
            yield f"{path}.kind", target.kind
            yield from ((f"{path}.{key}", value) for key, value in target.values.items())
        else:
            yield from _keys(path, target, skip=("name",))
    for name, table in settings.tables.items():
        yield from ((f"{name}.{key}", value) for key, value in table.items())
    yield "hf_token", settings.hf_token
    yield "log", settings.log


def _keys(
    path: str, value: Topic | Provider | Role | Pipeline | Training | LocalTarget | SshTarget, *, skip: tuple[str, ...]
) -> Iterator[tuple[str, object]]:
    for item in fields(value):
        if item.name not in skip:
            yield f"{path}.{item.name}", getattr(value, item.name)


def _leaves(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(f"{path}.{key}", value)
        else:
            yield f"{path}.{key}", value
