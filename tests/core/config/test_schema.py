"""The schema: every key has a kind, an example where it must be given, a default where it need not."""

from __future__ import annotations

from dataclasses import fields

import pytest
from pydantic.fields import FieldInfo

from overbrainer_core.config import schema, settings
from overbrainer_core.config.kinds import Kind, Typed

SECTIONS = {
    "topics": schema.TopicTable,
    "providers": schema.ProviderTable,
    "roles": schema.RoleTable,
    **schema.SINGLE_TABLES,
}


@pytest.mark.parametrize("model", [*SECTIONS.values(), *schema.TARGET_TABLES.values()])
def test_every_key_has_a_kind(model: type[schema.Table]) -> None:
    found = schema.fields_of(model)
    assert list(found) == list(model.model_fields)
    assert all(isinstance(kind, Kind) for kind in found.values())


def required(model: type[schema.Table]) -> list[str]:
    fields_of_model: dict[str, FieldInfo] = model.model_fields
    return [name for name, item in fields_of_model.items() if item.is_required()]


@pytest.mark.parametrize(
    ("section", "model"), [*SECTIONS.items(), *(("targets", model) for model in schema.TARGET_TABLES.values())]
)
def test_every_required_key_is_told_with_an_example(section: str, model: type[schema.Table]) -> None:
    _, problems = schema.check_table(model, {}, "here", section=section, variables={})
    assert [problem.path for problem in problems] == [f"here.{name}" for name in required(model)]
    assert all(
        f"`here`: missing field `{name}`, for example {name} = " in str(problem)
        for name, problem in zip(required(model), problems, strict=True)
    )


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (schema.TopicTable, settings.Topic),
        (schema.ProviderTable, settings.Provider),
        (schema.RoleTable, settings.Role),
        (schema.PipelineTable, settings.Pipeline),
        (schema.TrainingTable, settings.Training),
        (schema.LocalTable, settings.LocalTarget),
        (schema.SshTable, settings.SshTarget),
    ],
)
def test_a_tables_keys_are_the_fields_of_its_value(model: type[schema.Table], value: type) -> None:
    of_value = {item.name for item in fields(value)} - {"given"}
    assert of_value - {"name"} == set(model.model_fields) - {"name"}


@pytest.mark.parametrize("name", settings.TABLE_DEFAULTS)
def test_a_table_without_a_class_has_a_default_for_every_key(name: str) -> None:
    assert set(settings.TABLE_DEFAULTS[name]) == set(schema.SINGLE_TABLES[name].model_fields)


def test_a_runpod_target_has_a_default_for_every_key_but_its_kind() -> None:
    assert set(settings.RUNPOD_DEFAULTS) == set(schema.RunpodTargetTable.model_fields) - {"kind"}


def test_a_key_has_the_same_kind_in_targets_of_every_kind() -> None:
    for model in schema.TARGET_TABLES.values():
        for name, kind in schema.fields_of(model).items():
            assert schema.target_fields()[name].expected == kind.expected


def test_only_given_keys_come_back_typed() -> None:
    given = {"provider": "p", "model": "m", "max_tokens": "5", "temperature": Typed(0.5)}
    table, problems = schema.check_table(schema.RoleTable, given, "roles.parent", section="roles", variables={})
    assert problems == []
    assert table == {"provider": "p", "model": "m", "max_tokens": 5, "temperature": 0.5}


def test_where_a_table_lacks_a_key_and_has_an_unknown_one_the_unknown_is_told() -> None:
    given = {"provider": "p", "modle": "m"}
    _, problems = schema.check_table(schema.RoleTable, given, "roles.parent", section="roles", variables={})
    assert [str(problem) for problem in problems] == [
        "`roles.parent`: unknown field `modle`, expected one of `provider`, `model`, `reasoning`, `max_tokens`, "
        "`temperature`, `reasoning_effort`, `thinking_budget`; did you mean `model`?"
    ]


def test_no_word_of_the_library_and_no_value_leaves() -> None:
    given = {"provider": 5, "model": ["hidden"], "reasoning": "hidden", "reasoning_effort": "hidden"}
    _, problems = schema.check_table(schema.RoleTable, given, "roles.parent", section="roles", variables={})
    assert [str(problem) for problem in problems] == [
        "roles.parent.provider: has the wrong type, expected a string",
        "roles.parent.model: has the wrong type, expected a string",
        "roles.parent.reasoning: has the wrong type, expected true or false",
        "roles.parent.reasoning_effort: invalid value, expected one of `none`, `low`, `medium`, `high`",
    ]


def test_a_table_prints_its_secrets_as_a_mask() -> None:
    table = schema.ProviderTable.model_validate({"protocol": "openai", "api_key": "hidden"})
    assert "hidden" not in repr(table)
