"""The schema: every key has a kind, an example where it must be given, a default where it need not."""

from __future__ import annotations

from dataclasses import fields

import pytest

from overbrainer_core.config import schema, settings
from overbrainer_core.config.kinds import Kind, Typed

SECTIONS = {
    "topics": schema.TOPIC,
    "providers": schema.PROVIDER,
    "roles": schema.ROLE,
    **schema.SINGLE_TABLES,
}


@pytest.mark.parametrize("model", [*SECTIONS.values(), *schema.TARGET_TABLES.values()])
def test_every_key_has_a_kind(model: schema.Table) -> None:
    assert model.fields
    assert all(isinstance(kind, Kind) for kind in model.fields.values())


def test_an_extended_table_keeps_its_keys_and_what_must_be_there() -> None:
    assert list(schema.SSH_TARGET.fields)[: len(schema.LOCAL_TARGET.fields)] == list(schema.LOCAL_TARGET.fields)
    assert schema.SSH_TARGET.required == schema.LOCAL_TARGET.required


def required(model: schema.Table) -> list[str]:
    return [name for name in model.fields if name in model.required]


@pytest.mark.parametrize(
    ("section", "model"), [*SECTIONS.items(), *(("targets", model) for model in schema.TARGET_TABLES.values())]
)
def test_every_required_key_is_told_with_an_example(section: str, model: schema.Table) -> None:
    _, problems = schema.check_table(model, {}, "here", section=section, variables={})
    assert [problem.path for problem in problems] == [f"here.{name}" for name in required(model)]
    assert all(
        f"`here`: missing field `{name}`, for example {name} = " in str(problem)
        for name, problem in zip(required(model), problems, strict=True)
    )


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (schema.TOPIC, settings.Topic),
        (schema.PROVIDER, settings.Provider),
        (schema.ROLE, settings.Role),
        (schema.PIPELINE, settings.Pipeline),
        (schema.TRAINING, settings.Training),
        (schema.LOCAL_TARGET, settings.LocalTarget),
        (schema.SSH_TARGET, settings.SshTarget),
    ],
)
def test_a_tables_keys_are_the_fields_of_its_value(model: schema.Table, value: type) -> None:
    of_value = {item.name for item in fields(value)} - {"given"}
    assert of_value - {"name"} == set(model.fields) - {"name"}


@pytest.mark.parametrize("name", settings.TABLE_DEFAULTS)
def test_a_table_without_a_class_has_a_default_for_every_key(name: str) -> None:
    assert set(settings.TABLE_DEFAULTS[name]) == set(schema.SINGLE_TABLES[name].fields)


def test_a_runpod_target_has_a_default_for_every_key_but_its_kind() -> None:
    assert set(settings.RUNPOD_DEFAULTS) == set(schema.RUNPOD_TARGET.fields) - {"kind"}


def test_a_key_has_the_same_kind_in_targets_of_every_kind() -> None:
    for model in schema.TARGET_TABLES.values():
        for name, kind in model.fields.items():
            assert schema.target_fields()[name].expected == kind.expected


def test_only_given_keys_come_back_typed() -> None:
    given = {"provider": "p", "model": "m", "max_tokens": "5", "temperature": Typed(0.5)}
    table, problems = schema.check_table(schema.ROLE, given, "roles.parent", section="roles", variables={})
    assert problems == []
    assert table == {"provider": "p", "model": "m", "max_tokens": 5, "temperature": 0.5}


def test_where_a_table_lacks_a_key_and_has_an_unknown_one_the_unknown_is_told() -> None:
    given = {"provider": "p", "modle": "m"}
    _, problems = schema.check_table(schema.ROLE, given, "roles.parent", section="roles", variables={})
    assert [str(problem) for problem in problems] == [
        "`roles.parent`: unknown field `modle`, expected one of `provider`, `model`, `reasoning`, `max_tokens`, "
        "`temperature`, `reasoning_effort`, `thinking_budget`; did you mean `model`?"
    ]


def test_no_word_of_the_library_and_no_value_leaves() -> None:
    given = {"provider": 5, "model": ["hidden"], "reasoning": "hidden", "reasoning_effort": "hidden"}
    _, problems = schema.check_table(schema.ROLE, given, "roles.parent", section="roles", variables={})
    assert [str(problem) for problem in problems] == [
        "roles.parent.provider: has the wrong type, expected a string",
        "roles.parent.model: has the wrong type, expected a string",
        "roles.parent.reasoning: has the wrong type, expected true or false",
        "roles.parent.reasoning_effort: invalid value, expected one of `none`, `low`, `medium`, `high`",
    ]


def test_a_table_prints_its_secrets_as_a_mask() -> None:
    given = {"protocol": "openai", "api_key": "hidden"}
    table, problems = schema.check_table(schema.PROVIDER, given, "providers.p", section="providers", variables={})
    assert problems == []
    assert "hidden" not in repr(table)
