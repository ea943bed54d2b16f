"""What does the app do as it opens? Nothing; but a demo asks for auto mode, follows a run, or shows a finished one."""

from __future__ import annotations

from msgspec import Struct

from overbrainer_tui.cli.endings import MIGRATE_HINT
from overbrainer_tui.effects import Effect
from overbrainer_tui.pipeline_actions import ask_auto, start_auto
from overbrainer_tui.state import AppState, View
from overbrainer_tui.training_actions import attach
from overbrainer_tui.view_models.snapshots import Level


class Opening(Struct, frozen=True, kw_only=True):
    """What to open with: `auto` asks for auto mode (`is_asked` False starts it), whose run resumes `resume_from`.

    `follow` names a running run, `show` an ended one; `is_old` for a project of before version files. `running` names a
    run that goes on: it is selected and told, not followed.
    """

    is_old: bool = False
    running: str | None = None
    auto: bool = False
    is_asked: bool = True
    resume_from: str | None = None
    follow: str | None = None
    show: str | None = None


def open_with(state: AppState, opening: Opening) -> list[Effect]:
    """Do what the app was opened for, and tell what should be done to the project first."""
    if opening.is_old:
        state.say(MIGRATE_HINT, Level.WARNING)
    if opening.auto:
        if opening.is_asked:
            return ask_auto(state, resume_from=opening.resume_from)
        return start_auto(state, resume_from=opening.resume_from)
    if opening.running is not None:
        state.training.select(opening.running)
        if not opening.is_old:
            state.say(f"run {opening.running} is running: 4 shows it, a follows it")
    run_id = opening.follow or opening.show
    if run_id is None:
        return []
    state.training.select(run_id)
    effects = state.show(View.TRAINING)
    return effects + (attach(state, run_id) if opening.follow is not None else [])
