"""Which tables of the configuration does running work use, so that they may not change until it ends?

`topics` and `pipeline` stay editable: a running stage keeps what it read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from overbrainer_core.config.settings import Role, Settings
from overbrainer_core.values.stage import Stage

_STAGE_ROLES = {
    Stage.SUBTOPICS: ("generator", "embedder"),
    Stage.QUESTIONS: ("generator", "embedder"),
    Stage.ANSWERS: ("parent",),
    Stage.SPLIT: (),
}


@dataclass(frozen=True, slots=True)
class Use:
    """Work that uses tables (`roles.parent`, `targets.lab`); `who` is how it is named to people."""

    who: str
    tables: frozenset[str]


def stage_use(stage: Stage, settings: Settings) -> Use:
    """What a running stage uses: its roles and their providers."""
    return Use(stage.value, _roles(settings, _STAGE_ROLES[stage]))


def run_use(settings: Settings) -> Use:
    """What `run` uses while its stages go on: the roles of all of them."""
    return Use("run", _roles(settings, ("generator", "parent", "embedder")))


def training_use(run_id: str, *, target: str) -> Use:
    """What a run uses while it starts, is followed, stopped or cancelled, its export and push included."""
    return Use(run_id, frozenset({"training", f"targets.{target}", "export", "hub"}))


def compare_use(compare_id: str, settings: Settings, *, target: str) -> Use:
    """What a compare uses: its judge (the parent when there is none), its table and the target of its run."""
    judge = "judge" if settings.roles.judge is not None else "parent"
    return Use(compare_id, _roles(settings, (judge,)) | {"compare", f"targets.{target}"})


def user_of(table: str, uses: Iterable[Use]) -> str | None:
    """Who uses a table now, the first if there are several; None when it is free."""
    return next((use.who for use in uses if table in use.tables), None)


def refusal(key: str, who: str) -> str:
    """Why a key cannot be changed now."""
    return f"refused: {key} is used by {who}; read-only until it ends"


def delete_refusal(table: str, who: str) -> str:
    """Why a table cannot be deleted now."""
    return f"refused: {table} is used by {who}; delete it once it ends"


def _roles(settings: Settings, names: tuple[str, ...]) -> frozenset[str]:
    tables: set[str] = set()
    for name in names:
        role: Role | None = getattr(settings.roles, name)
        tables.add(f"roles.{name}")
        if role is not None:
            tables.add(f"providers.{role.provider}")
    return frozenset(tables)
