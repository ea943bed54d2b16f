"""Which actions are there? One table: the dispatcher, the footer's hints, the help and the palette are built from it.

An action belongs to one view or to all. `refusal` says why it cannot be done now; a refused action does nothing but say
so. Actions that the data lock refuses are struck in the hints.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from overbrainer_core.runs.record import RunState
from overbrainer_tui import logs_actions, pipeline_actions, quit_actions, training_actions
from overbrainer_tui.effects import Effect, KeepTheme, OpenRepository, ReloadSettings
from overbrainer_tui.state import VIEW_KEYS, AppState, View
from overbrainer_tui.view_models.overlay import Help, Palette
from overbrainer_tui.view_models.snapshots import Hint, Level

Deed = Callable[[AppState], list[Effect]]
Reason = Callable[[AppState], str | None]


class Action(Struct, frozen=True, kw_only=True):
    """One action: `keys` do it, `shown` is how they are written, `title` its name in the palette ('' keeps it out).

    `hint` is the footer's label ('' keeps it out), `help` the help's words. `view` None means everywhere.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    help: str
    deed: Deed
    hint: str = ""
    hint_key: str = ""
    title: str = ""
    view: View | None = None
    refusal: Reason | None = None
    is_locked: bool = False

    def why_not(self, state: AppState) -> str | None:
        """Why it cannot be done now."""
        return self.refusal(state) if self.refusal is not None else None

    def do(self, state: AppState) -> list[Effect]:
        """Do it, or say why not."""
        reason = self.why_not(state)
        if reason is None:
            return self.deed(state)
        state.say(reason, Level.WARNING)
        return []


def _views() -> str:
    digits = list(VIEW_KEYS)
    return f"{digits[0]}-{digits[-1]}"


def _show(view: View) -> Deed:
    return lambda state: state.show(view)


def _step_view(by: int) -> Deed:
    views = list(View)
    return lambda state: state.show(views[(views.index(state.view) + by) % len(views)])


def _open_help(state: AppState) -> list[Effect]:
    state.overlay = Help()
    return []


def _open_palette(state: AppState) -> list[Effect]:
    state.overlay = Palette()
    return []


def _reload(state: AppState) -> list[Effect]:
    return [ReloadSettings(), *state.read_runs()]


def _no_repository(state: AppState) -> str | None:
    return None if state.repository else "this build names no repository to open"


def _choose_theme(theme: str) -> Deed:
    def choose(state: AppState) -> list[Effect]:
        state.theme = theme
        return [KeepTheme(theme=theme)]

    return choose


def _theme_refusal(theme: str) -> Reason:
    def refusal(state: AppState) -> str | None:
        if state.is_theme_forced:
            return "OVERBRAINER_TUI_THEME decides the theme"
        return f"the theme is {theme} already" if state.theme == theme else None

    return refusal


def _move_in(view: View) -> Callable[[str], Deed]:
    """Keys that only move are the view model's."""

    def of(key: str) -> Deed:
        def move(state: AppState) -> list[Effect]:
            (state.training if view is View.TRAINING else state.logs).on_key(key)
            return []

        return move

    return of


_EVERYWHERE = (
    Action(
        id="views",
        keys=(),
        shown=f"{_views()} Tab",
        help="switch view",
        deed=lambda _: [],
        hint="views",
        hint_key=_views(),
    ),
    *(
        Action(
            id=f"view_{view.value.lower()}",
            keys=(key,),
            shown=key,
            help="",
            deed=_show(view),
            title=f"Show {view.value}",
        )
        for key, view in VIEW_KEYS.items()
    ),
    Action(id="next_view", keys=("tab",), shown="Tab", help="", deed=_step_view(1)),
    Action(id="previous_view", keys=("shift+tab",), shown="Shift-Tab", help="", deed=_step_view(-1)),
    Action(id="palette", keys=(":", "ctrl+p"), shown=":", help="find a command", deed=_open_palette),
    Action(
        id="reload",
        keys=("R",),
        shown="R",
        help="reload settings and runs",
        deed=_reload,
        title="Reload settings, runs",
    ),
    Action(
        id="stage_menu",
        keys=("r",),
        shown="r",
        help="run a stage",
        deed=pipeline_actions.open_menu,
        hint="run a stage",
        title="Run a stage",
        refusal=lambda state: state.refusal("stage"),
        is_locked=True,
    ),
    Action(
        id="repository",
        keys=("g",),
        shown="g",
        help="open the repository",
        deed=lambda state: [OpenRepository(url=state.repository)],
        title="Open the repository in a browser",
        refusal=_no_repository,
    ),
    *(
        Action(
            id=f"theme_{theme}",
            keys=(),
            shown="",
            help="",
            deed=_choose_theme(theme),
            title=f"Theme: {words}",
            refusal=_theme_refusal(theme),
        )
        for theme, words in (("dark", "dark"), ("light", "light"), ("safe", "safe for colour-blind eyes"))
    ),
    Action(id="help", keys=("?",), shown="?", help="this help", deed=_open_help, title="Show the keys"),
    Action(
        id="quit",
        keys=("q", "ctrl+c"),
        shown="q Ctrl-C",
        help="quit",
        deed=quit_actions.ask_quit,
        hint="quit",
        hint_key="q",
        title="Quit overbrainer",
    ),
)

_PIPELINE = (
    Action(
        id="auto",
        keys=("A",),
        shown="A",
        help="every stage, then train",
        deed=lambda state: pipeline_actions.ask_auto(state),
        hint="auto",
        title="Run auto mode",
        view=View.PIPELINE,
        refusal=pipeline_actions.auto_refusal,
        is_locked=True,
    ),
    Action(
        id="cancel_auto",
        keys=("c",),
        shown="c",
        help="cancel auto mode's stage",
        deed=pipeline_actions.ask_cancel_auto,
        hint="cancel auto",
        title="Cancel auto mode",
        view=View.PIPELINE,
    ),
)

_move_run = _move_in(View.TRAINING)

_TRAINING = (
    Action(
        id="select_run",
        keys=(),
        shown="j/k ↑↓",
        help="select a run",
        deed=lambda _: [],
        hint="select",
        hint_key="j/k",
        view=View.TRAINING,
    ),
    *(
        Action(id=f"move_run_{key}", keys=(key,), shown=key, help="", deed=_move_run(key), view=View.TRAINING)
        for key in ("j", "k", "down", "up", "pageup", "pagedown", "home", "end", "escape")
    ),
    Action(
        id="attach",
        keys=("a",),
        shown="a",
        help="attach: follow the run",
        deed=lambda state: training_actions.attach(state, _selected(state)),
        hint="attach",
        title="Attach: follow this run",
        view=View.TRAINING,
        refusal=training_actions.attach_refusal,
    ),
    Action(
        id="cancel",
        keys=("c",),
        shown="c",
        help="cancel it",
        deed=training_actions.ask_cancel,
        hint="cancel",
        title="Cancel this run",
        view=View.TRAINING,
        refusal=training_actions.cancel_refusal,
    ),
    Action(
        id="start",
        keys=("t",),
        shown="t",
        help="start a run",
        deed=training_actions.ask_start,
        hint="start",
        title="Start a training run",
        view=View.TRAINING,
        refusal=training_actions.start_refusal,
        is_locked=True,
    ),
    Action(
        id="stop",
        keys=("s",),
        shown="s",
        help="stop with a snapshot",
        deed=training_actions.ask_stop,
        hint="stop",
        title="Stop this run with a snapshot",
        view=View.TRAINING,
        refusal=training_actions.stop_refusal,
    ),
    Action(
        id="resume",
        keys=("T",),
        shown="T",
        help="resume a stopped run",
        deed=training_actions.ask_resume,
        hint="resume",
        title="Resume this run from its snapshot",
        view=View.TRAINING,
        refusal=training_actions.resume_refusal,
        is_locked=True,
    ),
    Action(
        id="clear",
        keys=("x",),
        shown="x",
        help="clear failed runs",
        deed=training_actions.ask_clear,
        hint="clear",
        title="Clear the failed runs",
        view=View.TRAINING,
        refusal=training_actions.clear_refusal,
    ),
    *(
        Action(
            id=name,
            keys=(key,),
            shown=shown,
            help=words,
            deed=_move_run(key),
            hint=hint,
            title=title,
            view=View.TRAINING,
            refusal=training_actions.chart_refusal,
        )
        for name, key, shown, words, hint, title in (
            ("cursor_back", ",", ", .", "move the chart's cursor", "cursor", "Chart: cursor back"),
            ("cursor_forward", ".", ".", "", "", "Chart: cursor forward"),
            ("fit", "z", "z", "fit the x axis, and back", "", "Chart: fit the x axis, and back"),
        )
    ),
)

_move_log = _move_in(View.LOGS)

_LOGS = (
    Action(
        id="scroll",
        keys=(),
        shown="j/k ↑↓",
        help="scroll",
        deed=lambda _: [],
        hint="scroll",
        hint_key="j/k",
        view=View.LOGS,
    ),
    *(
        Action(id=f"scroll_{key}", keys=(key,), shown=key, help="", deed=_move_log(key), view=View.LOGS)
        for key in ("j", "k", "down", "up", "pageup", "pagedown", "home")
    ),
    Action(
        id="follow",
        keys=("G", "end"),
        shown="G",
        help="follow the newest line",
        deed=_move_log("G"),
        hint="follow",
        title="Follow the newest line",
        view=View.LOGS,
    ),
    Action(
        id="level",
        keys=("f",),
        shown="f",
        help="next level",
        deed=_move_log("f"),
        hint="level",
        title="Logs: next level",
        view=View.LOGS,
        refusal=logs_actions.level_refusal,
    ),
    Action(
        id="source",
        keys=("s",),
        shown="s",
        help="own log or the job.log",
        deed=logs_actions.switch_source,
        hint="source",
        title="Logs: own log, or the run's job.log",
        view=View.LOGS,
    ),
    Action(
        id="search",
        keys=("/",),
        shown="/",
        help="search, Esc ends it",
        deed=logs_actions.search,
        hint="search",
        title="Logs: search",
        view=View.LOGS,
    ),
    Action(
        id="next_match",
        keys=("n",),
        shown="n N",
        help="next match, previous",
        deed=lambda state: logs_actions.step_search(state, 1),
        hint="next",
        hint_key="n/N",
        title="Logs: next match",
        view=View.LOGS,
        refusal=logs_actions.search_refusal,
    ),
    Action(
        id="previous_match",
        keys=("N",),
        shown="N",
        help="",
        deed=lambda state: logs_actions.step_search(state, -1),
        title="Logs: match before",
        view=View.LOGS,
        refusal=logs_actions.search_refusal,
    ),
    Action(
        id="clear_search",
        keys=("escape",),
        shown="Esc",
        help="",
        deed=logs_actions.clear_search,
        hint="end search",
        view=View.LOGS,
    ),
    Action(
        id="export",
        keys=("x",),
        shown="x",
        help="export to a file",
        deed=logs_actions.export,
        hint="export",
        title="Logs: export to a file",
        view=View.LOGS,
    ),
    Action(
        id="shift_left", keys=("h", "left"), shown="h/l ←→", help="shift the lines", deed=_move_log("h"), view=View.LOGS
    ),
    Action(id="shift_right", keys=("l", "right"), shown="l", help="", deed=_move_log("l"), view=View.LOGS),
)

ACTIONS = (*_EVERYWHERE, *_PIPELINE, *_TRAINING, *_LOGS)
"""Every action there is."""


def _selected(state: AppState) -> str:
    record = state.training.selected
    return record.id if record is not None else ""


def find(key: str, view: View) -> Action | None:
    """The action of a key: everywhere first, then of the view."""
    everywhere = (action for action in ACTIONS if action.view is None and key in action.keys)
    here = (action for action in ACTIONS if action.view is view and key in action.keys)
    return next(everywhere, None) or next(here, None)


def by_id(action_id: str) -> Action:
    """The action of that ID."""
    return next(action for action in ACTIONS if action.id == action_id)


def help_rows(view: View | None) -> tuple[tuple[str, str], ...]:
    """Keys and words of the help: of a view, or of everywhere."""
    return tuple((action.shown, action.help) for action in ACTIONS if action.view is view and action.help)


def hints(state: AppState) -> tuple[Hint, ...]:
    """The footer's hints of the view shown, those that matter now first."""
    if state.is_typing:
        return (Hint(key="Enter", label="keep"), Hint(key="Esc", label="clear"))
    is_locked = state.lock_reason is not None or state.is_readonly
    return tuple(
        Hint(key=action.hint_key or action.shown, label=action.hint, is_refused=is_locked and action.is_locked)
        for action in map(by_id, _hinted(state))
    )


def _hinted(state: AppState) -> tuple[str, ...]:
    match state.view:
        case View.PIPELINE:
            return _pipeline_hints(state)
        case View.TRAINING:
            return _training_hints(state)
        case View.LOGS:
            return _logs_hints(state)


def _pipeline_hints(state: AppState) -> tuple[str, ...]:
    """A chain that runs can be cancelled."""
    chain = state.chain
    is_cancellable = chain is not None and chain.is_running and not chain.is_training
    return (*(("cancel_auto",) if is_cancellable else ()), "stage_menu", "auto", "quit", "views")


def _training_hints(state: AppState) -> tuple[str, ...]:
    """What the selected run asks for comes first: a stopped one resumes, a running one is attached, then stops."""
    record = state.training.selected
    if record is None:
        return ("start", "quit", "views") if not state.training.all_records else ("start", "select_run", "views")
    clear = ("clear",) if state.training.clearable else ()
    cursor = ("cursor_back",) if state.training.has_curve else ()
    if state.training.tasks.of_run(record.id) is not None:
        return ("stop", "select_run", "cancel", *cursor, "start", *clear)
    if not record.state.has_ended:
        return ("attach", "select_run", "stop", "cancel", "start", *clear)
    if record.state is RunState.STOPPED and record.snapshot is not None:
        return ("resume", "select_run", "start", *cursor, *clear)
    if record.state is RunState.FAILED:
        return (*clear, "select_run", "start", *cursor)
    return ("select_run", "start", *cursor, *clear)


def _logs_hints(state: AppState) -> tuple[str, ...]:
    """Scrolled back, the way to the newest line comes first; in a search, its next line."""
    if state.logs.is_searching:
        return ("next_match", "clear_search", "search", "scroll", "follow")
    follow, rest = ("follow",), ("search", "level", "source", "export")
    return (*follow, "scroll", *rest) if state.logs.is_pinned else ("scroll", *follow, *rest)


def palette_entries(state: AppState, text: str) -> tuple[tuple[Action, str | None], ...]:
    """The commands whose title holds what was typed, with why they are refused; those that start with it first."""
    wanted = text.strip().lower()
    found = [action for action in ACTIONS if action.title and wanted in action.title.lower()]
    found.sort(key=lambda action: not action.title.lower().startswith(wanted))
    return tuple((action, action.why_not(state)) for action in found)


def palette_total() -> int:
    """How many commands there are."""
    return sum(1 for action in ACTIONS if action.title)
