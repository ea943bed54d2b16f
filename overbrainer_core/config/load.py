"""What are the effective settings of a project, from its file and its environment?

Two steps: types (unknown, missing and wrongly typed keys), then the checks of `config.validate`. Keys that only the
environment may set are reported with either. A message names keys and places, never a value that was typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from overbrainer_core.config.env import (
    Environment,
    read_text,
    setting_variables,
    ssh_client_choice,
)
from overbrainer_core.config.settings import (
    RUNPOD_DEFAULTS,
    TABLE_DEFAULTS,
    LocalTarget,
    Pipeline,
    Provider,
    Role,
    Roles,
    RunpodTarget,
    SecretText,
    Settings,
    SshTarget,
    Target,
    Topic,
    Training,
)
from overbrainer_core.errors import ConfigError, Problem, describe
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.secrets.standard import HF_TOKEN, RUNPOD_API_KEY, provider_variable

NO_PROJECT = "; run `overbrainer init` to write a project here, or `overbrainer demo` to try one"
"""What to do where there is no `overbrainer.toml`."""
_SHOWN_PROBLEMS = 50
"""Most problems in the text of an error; all of them are in its `problems`."""


def load_settings(paths: ProjectPaths, environment: Environment) -> Settings:
    """The settings of a project.

    Raises:
        ConfigError: they cannot be read or used; `problems` names each setting at fault.
    """
    try:
        text = read_text(paths.config, shown=str(paths.config))
    except FileNotFoundError as error:
        raise ConfigError(f"cannot read {paths.config}: {describe(error)}{NO_PROJECT}") from error
    return parse_settings(text, environment)


def parse_settings(text: str, environment: Environment) -> Settings:
    """The settings that a text of `overbrainer.toml` gives: the same result and messages as from disk.

    Raises:
        ConfigError: the text cannot be used; `problems` names each setting at fault.
    """
    # what only reads records loads neither the schema nor a parser of TOML
    from overbrainer_core.config import tables as step
    from overbrainer_core.config import validate
    from overbrainer_core.config.toml_text import parse_toml

    document = parse_toml(text)
    keys = frozenset(step.file_keys(document))
    problems = step.take_environment_only(document)
    variables = setting_variables(environment)
    typing_problems = step.lay_over(document, variables)
    tables = step.check_tables(document, {".".join(key): variable.name for key, variable in variables.items()})
    typing_problems += tables.problems
    if typing_problems:
        # two variables below one wrong key say the same
        raise _invalid(list({str(problem): problem for problem in [*problems, *typing_problems]}.values()))
    client = ssh_client_choice(environment)
    settings = _with_standard_secrets(replace(_settings(tables, client), file_keys=keys), environment)
    problems += validate.check_settings(settings, tables.named["targets"])
    if problems:
        raise _invalid(problems)
    return settings


def _invalid(problems: Sequence[Problem]) -> ConfigError:
    """One problem on the line of the error, several each on a line of their own, up to a number that can be read."""
    if len(problems) == 1:
        return ConfigError(f"invalid configuration: {problems[0]}", problems=problems)
    lines = [str(problem) for problem in problems[:_SHOWN_PROBLEMS]]
    if len(problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(problems) - _SHOWN_PROBLEMS} more")
    return ConfigError("invalid configuration:" + "".join(f"\n  {line}" for line in lines), problems=problems)


def _settings(tables: Any, client: str | None) -> Settings:
    single: Mapping[str, dict[str, Any]] = tables.single
    roles = {name: Role(**values) for name, values in tables.named["roles"].items()}
    return Settings(
        project_name=single["project"]["name"],
        topics=tuple(Topic(**values) for values in tables.topics),
        providers={name: Provider(name=name, **values) for name, values in tables.named["providers"].items()},
        roles=Roles(**roles),
        pipeline=Pipeline(**single.get("pipeline", {})),
        training=_training(single["training"]) if "training" in single else None,
        targets={name: _target(name, values, client) for name, values in tables.named["targets"].items()},
        hf_token=single[""].get("hf_token"),
        tables={name: {**defaults, **single.get(name, {})} for name, defaults in TABLE_DEFAULTS.items()},
        log=single[""].get("log"),
    )


def _training(values: dict[str, Any]) -> Training:
    from overbrainer_core.config.tables import plain_extra  # loaded already, by the caller

    extra = plain_extra(values.get("axolotl_extra", {}))
    return Training(**{**values, "axolotl_extra": extra}, given=frozenset(values))


def _target(name: str, values: dict[str, Any], client: str | None) -> Target:
    """A target with its defaults; `OVERBRAINER_SSH_CLIENT` wins over its `ssh_client`."""
    if values["kind"] == "local":
        return LocalTarget(name=name, **values)
    chosen = {"ssh_client": client} if client else {}
    if values["kind"] == "ssh":
        return SshTarget(name=name, **{**values, **chosen})
    given = {key: value for key, value in values.items() if key != "kind"}
    return RunpodTarget(name=name, values={**RUNPOD_DEFAULTS, **given, **chosen})


def _with_standard_secrets(settings: Settings, environment: Environment) -> Settings:
    """Fill each secret that is unset from the variable that other programs use for it."""
    used: dict[str, str] = {}

    def fallback(key: str, current: SecretText | None, variable: str | None) -> SecretText | None:
        text = environment.get(variable) if variable and current is None else None
        if not variable or not text or not text.strip():
            return current
        used[key] = variable
        return SecretText(text)

    providers = {
        name: replace(
            provider,
            api_key=fallback(f"providers.{name}.api_key", provider.api_key, provider_variable(provider.base_url)),
        )
        for name, provider in settings.providers.items()
    }
    runpod = settings.tables["runpod"]
    runpod_key = fallback("runpod.api_key", runpod["api_key"], RUNPOD_API_KEY)
    return replace(
        settings,
        providers=providers,
        hf_token=fallback("hf_token", settings.hf_token, HF_TOKEN),
        tables={**settings.tables, "runpod": {**runpod, "api_key": runpod_key}},
        standard_variables=used,
    )
