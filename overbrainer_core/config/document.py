"""What does an edit asked by a person make of the text of `overbrainer.toml`?

Rules of the file: what may be edited, which tables an edit creates, which order new ones take. Comments and layout of
everything else stay byte for byte, line ends and a byte order mark too. After each edit the new text is parsed and
must hold exactly the old tables with that one change, so that no layout, however odd, can be damaged: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tomlkit

from overbrainer_core.config import toml_edit
from overbrainer_core.config.fields import IS_FIXED, NOT_EDITABLE, Field, InputError, Value, fields_in
from overbrainer_core.config.hints import name_text
from overbrainer_core.config.schema import ROLE_NAMES, TARGET_TABLES
from overbrainer_core.config.toml_layout import InlineTable, Layout, Path, read_layout
from overbrainer_core.config.toml_tables import at, plain, same, with_value, without
from overbrainer_core.config.toml_text import parse_toml
from overbrainer_core.config.validate import is_name
from overbrainer_core.errors import ConfigError, Problem

_BOM = "\ufeff"
NAMED = ("providers", "targets")
CREATED = ("project", "pipeline", "training", "roles", "export", "compare", "hub", "metrics")
"""Sections whose table comes to be with its first key."""
REMOVABLE = ("topics", "providers", "targets")
_NAME_REASON = "name must match ^[a-z0-9_]+$"
_NEW_TOPIC: Mapping[str, Value] = {"subtopics": 10, "questions_per_subtopic": 30}
_NEW_TARGETS: Mapping[str, Mapping[str, Value]] = {
    "local": {"runtime": "docker"},
    "ssh": {"runtime": "docker"},
    "runpod": {
        "gpu_types": "auto",
        "gpu_count": 1,
        "container_disk_gb": 50,
        "max_hours": 6.0,
        "boot_grace_minutes": 30,
        "retrieve_grace_minutes": 60,
    },
}


class EditError(ConfigError):
    """An edit that the file does not take; its problem names the key or table."""

    def __init__(self, path: str, reason: str) -> None:
        problem = Problem(path, reason)
        super().__init__(str(problem), problems=[problem])


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table of the file: a section, with the name of a role, provider, target or topic; of a topic its place too.

    A topic whose place and name no longer agree is refused, so that an edit never changes another one.
    """

    section: str
    name: str = ""
    index: int = 0

    def __str__(self) -> str:
        return f"{self.section}.{name_text(self.name)}" if self.name else self.section

    @property
    def path(self) -> Path:
        """Where it stands in the file."""
        if self.section == "topics":
            return (self.section, self.index)
        return (self.section, self.name) if self.name else (self.section,)


@dataclass(frozen=True, slots=True)
class SetKey:
    """Give a key a value; `comment` is written behind it where its line is new."""

    table: TableRef
    key: str
    value: Value
    comment: str = ""


@dataclass(frozen=True, slots=True)
class UnsetKey:
    """Remove an optional key; one that is not there stays away."""

    table: TableRef
    key: str


@dataclass(frozen=True, slots=True)
class AddTable:
    """Add a topic, a provider with its protocol or a target with its kind."""

    section: str
    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RemoveTable:
    """Remove a topic, a provider or a target."""

    table: TableRef


Edit = SetKey | UnsetKey | AddTable | RemoveTable


class ConfigDocument:
    """The text of `overbrainer.toml` while it is edited; an edit that is refused leaves it as it was."""

    def __init__(self, text: str) -> None:
        self._mark = _BOM if text.startswith(_BOM) else ""
        self._text = text[len(self._mark) :]
        self._tables = parse_toml(self._text)

    @property
    def text(self) -> str:
        """The whole text, with the byte order mark that it had."""
        return self._mark + self._text

    def apply(self, edit: Edit) -> None:
        """Make one edit.

        Raises:
            EditError: the file does not take it.
        """
        match edit:
            case SetKey():
                self._set(edit)
            case UnsetKey(table=table, key=key):
                self._unset(table, key)
            case AddTable():
                self._add(edit)
            case RemoveTable(table=table):
                self._remove(table)

    def topics(self) -> list[TableRef]:
        """The topics in file order."""
        items = self._tables.get("topics", [])
        names = [item.get("name") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return [TableRef("topics", name, index) for index, name in enumerate(names) if isinstance(name, str)]

    def value(self, table: TableRef, key: str) -> Any:
        """The value of a key as it stands in the file, None when it is not there."""
        found = at(self._tables, table.path)
        return found.get(key) if isinstance(found, dict) else None

    def comment(self, table: TableRef, key: str) -> str:
        """The comment behind a key on its line, `# ...`; empty without one, and for a key of an inline table."""
        layout = read_layout(self._text)
        found = layout.find((*table.path, key))
        if found is None or found.owner is not None:
            return ""
        return self._text[found.node.end : layout.lines[found.line].end].strip()

    def _set(self, edit: SetKey) -> None:
        table, key = edit.table, f"{edit.table}.{edit.key}"
        self._check_there(table)
        field = self._field(table, edit.key)
        try:
            value = field.check(edit.value)
        except InputError as error:
            raise EditError(key, str(error)) from None
        if (table.section, edit.key) == ("topics", "name") and value != table.name:
            self._check_new("topics", str(value))
        if same(self.value(table, edit.key), plain(value)):
            return
        path: Path = (*table.path, edit.key)
        pair = (_key_text(edit.key), _value_text(value))
        try:
            text = toml_edit.set_value(self._text, path, pair, comment=edit.comment)
        except toml_edit.TableMissingError:
            text = self._with_table(table, pair, edit.comment)
        self._adopt(text, with_value(self._tables, path, value), key)

    def _with_table(self, table: TableRef, pair: toml_edit.Pair, comment: str) -> str:
        if table.section not in CREATED:
            raise EditError(str(table), "not found in overbrainer.toml")
        shown = ".".join(_key_text(str(part)) for part in table.path)
        inline = table.section == "roles" and self._is_any_inline("roles")
        behind = f" {comment}" if comment and not inline else ""
        return toml_edit.add_table(
            self._text,
            table.path,
            [(pair[0], pair[1] + behind)],
            header=f"[{shown}]",
            name=_key_text(str(table.path[-1])),
            inline=inline,
        )

    def _unset(self, table: TableRef, key: str) -> None:
        self._check_there(table)
        if self._field(table, key).is_required:
            raise EditError(f"{table}.{key}", IS_FIXED)
        path: Path = (*table.path, key)
        if self.value(table, key) is None:
            return
        text, tables = toml_edit.remove(self._text, path), without(self._tables, path)
        if not at(tables, table.path) and at(parse_toml(text), table.path) is None:
            tables = without(tables, table.path)  # it was made by the dots of this key alone
        self._adopt(text, tables, f"{table}.{key}")

    def _add(self, edit: AddTable) -> None:
        if edit.section not in REMOVABLE:
            raise EditError(edit.section, NOT_EDITABLE)
        self._check_new(edit.section, edit.name)
        values = _new_values(edit)
        ref = TableRef(edit.section, edit.name, len(self.topics()))
        name = _key_text(edit.name)
        is_topic = edit.section == "topics"
        text = toml_edit.add_table(
            self._text,
            ref.path,
            [(_key_text(key), _value_text(value)) for key, value in values.items()],
            header="[[topics]]" if is_topic else f"[{edit.section}.{name}]",
            name=name,
            inline=self._is_last_inline(edit.section),
        )
        self._adopt(text, with_value(self._tables, ref.path, values), str(ref))

    def _remove(self, table: TableRef) -> None:
        if table.section not in REMOVABLE:
            raise EditError(str(table), "this table cannot be removed")
        self._check_there(table)
        text = toml_edit.remove(self._text, table.path)
        tables = without(self._tables, table.path)
        if not tables.get(table.section):
            text = toml_edit.remove(text, (table.section,))
            tables.pop(table.section, None)
        self._adopt(text, tables, str(table))

    def _check_there(self, table: TableRef) -> None:
        """Refuse a table that the file does not hold and no key may create."""
        if table.section not in (*CREATED, *REMOVABLE) or (table.section == "roles" and table.name not in ROLE_NAMES):
            raise EditError(str(table), NOT_EDITABLE)
        if table.section not in REMOVABLE:
            return
        found = at(self._tables, table.path)
        if not isinstance(found, dict) or (table.section == "topics" and found.get("name") != table.name):
            raise EditError(str(table), "not found in overbrainer.toml")

    def _check_new(self, section: str, name: str) -> None:
        if not is_name(name):
            raise EditError(name_text(name), _NAME_REASON)
        held = [topic.name for topic in self.topics()] if section == "topics" else self._tables.get(section, {})
        if name in held:
            raise EditError(f"{section}.{name}", "already exists")

    def _field(self, table: TableRef, key: str) -> Field:
        section = table.section
        if section == "targets":
            kind = self.value(table, "kind")
            if not isinstance(kind, str) or kind not in TARGET_TABLES:
                raise EditError(f"{table}.{key}", NOT_EDITABLE)
            section = f"targets.{kind}"
        field = fields_in(section).get(key)
        if field is None:
            raise EditError(f"{table}.{key}", NOT_EDITABLE)
        return field

    def _inline_names(self, section: str) -> Iterator[tuple[str, bool]]:
        """The tables of a section with whether each is written inline."""
        layout: Layout = read_layout(self._text)
        tables = self._tables.get(section, {})
        for name in tables if isinstance(tables, dict) else ():
            found = layout.find((section, name))
            yield name, found is not None and isinstance(found.node, InlineTable)

    def _is_any_inline(self, section: str) -> bool:
        return any(is_inline for _, is_inline in self._inline_names(section))

    def _is_last_inline(self, section: str) -> bool:
        styles = [is_inline for _, is_inline in self._inline_names(section)]
        return bool(styles) and styles[-1]

    def _adopt(self, text: str, expected: Mapping[str, Any], key: str) -> None:
        """Take the new text when it holds what the edit asked for, and nothing else."""
        try:
            tables = parse_toml(text)
        except ConfigError:
            tables = {}
        if not same(tables, expected):
            raise EditError(key, "is written in a way that is not edited here, edit overbrainer.toml itself")
        self._text, self._tables = text, tables


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with several edits made in order: all of them, or none.

    Raises:
        EditError: the file does not take one of them.
        ConfigError: the text is no TOML.
    """
    document = ConfigDocument(text)
    for edit in edits:
        document.apply(edit)
    return document.text


def changed_tables(before: str, after: str) -> frozenset[str]:
    """The tables (`pipeline`, `roles.parent`, `topics.x`) that differ between two texts: what an undo would change."""
    old, new = (dict(_named_tables(parse_toml(text.removeprefix(_BOM)))) for text in (before, after))
    return frozenset(key for key in old.keys() | new.keys() if not same(old.get(key), new.get(key)))


def _named_tables(tables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, table in tables.items():
        if section == "topics" and isinstance(table, list):
            yield from ((f"topics.{item.get('name')}", item) for item in table if isinstance(item, dict))
        elif section in (*NAMED, "roles") and isinstance(table, dict):
            yield from ((f"{section}.{name}", item) for name, item in table.items())
        else:
            yield section, table


def _new_values(edit: AddTable) -> dict[str, Value]:
    if edit.section == "topics":
        return {"name": edit.name, **_NEW_TOPIC}
    key = "protocol" if edit.section == "providers" else "kind"
    if edit.section == "targets" and edit.kind in _NEW_TARGETS:
        return {"kind": edit.kind, **_NEW_TARGETS[edit.kind]}
    choices = fields_in("providers")["protocol"].choices if key == "protocol" else tuple(_NEW_TARGETS)
    if key == "kind" or edit.kind not in choices:
        raise EditError(f"{edit.section}.{edit.name}.{key}", f"must be one of {', '.join(choices)}")
    return {key: edit.kind}


def _key_text(key: str) -> str:
    return tomlkit.key(key).as_string()


def _value_text(value: object) -> str:
    """The value as TOML writes it; text is always a quoted string, so that it cannot become anything else."""
    text = tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()
    return text.replace("e-0", "e-") if isinstance(value, float) else text
