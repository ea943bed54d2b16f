"""The list of events is complete."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from overbrainer_core.events import types


def test_every_variant_is_listed_once() -> None:
    assert set(get_args(types.Event)) == set(types.EVENT_TYPES)
    assert len(types.EVENT_TYPES) == len(set(types.EVENT_TYPES))


def test_every_variant_is_a_frozen_value() -> None:
    for kind in types.EVENT_TYPES:
        assert issubclass(kind, Struct)
        assert kind.__struct_config__.frozen
