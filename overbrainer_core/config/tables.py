"""Which tables do the file and the environment give together, each key with its type?

The first step of reading settings: variables are laid over the file's tables, each table is checked against the
schema. Nothing here knows whether values fit each other (`config.validate`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

from overbrainer_core.config import schema
from overbrainer_core.config.env import Variable
from overbrainer_core.config.hints import name_text
from overbrainer_core.config.kinds import FREE, Kind, Typed, free_value
from overbrainer_core.errors import Problem

ENVIRONMENT_ONLY_REASON = "must be set through env, not in overbrainer.toml"


@dataclass(slots=True)
class Tables:
    """Typed tables by section, holding only the keys that were given.

    `topics` is a list; `providers`, `roles` and `targets` hold a table for each name; the root's own keys (`hf_token`,
    `log`) are under the empty section.
    """

    single: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    topics: list[dict[str, Any]] = field(default_factory=list, repr=False)
    named: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)


def take_environment_only(document: dict[str, Any]) -> list[Problem]:
    """Remove from the file's tables the keys that only the environment may set; a problem for each."""
    problems: list[Problem] = []
    for pattern, keys in schema.ENVIRONMENT_ONLY.items():
        for path, table in _tables_at(document, pattern):
            for key in keys:
                if key in table:
                    del table[key]
                    problems.append(Problem(f"{path}.{key}" if path else key, ENVIRONMENT_ONLY_REASON))
    return problems


def _tables_at(document: dict[str, Any], pattern: str) -> Iterator[tuple[str, dict[str, Any]]]:
    section = pattern.removesuffix(".*")
    table = document.get(section) if pattern else document
    if not isinstance(table, dict):
        return
    if not pattern.endswith(".*"):
        yield section, table
        return
    for name, item in sorted(table.items()):
        if isinstance(item, dict):
            yield f"{section}.{name_text(name)}", item


def file_keys(document: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The dotted keys and tables that stand in the file; topics by their name."""
    for name, value in document.items():
        key = f"{path}.{name}" if path else name
        yield key
        if isinstance(value, dict):
            yield from file_keys(value, key)
        elif key == "topics" and isinstance(value, list):
            for topic in value:
                if isinstance(topic, dict) and isinstance(topic.get("name"), str):
                    yield from file_keys(topic, f"topics.{topic['name']}")


def lay_over(document: dict[str, Any], variables: Mapping[tuple[str, ...], Variable]) -> list[Problem]:
    """Put each variable's typed value into the file's tables; a problem for each that has no place or another type."""
    problems: list[Problem] = []
    for key, variable in variables.items():
        kind = _kind_at(key, variable)
        if isinstance(kind, Problem):
            problems.append(kind)
            continue
        table = _table_for(document, key[:-1])
        if table is None:
            continue  # the file holds a value where a table must be, which is told when that table is checked
        if kind is FREE:
            table[key[-1]] = free_value(variable.text, table.get(key[-1]))
            continue
        try:
            table[key[-1]] = Typed(kind.from_text(variable.text))
        except ValueError:
            table[key[-1]] = Typed(None)
            problems.append(Problem(".".join(key), kind.refusal))
    return problems


def _table_for(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    table = document
    for depth, name in enumerate(path):
        item = table.setdefault(name, {})
        if not isinstance(item, dict):
            if depth < 2 or path[:2] != ("training", "axolotl_extra"):
                return None
            item = table[name] = {}  # free-form: a variable that goes deeper replaces the file's plain value
        table = item
    return table


def _kind_at(key: tuple[str, ...], variable: Variable) -> Kind | Problem:
    """The kind of the key that a variable names, or why it names none."""
    section = key[0]
    if section == "topics":
        return schema.wrong_type("topics", "an array of tables, which only overbrainer.toml can hold")
    if section in schema.ROOT_LEAVES:
        kind = schema.ROOT_LEAVES[section]
        return kind if len(key) == 1 else schema.wrong_type(section, kind.expected)
    if section in schema.SINGLE_TABLES:
        return _kind_in(key, 1, schema.SINGLE_TABLES[section].fields, variable)
    if section == "roles":
        if len(key) > 1 and key[1] not in schema.ROLE_NAMES:
            return _unknown(key, 1, schema.ROLE_NAMES, variable)
        return _kind_in(key, 2, schema.ROLE.fields, variable)
    if section == "providers":
        return _kind_in(key, 2, schema.PROVIDER.fields, variable)
    if section == "targets":
        return _kind_in(key, 2, schema.target_fields(), variable)
    return _unknown(key, 0, schema.ROOT_KEYS, variable)


def _kind_in(key: tuple[str, ...], depth: int, fields: Mapping[str, Kind], variable: Variable) -> Kind | Problem:
    """The kind of a key whose table has `depth` parts before it."""
    if len(key) <= depth:
        return schema.wrong_type(".".join(key), "a table")
    kind = fields.get(key[depth])
    if kind is None:
        return _unknown(key, depth, tuple(fields), variable)
    if kind is FREE:
        if not all(key[depth + 1 :]):
            return Problem(".".join(key[: depth + 1]), f"{name_text(variable.name)} names no key in it")
        return kind if len(key) > depth + 1 else schema.wrong_type(".".join(key), FREE.expected)
    return kind if len(key) == depth + 1 else schema.wrong_type(".".join(key[: depth + 1]), kind.expected)


def _unknown(key: tuple[str, ...], depth: int, known: tuple[str, ...], variable: Variable) -> Problem:
    path = ".".join(key[:depth])
    dotted = f"{path}.{key[depth]}" if path else key[depth]
    return schema.unknown_field(path, key[depth], known, variables={dotted: variable.name})


def check_tables(document: dict[str, Any], variables: Mapping[str, str]) -> Tables:
    """Every table with its types; `variables` are the dotted keys that a variable set, with its name."""
    tables = Tables()
    for name in document:
        if name not in schema.ROOT_KEYS:
            tables.problems.append(schema.unknown_field("", name, schema.FILE_TABLES, variables=variables))
    reader = _Reader(document, variables, tables)
    reader.root()
    reader.single("project")
    reader.topics()
    reader.named("providers")
    reader.roles()
    reader.single("pipeline", "training")
    reader.named("targets")
    reader.single("export", "hub", "compare", "metrics", "runpod")
    return tables


class _Reader:
    """Checks the sections of one document into `tables`."""

    def __init__(self, document: dict[str, Any], variables: Mapping[str, str], tables: Tables) -> None:
        self._document = document
        self._variables = variables
        self._tables = tables

    def root(self) -> None:
        values = {name: self._document[name] for name in schema.ROOT_LEAVES if name in self._document}
        self._tables.single[""] = {name: value.value for name, value in values.items() if isinstance(value, Typed)}

    def single(self, *names: str) -> None:
        for name in names:
            if name in self._document:
                table = self._check(schema.SINGLE_TABLES[name], self._document[name], name, section=name)
                self._tables.single[name] = table
            elif name == "project":
                self._tables.problems.append(schema.missing_field("", "project", section=""))

    def topics(self) -> None:
        items = self._document.get("topics", [])
        if not isinstance(items, list):
            self._tables.problems.append(schema.wrong_type("topics", "an array of tables"))
            return
        for index, item in enumerate(items):
            topic = self._check(schema.TOPIC, item, f"topics[{index}]", section="topics")
            self._tables.topics.append(topic)

    def roles(self) -> None:
        table = self._section("roles")
        if "roles" not in self._document:
            self._tables.problems.append(schema.missing_field("", "roles", section=""))
            return
        unknown = [name for name in table if name not in schema.ROLE_NAMES]
        self._tables.problems += [
            schema.unknown_field("roles", name, schema.ROLE_NAMES, variables=self._variables) for name in unknown
        ]
        roles = self._tables.named["roles"] = {}
        for name in schema.ROLE_NAMES:
            if name in table:
                roles[name] = self._check(schema.ROLE, table[name], f"roles.{name}", section="roles")
            elif name in schema.REQUIRED_ROLES and not unknown and isinstance(self._document["roles"], dict):
                self._tables.problems.append(schema.missing_field("roles", name, section="roles"))

    def named(self, section: str) -> None:
        tables = self._tables.named[section] = {}
        for name, item in sorted(self._section(section).items()):
            path = f"{section}.{name_text(name)}"
            if section == "providers":
                tables[name] = self._check(schema.PROVIDER, item, path, section=section)
            else:
                tables[name] = self._target(item, path)

    def _target(self, item: object, path: str) -> dict[str, Any]:
        """A target by the keys of its kind; without a usable kind, what is said of the kind alone."""
        kind = item.get("kind") if isinstance(item, dict) else None
        kind = kind.value if isinstance(kind, Typed) else kind
        table = schema.TARGET_TABLES.get(kind) if isinstance(kind, str) else None
        if table is not None or not isinstance(item, dict):
            return self._check(table or schema.LOCAL_TARGET, item, path, section="targets")
        known = schema.target_fields()
        unknown = [name for name in item if name not in known]
        if unknown:
            keys = tuple(known)
            problems = [schema.unknown_field(path, name, keys, variables=self._variables) for name in unknown]
        elif "kind" not in item:
            problems = [schema.missing_field(path, "kind", section="targets")]
        else:
            problems = [Problem(f"{path}.kind", known["kind"].refusal)]
        self._tables.problems += problems
        return {}

    def _section(self, name: str) -> dict[str, Any]:
        table = self._document.get(name, {})
        if isinstance(table, dict):
            return table
        self._tables.problems.append(schema.wrong_type(name, "a table"))
        return {}

    def _check(self, table: schema.Table, values: object, path: str, *, section: str) -> dict[str, Any]:
        checked, problems = schema.check_table(table, values, path, section=section, variables=self._variables)
        self._tables.problems += problems
        return checked


def plain_extra(value: Any) -> Any:
    """The values of `training.axolotl_extra` without TOML's dates, which become text."""
    if isinstance(value, dict):
        return {name: plain_extra(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain_extra(item) for item in value]
    return value.isoformat() if isinstance(value, datetime | date | time) else value
