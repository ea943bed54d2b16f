"""What did the person probably mean by a name that does not exist?"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from overbrainer_core.text import cut, escape_controls

_NAME_CELLS = 80
"""Widest name shown in a message."""
_LISTED = 20
"""Most names listed in a message."""


def name_text(name: str) -> str:
    """A name as a message shows it: on one line, controls shown, cut when it is very long."""
    return cut(escape_controls(name), _NAME_CELLS)


def known_hint(name: str, known: Iterable[str], *, list_known: bool = True) -> str:
    """What to add to `unknown ... `name``: the near miss if there is one, and the names that exist.

    >>> known_hint("opnrouter", ["openrouter", "local"])
    '; did you mean `openrouter`? known: `openrouter`, `local`'
    """
    names = list(known)
    near = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean `{name_text(near[0])}`?" if near else ""
    if not list_known:
        return hint
    if not names:
        return hint + "; none is configured"
    listed = ", ".join(f"`{name_text(item)}`" for item in names[:_LISTED])
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{hint}{' ' if near else '; '}known: {listed}{more}"
