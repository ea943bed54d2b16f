"""What do the keys of the Training view do, and what follows when a task on a run ends?

One task per run: a cancel or a stop of a followed run detaches it first and starts when that has ended. A start whose
job has not begun is never cut; what was asked for meanwhile happens once it began.
"""

from __future__ import annotations

from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_tui.effects import (
    AttachRun,
    CancelRun,
    DetachRun,
    Effect,
    PlanRefused,
    PlanTraining,
    Purpose,
    ReadMetrics,
    RunReported,
    RunTaskEnded,
    StartTraining,
    StopRun,
    TrainingPlanned,
)
from overbrainer_tui.pipeline_actions import finish_chain, stop_chain
from overbrainer_tui.quit_actions import detach, leave_if_done
from overbrainer_tui.state import AppState, View
from overbrainer_tui.view_models.overlay import Answer, Confirm, DialogRow, RowTone
from overbrainer_tui.view_models.quit import QuitPhase
from overbrainer_tui.view_models.run_tasks import RunTask, RunTaskKind
from overbrainer_tui.view_models.snapshots import Level, MessageRow
from overbrainer_tui.view_models.start import plan_rows

READONLY = "refused: opened with --readonly"


# Why not


def attach_refusal(state: AppState) -> str | None:
    """Why the selected run cannot be followed."""
    record = state.training.selected
    if state.is_readonly:
        return READONLY
    if record is None:
        return "no run to attach"
    task = state.training.tasks.of_run(record.id)
    if task is not None:
        is_cancelled = task.word == "cancelling"
        return f"run {record.id} is being cancelled" if is_cancelled else f"run {record.id} is already followed"
    return "refused: quitting; nothing new is followed" if state.quit.is_leaving else None


def cancel_refusal(state: AppState) -> str | None:
    """Why the selected run cannot be cancelled."""
    record = state.training.selected
    if state.is_readonly:
        return READONLY
    if record is None:
        return "no run to cancel"
    if state.quit.phase is QuitPhase.SIGNALLED:
        return "refused: interrupted, exiting"
    task = state.training.tasks.of_run(record.id)
    if task is not None and task.word == "cancelling":
        return f"run {record.id} is already being cancelled"
    return f"run {record.id} already ended: cancelled" if record.state is RunState.CANCELLED else None


def stop_refusal(state: AppState) -> str | None:
    """Why the selected run cannot be stopped with a snapshot."""
    record = state.training.selected
    if state.is_readonly:
        return READONLY
    if record is None:
        return "no run to stop"
    task = state.training.tasks.of_run(record.id)
    if task is not None and task.word in ("cancelling", "stopping"):
        return f"run {record.id} is already {task.word}"
    if state.quit.is_leaving:
        return "refused: quitting; nothing new is stopped"
    if record.state is not RunState.RUNNING:
        return f"run {record.id} is not running ({record.state}): there is nothing to snapshot"
    if not record.snapshots:
        return f"the job of run {record.id} comes from before 0.5.0 and cannot save a snapshot: c cancels it"
    return None


def start_refusal(state: AppState) -> str | None:
    """Why no run can be started."""
    refusal = state.refusal("run")
    if refusal is not None:
        return refusal
    if state.project.target is None:
        return "no [training] section in overbrainer.toml: nothing says what to train"
    return "already preparing a run" if state.preparing is not None else None


def resume_refusal(state: AppState) -> str | None:
    """Why the selected run cannot be resumed."""
    record = state.training.selected
    if record is None:
        return "no run to resume"
    if record.state is not RunState.STOPPED or record.snapshot is None:
        return f"run {record.id} is {record.state}, not stopped with a snapshot"
    return start_refusal(state)


def clear_refusal(state: AppState) -> str | None:
    """Why there is nothing to clear."""
    return None if state.training.clearable else "no failed run to clear"


def chart_refusal(state: AppState) -> str | None:
    """Why the chart has no cursor."""
    return None if state.training.has_curve else "no metrics to move on"


# Questions


def ask_start(state: AppState) -> list[Effect]:
    """Prepare a start; its question follows."""
    return _plan(state, Purpose.START, None)


def ask_resume(state: AppState) -> list[Effect]:
    """Prepare a resume of the selected run; its question follows."""
    record = state.training.selected
    return _plan(state, Purpose.RESUME, record.id) if record is not None else []


def _plan(state: AppState, purpose: Purpose, resume_from: str | None) -> list[Effect]:
    state.preparing = purpose
    state.ticket += 1
    return [PlanTraining(ticket=state.ticket, purpose=purpose, resume_from=resume_from)]


def ask_cancel(state: AppState) -> list[Effect]:
    """Ask whether to cancel the selected run."""
    record = state.training.selected
    if record is None:
        return []
    rows = [DialogRow(label="run", value=record.id, remark=f"{record.state} on {record.target}")]
    if record.state.has_ended:
        rows.append(DialogRow(label="cancel", value="stops any job of it left on the target"))
    else:
        rows.append(DialogRow(label="cancel", value="ends its job now; no snapshot is saved, s saves one"))
    task = state.training.tasks.of_run(record.id)
    if task is not None and task.is_starting:
        rows.append(DialogRow(value="It has not begun: it is cancelled once its job started.", tone=RowTone.NOTE))
    state.overlay = Confirm(
        title="Cancel a run?",
        rows=tuple(rows),
        yes="cancel the run",
        no="keep it",
        on_yes=Answer.CANCEL_RUN,
        subject=record.id,
        is_destructive=True,
    )
    return []


def ask_stop(state: AppState) -> list[Effect]:
    """Ask whether to stop the selected run with a snapshot."""
    record = state.training.selected
    if record is None:
        return []
    state.overlay = Confirm(
        title="Stop a run with a snapshot?",
        rows=(
            DialogRow(label="run", value=record.id, remark=f"{record.state} on {record.target}"),
            DialogRow(label="stop", value="its job saves a checkpoint at the end of its step, then ends; T resumes it"),
            DialogRow(label="limit", value="a job that gives none within 30 minutes is cancelled"),
        ),
        yes="stop the run",
        no="keep it",
        on_yes=Answer.STOP_RUN,
        subject=record.id,
    )
    return []


def ask_clear(state: AppState) -> list[Effect]:
    """Ask whether to hide the failed runs."""
    runs = [record.id for record in state.training.clearable]
    shown = [DialogRow(label="runs" if at == 0 else " ", value=run_id) for at, run_id in enumerate(runs[:5])]
    if len(runs) > len(shown):
        shown.append(DialogRow(label=" ", value=f"and {len(runs) - len(shown)} more"))
    note = "They are hidden until the app restarts; nothing is deleted."
    state.overlay = Confirm(
        title="Clear failed runs?",
        rows=(*shown, DialogRow(), DialogRow(value=note, tone=RowTone.NOTE)),
        yes="clear",
        no="keep it" if len(runs) == 1 else "keep them",
        on_yes=Answer.CLEAR_RUNS,
        subject=tuple(runs),
    )
    return []


# Deeds


def attach(state: AppState, run_id: str) -> list[Effect]:
    """Follow a run."""
    return _begin(state, RunTaskKind.ATTACH, run_id)


def cancel_run(state: AppState, run_id: str) -> list[Effect]:
    """Cancel a run, after its task has let it go."""
    return _after_detach(state, RunTaskKind.CANCEL, run_id)


def stop_run(state: AppState, run_id: str) -> list[Effect]:
    """Stop a run with a snapshot, after its task has let it go."""
    return _after_detach(state, RunTaskKind.STOP, run_id)


def confirm_start(state: AppState, planned: TrainingPlanned) -> list[Effect]:
    """The person said yes to a plan: start it, unless something else began meanwhile."""
    refusal = start_refusal(state)
    if refusal is not None:
        state.say(refusal, Level.WARNING)
        return []
    return start_run(state, planned)


def start_run(state: AppState, planned: TrainingPlanned) -> list[Effect]:
    """Start a planned run, and show it."""
    task = RunTask(number=state.next_number(), kind=RunTaskKind.START, target=planned.facts.target)
    state.training.tasks.add(task)
    resumed = f", resuming run {planned.facts.resume[0]}" if planned.facts.resume is not None else ""
    state.say(f"starting a run on {planned.facts.target}{resumed}")
    if state.chain is not None and planned.purpose is Purpose.CHAIN:
        state.chain.task = task.number
        state.chain.resume_from = None
    return [*state.show(View.TRAINING), StartTraining(task=task.number, plan=planned.plan)]


def _after_detach(state: AppState, kind: RunTaskKind, run_id: str) -> list[Effect]:
    task = state.training.tasks.of_run(run_id)
    if task is None:
        return _begin(state, kind, run_id)
    if task.word == "cancelling":
        state.say(f"run {run_id} is already being cancelled", Level.WARNING)
        return []
    task.following = kind
    return _let_go(task)


def _let_go(task: RunTask) -> list[Effect]:
    if task.is_starting or task.is_leaving:
        return []
    task.is_leaving = True
    return [DetachRun(task=task.number)]


def _begin(state: AppState, kind: RunTaskKind, run_id: str) -> list[Effect]:
    record = state.training.record(run_id)
    task = RunTask(
        number=state.next_number(),
        kind=kind,
        target=record.target if record is not None else "",
        run_id=run_id,
        has_begun=True,
    )
    state.training.tasks.add(task)
    state.training.track(run_id).begin_task()
    state.quit.take_up(run_id)
    state.quit.detached.discard(run_id)
    match kind:
        case RunTaskKind.STOP:
            return [StopRun(task=task.number, run_id=run_id)]
        case RunTaskKind.CANCEL:
            return [CancelRun(task=task.number, run_id=run_id)]
        case _:
            return [AttachRun(task=task.number, run_id=run_id)]


# What comes back


def planned(state: AppState, outcome: TrainingPlanned) -> list[Effect]:
    """A plan is ready: start the chain's run, or ask."""
    if outcome.ticket != state.ticket or state.preparing is None:
        return []
    state.preparing = None
    if outcome.purpose is Purpose.CHAIN:
        return start_run(state, outcome)
    key = "T" if outcome.purpose is Purpose.RESUME else "t"
    if state.overlay is not None:
        state.say(f"a run is prepared: press {key} again", Level.WARNING)
        return []
    title = "Resume a training run?" if outcome.purpose is Purpose.RESUME else "Start a training run?"
    state.overlay = Confirm(
        title=title,
        rows=plan_rows(outcome.facts),
        yes="start",
        no="cancel",
        on_yes=Answer.START_RUN,
        subject=outcome,
    )
    return []


def plan_refused(state: AppState, outcome: PlanRefused) -> list[Effect]:
    """No run can be started."""
    if outcome.ticket != state.ticket or state.preparing is None:
        return []
    state.preparing = None
    if outcome.purpose is Purpose.CHAIN:
        stop_chain(state, outcome.reason)
    else:
        state.say(outcome.reason, Level.ERROR, is_end=True)
    return leave_if_done(state)


def run_reported(state: AppState, outcome: RunReported) -> list[Effect]:
    """A run's task has something to say."""
    task = state.training.tasks.get(outcome.task)
    if task is None:
        return []
    line = MessageRow(time=state.now, text=outcome.text, level=outcome.level)
    if task.run_id is None:
        task.early.append(line)
    else:
        state.training.track(task.run_id).report(line)
    if state.quit.is_leaving:
        state.quit.note(outcome.text, subject=task.run_id or "")
    return []


def task_began(state: AppState, number: int) -> list[Effect]:
    """The first status of a task's job arrived: what waited for it happens now."""
    task = state.training.tasks.get(number)
    if task is None:
        return []
    effects = state.read_runs()
    if task.following is not None:
        effects += _let_go(task)
    elif state.quit.is_leaving:
        effects += detach(state, task)
    return effects


def run_task_ended(state: AppState, outcome: RunTaskEnded) -> list[Effect]:
    """A task on a run ended: read the run again, start what waited, tell how it went."""
    task = state.training.tasks.remove(outcome.task)
    if task is None:
        return []
    run_id = outcome.record.id if outcome.record is not None else task.run_id
    effects = state.read_runs()
    is_let_go = outcome.is_detached and task.following is not None
    if run_id is not None:
        effects.append(ReadMetrics(run_id=run_id, generation=state.training.mark_read(run_id)))
        if outcome.error is not None and not is_let_go:
            state.training.track(run_id).fail(outcome.error, state.now)
    if not is_let_go:
        _tell_end(state, outcome, run_id)
    if task.following is not None and run_id is not None:
        effects += _begin(state, task.following, run_id)
    if state.chain is not None and state.chain.task == task.number:
        _end_chain(state, task, outcome, run_id)
    return effects + leave_if_done(state)


def _tell_end(state: AppState, outcome: RunTaskEnded, run_id: str | None) -> None:
    name = f"run {run_id}" if run_id is not None else "run not started"
    if outcome.error is None:
        state.say(f"{name}: {_end_words(outcome.record)}", is_end=True)
        return
    state.say(f"{name}: {outcome.error}", Level.WARNING, is_end=True)
    if state.quit.is_leaving:
        text = outcome.error if outcome.is_detached else f"{name}: {outcome.error}"
        state.quit.note(text, subject=run_id or "")


def _end_words(record: RunRecord | None) -> str:
    if record is not None and record.state is RunState.STOPPED:
        return "stopped with a snapshot; T resumes it"
    return str(record.state) if record is not None and record.state is RunState.CANCELLED else "done"


def _end_chain(state: AppState, task: RunTask, outcome: RunTaskEnded, run_id: str | None) -> None:
    record: RunRecord | None = outcome.record
    if task.following is not None:
        stop_chain(state, f"run {run_id} is being {'cancelled' if task.following is RunTaskKind.CANCEL else 'stopped'}")
        return
    if outcome.error is None and record is not None and record.state is RunState.SUCCEEDED:
        merged = f", merged model in runs/{run_id}/output/merged" if state.project.merge else ""
        finish_chain(state, f"auto done: runs/{run_id}/output{merged}")
        return
    why = outcome.error or (f"run {run_id} is {record.state}" if record is not None else "no run")
    stop_chain(state, why)
