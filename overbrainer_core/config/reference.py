"""Which words does the written reference of the configuration say? `docs/user/configuration.md`, whole.

Made from the tables of the loader, so that a key cannot be forgotten; a test keeps the file equal to this.
"""

from __future__ import annotations

from collections.abc import Iterator

from overbrainer_core.config import kinds
from overbrainer_core.config.env import variable_name
from overbrainer_core.config.fields import (
    SECTION_TABLES,
    default_of,
    is_environment_only,
    is_required,
    schema_fields,
    value_text,
)
from overbrainer_core.config.key_facts import FACTS
from overbrainer_core.config.kinds import Kind
from overbrainer_core.config.settings import DEFAULT_IMAGE, DEFAULT_POD_IMAGE

_INTRO = """\
# Configuration

`overbrainer.toml` in the project directory says what is done; addresses, hosts and secrets come from the environment.
`overbrainer init` writes a commented file, `overbrainer config check` says what is in effect (with `--json` also where
each value comes from), `overbrainer config schema` prints a JSON Schema for editors.

## Where a value comes from

The first that is there wins:

1. a variable exported in the shell,
2. the same variable in `.env` of the project directory,
3. the key in `overbrainer.toml`,
4. the default.

The variable of a key is `OVERBRAINER_` and the key in capitals, `__` for each dot: `pipeline.concurrency` is
`OVERBRAINER_PIPELINE__CONCURRENCY`. Topics can be set in the file only. A variable of that form that names no key is
an error, and so is an unknown key of the file. `[project]` with `name`, `[roles]` with `generator` and `parent`, and
the keys marked *required* of each table that is there must be set.

Names of providers and targets match `^[a-z0-9_]+$`. Whole numbers may be written `2.0`, numbers also as text; true and
false are never numbers.

`run` reads both files again before each stage when they changed; what has started keeps what it read.
"""

_HEADINGS = {
    "project": "`[project]`",
    "topics": "`[[topics]]`, one for each topic",
    "providers": "`[providers.<name>]`, where models are served",
    "roles": "`[roles]`: `generator`, `parent`, `embedder`, `judge`",
    "pipeline": "`[pipeline]`",
    "training": "`[training]`",
    "targets.local": '`[targets.<name>]` with `kind = "local"`: this machine',
    "targets.ssh": '`[targets.<name>]` with `kind = "ssh"`: a machine over SSH',
    "targets.runpod": '`[targets.<name>]` with `kind = "runpod"`: a rented GPU',
    "export": "`[export]`",
    "hub": "`[hub]`",
    "compare": "`[compare]`",
    "metrics": "`[metrics]`",
}

_NOTES = {
    "roles": """\
Each role is a table, inline or not. `generator` writes subtopics and questions, `parent` answers them, `embedder` (if
set, on an `openai` provider) finds near-duplicates by meaning, `judge` (the parent if not set) compares answers.
""",
    "training": """\
With `trainer = "tiny"` the `adapter` is `full`, the target is not a `runpod` one, and the LoRA keys, `optimizer`,
`lr_scheduler`, `sample_packing`, `merge`, `hub_model_id` and `axolotl_extra` may not be set.
""",
    "targets.local": f"The pinned image is `{DEFAULT_IMAGE}`.\n",
    "targets.ssh": "Its host is a variable, see below. The pinned image is that of a local target.\n",
    "targets.runpod": f"The pinned image is `{DEFAULT_POD_IMAGE}`.\n",
}

_OUTRO = """\
A secret is taken as it is, or read from HashiCorp Vault or OpenBao when it has the form
`vault:<mount>/<path>#<field>`; `VAULT_ADDR` and `VAULT_TOKEN` (or `~/.vault-token`) say where and as whom. Values are
never printed.

Other variables that are no keys:

| Variable | Meaning |
|---|---|
| `OVERBRAINER_SSH_CLIENT` | `openssh` or `builtin`: SSH client of every target, over its `ssh_client` |
| `OVERBRAINER_TUI_COLOR` | colours of the app: `truecolor`, `256` or `16` |
| `OVERBRAINER_TUI_MOTION` | what moves in the app: `on`, `reduced` or `off` |
| `OVERBRAINER_TUI_THEME` | theme of the app: `dark`, `light` or `safe` |
| `OVERBRAINER_TUI_ASCII` | `1` for plain characters in the app, `0` for none of them |
| `OVERBRAINER_TUI_MOUSE` | `0` leaves the mouse to the terminal |
| `NO_COLOR` | no colours |

## Old projects

`overbrainer migrate` brings a project of an older version up to date: it moves `training.hub_model_id` to `[hub] repo`,
adds `/.overbrainer/` to `.gitignore`, fills in the history of answers that are older than the history, and writes the
format's number. `--dry-run` says what it would do.
"""


def reference_text() -> str:
    """The whole page."""
    parts = [_INTRO]
    for section, heading in _HEADINGS.items():
        parts += [f"## {heading}\n", *([_NOTES[section]] if section in _NOTES else []), _table(section)]
    parts += ["## Variables\n", "These keys are set by variables only, never in the file:\n", _variables(), _OUTRO]
    return "\n".join(parts)


def _table(section: str) -> str:
    rows = ["| Key | Type | Default | Range | Meaning |", "|---|---|---|---|---|"]
    for key, kind in schema_fields(section).items():
        if not is_environment_only(section, key):
            facts = FACTS[section][key]
            words = (_type(kind), _default(section, key), _range(section, key, kind), facts.meaning)
            rows.append(f"| `{key}` | {' | '.join(words)} |")
    return "\n".join(rows) + "\n"


def _type(kind: Kind) -> str:
    if kind is kinds.NAMES:
        return 'list or `"auto"`'
    if kind is kinds.FREE:
        return "table"
    return {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}[kind.json_type]


def _default(section: str, key: str) -> str:
    if is_required(section, key):
        return "*required*"
    words = FACTS[section][key].default_words
    value = default_of(section, key)
    if words or value in (None, {}, ()):
        return words or "none"
    return f"`{value_text(value)}`"


def _range(section: str, key: str, kind: Kind) -> str:
    facts = FACTS[section][key]
    if facts.range_words:
        return facts.range_words
    if facts.bounds is not None:
        return facts.bounds.interval()
    return ", ".join(f"`{choice}`" for choice in kind.choices)


def _variables() -> str:
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for section, key in _environment_keys():
        first = section.partition(".")[0]
        middle = f"{first}.<name>" if first in ("providers", "targets") else first
        name = variable_name(f"{middle}.{key}" if middle else key)
        facts = FACTS[section][key]
        meaning = f"{facts.meaning}; {facts.range_words}" if facts.range_words else facts.meaning
        rows.append(f"| `{name}` | {_default(section, key)} | {meaning} |")
    return "\n".join(rows) + "\n"


def _environment_keys() -> Iterator[tuple[str, str]]:
    for section in (*SECTION_TABLES, ""):
        for key in schema_fields(section):
            if is_environment_only(section, key):
                yield section, key
