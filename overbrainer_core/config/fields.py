"""Which keys can a form edit, what does each take, and what does a typed text mean for it?

Every key of the schema but those of the environment, the `kind` of a target and the free-form `axolotl_extra`. A
refusal tells what is wanted and never quotes what was typed. Reads the schema, so it is for editing, not for listings.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from overbrainer_core.config import kinds, schema
from overbrainer_core.config.key_facts import FACTS, Bounds
from overbrainer_core.config.kinds import Kind
from overbrainer_core.config.settings import (
    RUNPOD_DEFAULTS,
    TABLE_DEFAULTS,
    LocalTarget,
    Pipeline,
    Provider,
    Role,
    SshTarget,
    Topic,
    Training,
)

Value = str | int | float | bool | tuple[str, ...]
"""What a key can be given."""

IS_REQUIRED = "is required"
IS_FIXED = "is required and cannot be removed"
WRONG_TYPE = "has the wrong type"
NOT_EDITABLE = "not an editable field"
NOT_EDITABLE_KEYS = frozenset({("targets", "kind"), ("training", "axolotl_extra")})
"""Keys that only an editor of the whole file changes, by the first part of their section."""
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class FieldKind(StrEnum):
    """How a value is typed in."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    NAMES = "names"
    ADDRESS = "address"


class InputError(ValueError):
    """A typed text, or a value, that its field does not take; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a section: `default` is what holds when it is unset, None for nothing."""

    section: str
    key: str
    kind: FieldKind
    is_required: bool
    default: Value | None
    meaning: str
    bounds: Bounds | None = None
    choices: tuple[str, ...] = ()

    def parse(self, text: str) -> Value | None:
        """The value that a typed text means; None when an empty one unsets the key.

        Raises:
            InputError: the field takes no such text.
        """
        if not text.strip() and (self.kind is not FieldKind.TEXT or not text):
            if self.is_required:
                raise InputError(IS_REQUIRED)
            return None
        value = _READERS[self.kind](self, text)
        self._check_bounds(value)
        return value

    def check(self, value: object) -> Value:
        """A value that did not come from a form, made fit for the file.

        Raises:
            InputError: it has another type, or lies outside the bounds.
        """
        if not _is_of(self.kind, value):
            raise InputError(WRONG_TYPE)
        if self.choices and value not in self.choices:
            raise InputError(self._choice_refusal())
        if self.kind is FieldKind.NUMBER:
            value = float(value)  # type: ignore[arg-type]  # its type was looked at above
        self._check_bounds(value)
        return value  # type: ignore[return-value]  # as above

    def accepts(self) -> str:
        """What the field takes, in words, as the line below a form says it."""
        words = {
            FieldKind.TEXT: "text",
            FieldKind.INTEGER: "a whole number",
            FieldKind.NUMBER: "a number",
            FieldKind.BOOLEAN: "true or false",
            FieldKind.CHOICE: f"one of {', '.join(self.choices)}",
            FieldKind.NAMES: "auto or a comma-separated list",
            FieldKind.ADDRESS: "an address such as 127.0.0.1:9464",
        }[self.kind]
        bounds = f" {self.bounds.interval()}" if self.bounds else ""
        return f"{words}{bounds}{'' if self.is_required else ', empty unsets'}"

    def next_choice(self, current: Value | None) -> Value | None:
        """The value after `current` of a choice or a boolean; None unsets an optional choice after its last."""
        if self.kind is FieldKind.BOOLEAN:
            return not (self.default if current is None else current)
        if current is None:
            return self.choices[0]
        place = self.choices.index(str(current)) + 1 if current in self.choices else 0
        if place < len(self.choices):
            return self.choices[place]
        return self.choices[0] if self.is_required else None

    def _check_bounds(self, value: object) -> None:
        if self.kind not in (FieldKind.INTEGER, FieldKind.NUMBER) or not isinstance(value, int | float):
            return
        if self.bounds is not None and not self.bounds.admits(value):
            raise InputError(self.bounds.refusal(is_integer=self.kind is FieldKind.INTEGER))
        if self.kind is FieldKind.INTEGER and not _fits(self._schema_kind(), value):
            raise InputError("is too large" if value > 0 else "must be at least 0")

    def _schema_kind(self) -> Kind:
        return schema_fields(self.section)[self.key]

    def _choice_refusal(self) -> str:
        return f"must be one of {', '.join(self.choices)}"


def _fits(kind: Kind, value: object) -> bool:
    try:
        kind.from_file(value)
    except ValueError:
        return False
    return True


def _read_text(field: Field, text: str) -> Value:
    return text


def _read_integer(field: Field, text: str) -> Value:
    if not _INTEGER.fullmatch(text.strip()):
        raise InputError("must be a whole number")
    return int(text.strip())


def _read_number(field: Field, text: str) -> Value:
    if not _FLOAT.fullmatch(text.strip()) or not math.isfinite(float(text)):
        raise InputError("must be a number")
    return float(text)


def _read_boolean(field: Field, text: str) -> Value:
    if text.strip() not in ("true", "false"):
        raise InputError("must be true or false")
    return text.strip() == "true"


def _read_choice(field: Field, text: str) -> Value:
    if text.strip() not in field.choices:
        raise InputError(f"must be one of {', '.join(field.choices)}")
    return text.strip()


def _read_names(field: Field, text: str) -> Value:
    if text.strip() == "auto":
        return "auto"
    names = tuple(item.strip() for item in text.split(",") if item.strip())
    if not names:
        raise InputError("must be auto or a comma-separated list")
    return names


def _read_address(field: Field, text: str) -> Value:
    try:
        kinds.ADDRESS.from_text(text.strip())
    except ValueError:
        raise InputError(f"must be {kinds.ADDRESS.expected}") from None
    return text.strip()


_READERS = {
    FieldKind.TEXT: _read_text,
    FieldKind.INTEGER: _read_integer,
    FieldKind.NUMBER: _read_number,
    FieldKind.BOOLEAN: _read_boolean,
    FieldKind.CHOICE: _read_choice,
    FieldKind.NAMES: _read_names,
    FieldKind.ADDRESS: _read_address,
}


def _is_of(kind: FieldKind, value: object) -> bool:
    match kind:
        case FieldKind.BOOLEAN:
            return isinstance(value, bool)
        case FieldKind.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool)
        case FieldKind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case FieldKind.NAMES:
            return value == "auto" or (isinstance(value, tuple) and all(isinstance(item, str) for item in value))
        case FieldKind.ADDRESS:
            return isinstance(value, str) and _fits(kinds.ADDRESS, value)
        case FieldKind.TEXT | FieldKind.CHOICE:
            return isinstance(value, str)


SECTION_TABLES: Mapping[str, schema.Table] = {
    "project": schema.PROJECT,
    "topics": schema.TOPIC,
    "providers": schema.PROVIDER,
    "roles": schema.ROLE,
    "pipeline": schema.PIPELINE,
    "training": schema.TRAINING,
    **{f"targets.{kind}": table for kind, table in schema.TARGET_TABLES.items()},
    "export": schema.EXPORT,
    "hub": schema.HUB,
    "compare": schema.COMPARE,
    "metrics": schema.METRICS,
    "runpod": schema.RUNPOD,
}
"""The table of each section, in the order sections are listed to people."""

_CLASSES: Mapping[str, type[Any]] = {
    "topics": Topic,
    "providers": Provider,
    "roles": Role,
    "pipeline": Pipeline,
    "training": Training,
    "targets.local": LocalTarget,
    "targets.ssh": SshTarget,
}


def schema_fields(section: str) -> Mapping[str, Kind]:
    """The kind of every key of a section, those of the environment too; the empty section is the root."""
    return SECTION_TABLES[section].fields if section else schema.ROOT_LEAVES


def is_required(section: str, key: str) -> bool:
    """Whether a table of the section must have the key."""
    return bool(section) and key in SECTION_TABLES[section].required


def default_of(section: str, key: str) -> Any:
    """What holds when the key is unset, None for nothing and for a key that must be set."""
    if not section or section == "project" or is_required(section, key):
        return None
    if section == "targets.runpod":
        return RUNPOD_DEFAULTS[key]
    if section in TABLE_DEFAULTS:
        return TABLE_DEFAULTS[section][key]
    found = next(item for item in dataclasses.fields(_CLASSES[section]) if item.name == key)
    if found.default_factory is not dataclasses.MISSING:
        return found.default_factory()
    return found.default


def is_environment_only(section: str, key: str) -> bool:
    """Whether only a variable may set the key."""
    first = section.partition(".")[0]
    hidden = schema.ENVIRONMENT_ONLY
    return key in hidden.get(first, ()) or (bool(first) and key in hidden.get(f"{first}.*", ()))


@cache
def fields_in(section: str) -> Mapping[str, Field]:
    """The editable keys of a section (`pipeline`, `roles`, `targets.ssh`), in the order they are listed to people."""
    first = section.partition(".")[0]
    return {
        key: _field(section, key, kind)
        for key, kind in schema_fields(section).items()
        if not is_environment_only(section, key) and (first, key) not in NOT_EDITABLE_KEYS
    }


def _field(section: str, key: str, kind: Kind) -> Field:
    facts = FACTS[section][key]
    return Field(
        section=section,
        key=key,
        kind=_field_kind(kind),
        is_required=is_required(section, key),
        default=default_of(section, key),
        meaning=facts.meaning,
        bounds=facts.bounds,
        choices=kind.choices,
    )


def _field_kind(kind: Kind) -> FieldKind:
    if kind.choices:
        return FieldKind.CHOICE
    special = {id(kinds.NAMES): FieldKind.NAMES, id(kinds.ADDRESS): FieldKind.ADDRESS}
    names = {"integer": FieldKind.INTEGER, "number": FieldKind.NUMBER, "boolean": FieldKind.BOOLEAN}
    return special.get(id(kind)) or names.get(kind.json_type, FieldKind.TEXT)


def value_text(value: Value | None) -> str:
    """A value as a form shows it for editing: what `Field.parse` reads back as the same value.

    >>> value_text(1e-7), value_text(6.0), value_text(("NVIDIA A40", "NVIDIA L40S")), value_text(None)
    ('1e-07', '6', 'NVIDIA A40, NVIDIA L40S', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return text.removesuffix(".0")
    return ", ".join(value) if isinstance(value, tuple) else str(value)
