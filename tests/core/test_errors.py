"""The tree of errors and how one is told in a line."""

from __future__ import annotations

import importlib
import pkgutil

import overbrainer_core
import overbrainer_tui
from overbrainer_core import errors
from overbrainer_core.errors import ConfigError, LockedError, OverbrainerError, describe


def raised(outer: BaseException, inner: BaseException) -> BaseException:
    """The outer error as raised from the inner one."""
    outer.__cause__ = inner
    return outer


def test_causes_are_joined_by_a_colon() -> None:
    error = raised(ConfigError("cannot read x"), OSError(2, "No such file or directory"))
    assert describe(error) == "cannot read x: No such file or directory"


def test_a_cause_that_repeats_the_text_is_told_once() -> None:
    inner = ValueError("timed out")
    assert describe(raised(ConfigError("cannot connect: timed out"), inner)) == "cannot connect: timed out"


def test_an_error_of_several_lines_becomes_one() -> None:
    assert describe(ConfigError("first\n   second")) == "first second"


def test_an_error_without_text_is_told_by_its_name() -> None:
    assert describe(TimeoutError()) == "TimeoutError"


def test_a_loop_of_causes_ends() -> None:
    first, second = ConfigError("a"), ConfigError("b")
    raised(first, second)
    raised(second, first)
    assert describe(first) == "a: b"


def test_the_holder_of_a_lock_is_named_when_known() -> None:
    assert str(LockedError(12)) == "another overbrainer (pid 12) is using this project"
    assert str(LockedError(None)) == "another overbrainer (unknown pid) is using this project"


def test_the_roots_drawn_in_the_docstring_are_the_roots_there_are() -> None:
    drawn = [line.split()[0] for line in (errors.__doc__ or "").splitlines() if line.startswith("  ")]
    direct = [
        value.__name__
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, OverbrainerError) and value is not OverbrainerError
    ]
    assert sorted(drawn) == sorted(direct)


def all_modules() -> list[str]:
    """Every module of both packages but the ones that run a program when imported."""
    return [
        module.name
        for package in (overbrainer_core, overbrainer_tui)
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        if not module.name.endswith("__main__")
    ]


INTERNAL = {"InputError", "InvalidLineError", "InvalidProofError", "TableMissingError", "WorkStopped"}
"""Answers between the modules of one package, always caught in it: no caller can meet them."""


def test_every_error_of_both_packages_is_one_of_the_tree() -> None:
    for name in all_modules():
        importlib.import_module(name)
    strays = [
        f"{kind.__module__}.{kind.__qualname__}"
        for kind in descendants(Exception)
        if kind.__module__.startswith(("overbrainer_core.", "overbrainer_tui."))
        and not issubclass(kind, OverbrainerError)
        and not kind.__name__.startswith("_")
        and kind.__name__ not in INTERNAL
    ]
    assert strays == []


def descendants(kind: type[BaseException]) -> set[type[BaseException]]:
    """Every class below `kind`."""
    below: set[type[BaseException]] = set()
    for child in kind.__subclasses__():
        below |= {child} | descendants(child)
    return below
