"""What may `overbrainer.toml` hold, as a JSON Schema that editors complete and check against?

Made from the tables of the loader: a key that the loader takes is here, and no other. Keys that only the environment
may set are left out, since the file may not hold them. A number that is written as text loads too; the schema asks for
a number. What keys demand of each other is checked by `overbrainer config check` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overbrainer_core.config import kinds, schema
from overbrainer_core.config.fields import (
    SECTION_TABLES,
    default_of,
    is_environment_only,
    is_required,
    schema_fields,
)
from overbrainer_core.config.key_facts import FACTS, Bounds
from overbrainer_core.config.kinds import Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NAME = {"pattern": "^[a-z0-9_]+$"}
_NAMES: dict[str, Any] = {"anyOf": [{"const": "auto"}, {"type": "array", "items": {"type": "string"}}]}


def config_schema() -> dict[str, Any]:
    """The schema of the whole file."""
    single = [name for name in SECTION_TABLES if name in schema.SINGLE_TABLES and name != "runpod"]
    properties: dict[str, Any] = {name: _table(name) for name in single}
    properties["topics"] = {"type": "array", "items": {"$ref": "#/$defs/topic"}}
    properties["providers"] = _named({"$ref": "#/$defs/provider"})
    properties["roles"] = {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/role"} for name in schema.ROLE_NAMES},
        "required": list(schema.REQUIRED_ROLES),
        "additionalProperties": False,
    }
    properties["targets"] = _named({"$ref": "#/$defs/target"})
    return {
        "$schema": DIALECT,
        "title": "overbrainer.toml",
        "type": "object",
        "properties": {name: properties[name] for name in schema.FILE_TABLES},
        "required": ["project", "roles"],
        "additionalProperties": False,
        "$defs": {
            "topic": _table("topics"),
            "provider": _table("providers"),
            "role": _table("roles"),
            "target": _target(),
            **{f"target_{kind}": _table(f"targets.{kind}", const={"kind": kind}) for kind in schema.TARGET_TABLES},
        },
    }


def _named(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "propertyNames": _NAME, "additionalProperties": table}


def _target() -> dict[str, Any]:
    """A target by its kind: with a wrong kind, only the kind is told."""
    return {
        "type": "object",
        "properties": {"kind": {"enum": list(schema.TARGET_TABLES)}},
        "required": ["kind"],
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
                "then": {"$ref": f"#/$defs/target_{kind}"},
            }
            for kind in schema.TARGET_TABLES
        ],
    }


def _table(section: str, *, const: Mapping[str, str] | None = None) -> dict[str, Any]:
    keys = {key: kind for key, kind in schema_fields(section).items() if not is_environment_only(section, key)}
    fixed = const or {}
    required = [key for key in keys if is_required(section, key)]
    return {
        "type": "object",
        "properties": {
            key: {"const": fixed[key]} if key in fixed else _key(section, key, kind) for key, kind in keys.items()
        },
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _key(section: str, key: str, kind: Kind) -> dict[str, Any]:
    facts = FACTS[section][key]
    described: dict[str, Any] = {"description": facts.meaning, **_type(kind), **_bounds(facts.bounds)}
    default = default_of(section, key)
    if default is not None and default != {}:
        described["default"] = list(default) if isinstance(default, tuple) else default
    return described


def _type(kind: Kind) -> dict[str, Any]:
    if kind is kinds.NAMES:
        return _NAMES
    if kind.choices:
        return {"enum": list(kind.choices)}
    return {"type": kind.json_type}


def _bounds(bounds: Bounds | None) -> dict[str, float]:
    if bounds is None:
        return {}
    found: dict[str, float] = {}
    if bounds.low is not None:
        found["exclusiveMinimum" if bounds.low_open else "minimum"] = bounds.low
    if bounds.high is not None:
        found["exclusiveMaximum" if bounds.high_open else "maximum"] = bounds.high
    return found
