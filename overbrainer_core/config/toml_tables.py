"""What do parsed TOML tables hold once something at a path is set or removed, and are two of them the same?"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from overbrainer_core.config.toml_layout import Path


def plain(value: object) -> Any:
    """The value as a TOML reader gives it: dictionaries and lists."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def at(tables: Any, path: Path) -> Any:
    """What stands at the path, None when nothing does."""
    for part in path:
        if isinstance(part, int):
            tables = tables[part] if isinstance(tables, list) and part < len(tables) else None
        else:
            tables = tables.get(part) if isinstance(tables, dict) else None
    return tables


def with_value(tables: Mapping[str, Any], path: Path, value: object) -> dict[str, Any]:
    """The tables with a value at the path; tables on the way come to be, a topic behind the last is appended."""
    changed = copy.deepcopy(dict(tables))
    parent: Any = changed
    for part, below in pairwise(path):
        if isinstance(parent, list):
            parent = parent[int(part)]
        else:
            parent = parent.setdefault(part, [] if isinstance(below, int) else {})
    if isinstance(parent, list):
        parent.append(plain(value))
    else:
        parent[path[-1]] = plain(value)
    return changed


def without(tables: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The tables without what stands at the path."""
    changed = copy.deepcopy(dict(tables))
    del at(changed, path[:-1])[path[-1]]
    return changed


def same(one: Any, other: Any) -> bool:
    """Whether two values of TOML are the same, their types too; a NaN is the same as another."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)
