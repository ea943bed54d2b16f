"""The JSON Schema takes what the loader takes, by the same tables."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from overbrainer_core import assets
from overbrainer_core.config.fields import SECTION_TABLES, fields_in
from overbrainer_core.config.json_schema import config_schema
from overbrainer_core.config.schema import FILE_TABLES

SCHEMA = config_schema()
ALL_TARGETS = """
[targets.lab]
kind = "ssh"
runtime = "docker"
workdir = "x"
[targets.pod]
kind = "runpod"
gpu_types = ["A", "B"]
max_hours = 6.0
data_center_ids = "auto"
[training]
target = "lab"
base_model = "m"
adapter = "lora"
axolotl_extra = { warmup_ratio = 0.1 }
"""
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def faults(value: Any, rule: dict[str, Any], path: str = "") -> Iterator[str]:
    """Where a value breaks a rule, by the words of JSON Schema that ours uses."""
    if "$ref" in rule:
        rule = SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]]
    if "type" in rule and not _TYPES[rule["type"]](value):
        yield f"{path}: type"
        return
    if ("enum" in rule and value not in rule["enum"]) or ("const" in rule and value != rule["const"]):
        yield f"{path}: value"
    if "anyOf" in rule and all(list(faults(value, item, path)) for item in rule["anyOf"]):
        yield f"{path}: type"
    if _is_outside(value, rule):
        yield f"{path}: range"
    for item in rule.get("allOf", ()):
        if not list(faults(value, item["if"], path)):
            yield from faults(value, item["then"], path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from faults(item, rule.get("items", {}), f"{path}[{index}]")
    if isinstance(value, dict):
        yield from _object_faults(value, rule, path)


def _is_outside(value: Any, rule: dict[str, Any]) -> bool:
    return any(
        (
            "minimum" in rule and value < rule["minimum"],
            "maximum" in rule and value > rule["maximum"],
            "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"],
            "exclusiveMaximum" in rule and value >= rule["exclusiveMaximum"],
        )
    )


def _object_faults(value: dict[str, Any], rule: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}.{key}: missing" for key in rule.get("required", ()) if key not in value)
    more = rule.get("additionalProperties", True)
    for key, item in value.items():
        if key in rule.get("properties", {}):
            yield from faults(item, rule["properties"][key], f"{path}.{key}")
        elif isinstance(more, dict):
            yield from faults(item, more, f"{path}.{key}")
        elif not more:
            yield f"{path}.{key}: unknown"


def test_the_files_that_the_program_writes_are_valid(base: str) -> None:
    for text in (assets.template("overbrainer.toml"), assets.template("demo.toml"), base + ALL_TARGETS):
        assert list(faults(tomllib.loads(text), SCHEMA)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[pipeline]\nconcurrency = 0\n", ".pipeline.concurrency: range"),
        ("[pipeline]\neval_ratio = 1.0\n", ".pipeline.eval_ratio: range"),
        ("[pipeline]\nseed = true\n", ".pipeline.seed: type"),
        ("[pipeline]\nspeed = 1\n", ".pipeline.speed: unknown"),
        ('[export]\nquantize = "q4"\n', ".export.quantize: value"),
        ('[training]\ntarget = "here"\nadapter = "lora"\n', ".training.base_model: missing"),
        ('[targets.x]\nruntime = "native"\n', ".targets.x.kind: missing"),
        ('[targets.x]\nkind = "moon"\n', ".targets.x.kind: value"),
        ('[targets.x]\nkind = "local"\nruntime = "native"\nhost = "h"\n', ".targets.x.host: unknown"),
        ('[targets.x]\nkind = "runpod"\ngpu_types = 5\nmax_hours = 1\n', ".targets.x.gpu_types: type"),
        ('[runpod]\napi_key = "k"\n', ".runpod: unknown"),
        ('[[topics]]\nname = "t"\nsubtopics = 1\n', ".topics[0].questions_per_subtopic: missing"),
    ],
)
def test_a_fault_of_the_file_is_one_of_the_schema_and_of_the_loader(
    base: str, problems: Callable[..., list[str]], text: str, fault: str
) -> None:
    assert list(faults(tomllib.loads(base + text), SCHEMA)) == [fault]
    assert problems(text)


def test_tables_keys_defaults_and_meanings_are_those_of_the_loader() -> None:
    assert list(SCHEMA["properties"]) == list(FILE_TABLES)
    places = {"topics": "topic", "providers": "provider", "roles": "role"}
    for section in SECTION_TABLES:
        if section == "runpod":
            continue
        name = places.get(section, section.replace("targets.", "target_"))
        defined = SCHEMA["$defs"].get(name) or SCHEMA["properties"][section]
        for key, field in fields_in(section).items():
            described = defined["properties"][key]
            assert described["description"] == field.meaning
            expected = list(field.default) if isinstance(field.default, tuple) else field.default
            assert described.get("default") == expected
            assert (key in defined.get("required", ())) == field.is_required
    assert SCHEMA["properties"]["providers"]["propertyNames"] == {"pattern": "^[a-z0-9_]+$"}
