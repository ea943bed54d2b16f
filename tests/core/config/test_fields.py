"""What a form takes for each key: everything of the schema that may be edited, read by its kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.config.fields import (
    NOT_EDITABLE_KEYS,
    SECTION_TABLES,
    Field,
    FieldKind,
    InputError,
    default_of,
    fields_in,
    is_environment_only,
    schema_fields,
    value_text,
)
from overbrainer_core.config.settings import DEFAULT_IMAGE, Settings

ALL = [field for section in SECTION_TABLES for field in fields_in(section).values()]


@pytest.mark.parametrize("section", SECTION_TABLES)
def test_every_key_is_a_field_or_is_listed_as_none(section: str) -> None:
    first = section.partition(".")[0]
    fields = fields_in(section)
    for key in schema_fields(section):
        is_hidden = is_environment_only(section, key) or (first, key) in NOT_EDITABLE_KEYS
        assert (key in fields) != is_hidden
    assert set(fields) <= set(schema_fields(section))


def test_the_required_keys_are_those_of_the_schema() -> None:
    assert {(field.section, field.key) for field in ALL if field.is_required} == {
        ("project", "name"),
        ("topics", "name"),
        ("topics", "subtopics"),
        ("topics", "questions_per_subtopic"),
        ("providers", "protocol"),
        ("roles", "provider"),
        ("roles", "model"),
        ("training", "target"),
        ("training", "base_model"),
        ("training", "adapter"),
        ("targets.local", "runtime"),
        ("targets.ssh", "runtime"),
        ("targets.runpod", "gpu_types"),
        ("targets.runpod", "max_hours"),
    }


def test_keys_of_the_environment_are_no_fields() -> None:
    hidden = {
        (section, key)
        for section in SECTION_TABLES
        for key in schema_fields(section)
        if is_environment_only(section, key)
    }
    assert hidden == {
        ("providers", "base_url"),
        ("providers", "api_key"),
        ("targets.ssh", "host"),
        ("hub", "base_url"),
        ("runpod", "api_key"),
        ("runpod", "base_url"),
    }
    assert fields_in("runpod") == {}


def test_defaults_are_those_in_effect(parse: Callable[..., Settings]) -> None:
    settings = parse()
    for key in fields_in("pipeline"):
        assert default_of("pipeline", key) == getattr(settings.pipeline, key)
    for key in fields_in("roles"):
        if key not in ("provider", "model"):
            assert default_of("roles", key) == getattr(settings.roles.generator, key)
    for section in ("export", "hub", "compare", "metrics"):
        assert {key: field.default for key, field in fields_in(section).items()} == {
            key: value for key, value in settings.tables[section].items() if key != "base_url"
        }
    assert default_of("targets.local", "image") == DEFAULT_IMAGE
    assert default_of("targets.runpod", "gpu_count") == 1
    assert default_of("training", "axolotl_extra") == {}
    assert default_of("project", "name") is None


def refusal(section: str, key: str, text: str) -> str:
    """What is said of a typed text."""
    with pytest.raises(InputError) as raised:
        fields_in(section)[key].parse(text)
    assert len(text) < 3 or text not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("section", "key", "text", "reason"),
    [
        ("pipeline", "concurrency", "x12", "must be a whole number"),
        ("pipeline", "concurrency", "1.5", "must be a whole number"),
        ("pipeline", "concurrency", "2000", "must be between 1 and 1024"),
        ("pipeline", "question_batch_size", "0", "must be at least 1"),
        ("pipeline", "question_batch_size", "99999999999", "is too large"),
        ("pipeline", "seed", "-1", "must be at least 0"),
        ("pipeline", "eval_ratio", "1", "must be in (0, 1)"),
        ("pipeline", "dedup_threshold", "nan", "must be a number"),
        ("pipeline", "dedup_threshold", "1_0", "must be a number"),
        ("training", "lora_dropout", "1", "must be in [0, 1)"),
        ("training", "learning_rate", "1e999", "must be a number"),
        ("training", "learning_rate", "0", "must be greater than 0"),
        ("pipeline", "include_system_prompt", "yes", "must be true or false"),
        ("providers", "protocol", "smtp", "must be one of openai, anthropic"),
        ("targets.runpod", "gpu_types", ",", "must be auto or a comma-separated list"),
        ("targets.runpod", "gpu_types", "", "is required"),
        ("targets.runpod", "max_hours", "721", "must be in (0, 720]"),
        ("metrics", "listen", "localhost:9464", "must be an address such as 127.0.0.1:9464"),
        ("project", "name", "", "is required"),
    ],
)
def test_a_refusal_says_what_is_wanted_and_never_what_was_typed(section: str, key: str, text: str, reason: str) -> None:
    assert refusal(section, key, text) == reason


@pytest.mark.parametrize(
    ("section", "key", "text", "value"),
    [
        ("pipeline", "concurrency", " 8 ", 8),
        ("pipeline", "seed", "9223372036854775807", 2**63 - 1),
        ("roles", "temperature", "1", 1.0),
        ("training", "learning_rate", " 2e-4 ", 2e-4),
        ("pipeline", "include_system_prompt", " true", True),
        ("training", "adapter", "qlora ", "qlora"),
        ("targets.runpod", "gpu_types", " auto ", "auto"),
        ("targets.runpod", "gpu_types", "A, ,B,", ("A", "B")),
        ("targets.runpod", "data_center_ids", "  ", None),
        ("pipeline", "max_cost_usd", "", None),
        ("topics", "description", " a = 1 ", " a = 1 "),
        ("topics", "description", "", None),
        ("hub", "repo", " ", " "),
        ("metrics", "listen", "[::1]:0", "[::1]:0"),
    ],
)
def test_a_typed_text_is_read_by_its_kind(section: str, key: str, text: str, value: object) -> None:
    found = fields_in(section)[key].parse(text)
    assert (found, type(found)) == (value, type(value))


@given(st.sampled_from([field for field in ALL if field.kind is FieldKind.NUMBER]), st.floats(1e-12, 700))
def test_a_number_shown_by_the_form_is_read_back_as_the_same(field: Field, number: float) -> None:
    if field.bounds is None or field.bounds.admits(number):
        assert field.parse(value_text(number)) == number


def test_values_are_shown_as_they_are_typed() -> None:
    shown = [value_text(value) for value in (None, True, False, 6.0, 3e20, 5, "auto", ("a", "b"), " x ")]
    assert shown == ["", "true", "false", "6", "3e+20", "5", "auto", "a, b", " x "]


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("pipeline", "seed", True),
        ("pipeline", "seed", 1.0),
        ("pipeline", "eval_ratio", True),
        ("pipeline", "include_system_prompt", 1),
        ("project", "name", 5),
        ("targets.runpod", "gpu_types", ["A"]),
        ("targets.runpod", "gpu_types", "A"),
        ("metrics", "listen", "x"),
        ("training", "adapter", None),
    ],
)
def test_a_value_of_another_type_is_refused(section: str, key: str, value: object) -> None:
    with pytest.raises(InputError, match=r"^has the wrong type$"):
        fields_in(section)[key].check(value)
    with pytest.raises(InputError, match=r"^must be one of lora, qlora, full$"):
        fields_in("training")["adapter"].check("other")
    assert fields_in("pipeline")["max_cost_usd"].check(5) == 5.0


def test_enter_goes_round_the_choices() -> None:
    effort, adapter = fields_in("roles")["reasoning_effort"], fields_in("training")["adapter"]
    assert [effort.next_choice(value) for value in (None, "none", "high", "odd")] == ["none", "low", None, "none"]
    assert [adapter.next_choice(value) for value in ("lora", "full")] == ["qlora", "lora"]
    private = fields_in("hub")["private"]
    assert [private.next_choice(value) for value in (None, True, False)] == [False, False, True]


def test_the_line_below_the_form_says_what_is_taken() -> None:
    said = {
        key: fields_in(section)[key].accepts()
        for section, key in (
            ("pipeline", "concurrency"),
            ("pipeline", "max_cost_usd"),
            ("training", "adapter"),
            ("targets.runpod", "gpu_types"),
            ("metrics", "listen"),
            ("hub", "private"),
        )
    }
    assert said == {
        "concurrency": "a whole number [1, 1024], empty unsets",
        "max_cost_usd": "a number > 0, empty unsets",
        "adapter": "one of lora, qlora, full",
        "gpu_types": "auto or a comma-separated list",
        "listen": "an address such as 127.0.0.1:9464, empty unsets",
        "private": "true or false, empty unsets",
    }
