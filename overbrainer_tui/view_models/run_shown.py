"""How is the selected run told: step, pace, phase rail, facts, curves?

A pure function of the record, the track and the task on the run. Phase and ETA exclude each other: while the job does
something other than training steps the phase is told in the ETA's place.
"""

from __future__ import annotations

from msgspec import Struct

from overbrainer_core.runs.record import RunRecord, RunState
from overbrainer_core.training.phases import Phase, PhaseKind
from overbrainer_tui.view_models.run_tasks import RunTask
from overbrainer_tui.view_models.run_track import RunTrack, TrainedWith
from overbrainer_tui.view_models.snapshots import PhaseShown, Progress, RailStep, SelectedRun

_RAIL = ("setup", "train", "finalize", "merge", "retrieve")
_AT = {
    PhaseKind.TRAINING: "train",
    PhaseKind.EVALUATING: "train",
    PhaseKind.FINAL_EVALUATION: "finalize",
    PhaseKind.FINALIZING: "finalize",
    PhaseKind.MERGING: "merge",
    PhaseKind.EXPORTING: "finalize",
    PhaseKind.COMPARING: "finalize",
    PhaseKind.RETRIEVING: "retrieve",
}


class RunFacts(Struct, frozen=True, kw_only=True):
    """What is known of a run; `epochs` and `has_merge` come from the settings of now."""

    record: RunRecord
    track: RunTrack
    task: RunTask | None = None
    epochs: int | None = None
    has_merge: bool = False

    @property
    def is_followed(self) -> bool:
        """Whether a task follows the run."""
        return self.task is not None and self.task.is_following

    @property
    def is_live(self) -> bool:
        """Whether the record says that its job goes on."""
        return not self.record.state.has_ended


def selected_run(facts: RunFacts, *, cursor: int | None, is_fitted: bool) -> SelectedRun:
    """The selected run as drawn."""
    record, data = facts.record, facts.track.data
    curves = data.curves
    phase = _phase(facts)
    word = facts.task.word if facts.task is not None else ""
    progress = _progress(facts)
    return SelectedRun(
        run_id=record.id,
        state=record.state.value,
        target=record.target,
        is_followed=facts.is_followed,
        activity="" if word == "followed" else word,
        step=curves.last_step,
        max_steps=curves.max_steps,
        percent=min(100, int(progress * 100 + 1e-9)) if progress is not None else None,
        progress=min(1.0, progress) if progress is not None else None,
        has_eta=facts.is_live,
        eta_s=data.pace.eta_s if facts.is_live else None,
        steps_per_s=data.pace.steps_per_s,
        took_s=(record.ended - record.created).total_seconds() if record.ended is not None else None,
        phase=_phase_shown(phase),
        rail=_rail(facts, phase),
        epoch=curves.epoch,
        epochs=_epochs(facts),
        loss=_last(curves.loss.last),
        loss_trend=curves.loss_trend,
        eval_loss=_last(curves.eval_loss.last),
        eval_trend=curves.eval_trend,
        lr=_last(curves.lr.last),
        grad_norm=_last(curves.grad_norm.last),
        about=_about(facts.track.trained_with) + _output(facts),
        facts=_facts(facts),
        messages=facts.track.messages,
        series=None if curves.is_empty else curves.series(),
        no_chart=_no_chart(facts),
        is_fitted=is_fitted,
        cursor=curves.cursor_at(cursor) if cursor is not None else None,
    )


def _last(point: tuple[int, float] | None) -> float | None:
    return point[1] if point is not None else None


def _progress(facts: RunFacts) -> float | None:
    """Steps done of all, 0 or more; None before the metrics say how many there are."""
    curves = facts.track.data.curves
    if not curves.max_steps or curves.last_step is None:
        return None
    return curves.last_step / curves.max_steps


def _phase(facts: RunFacts) -> Phase | None:
    """What the job of a followed run does; None when nobody looks or its run has ended."""
    if not facts.is_followed or not facts.is_live:
        return None
    job = facts.track.job
    return facts.track.data.phases.phase(job_ended=job is not None and job.has_ended)


def _phase_shown(phase: Phase | None) -> PhaseShown | None:
    if phase is None or phase.kind is PhaseKind.TRAINING:
        return None
    return PhaseShown(text=phase.text, short=phase.short, step=phase.step, total=phase.total)


def _rail(facts: RunFacts, phase: Phase | None) -> tuple[RailStep, ...]:
    """The steps this run has: done before the one at work, pending after it."""
    has_merge = facts.track.data.has_merge or (facts.has_merge and facts.is_live)
    names = [name for name in _RAIL if name != "merge" or has_merge]
    if facts.record.state is RunState.SUCCEEDED:
        return tuple(RailStep(name=name, progress=Progress.DONE) for name in names)
    at = _position(facts, phase)
    if at not in names:
        return ()
    mark = Progress.RUNNING if facts.is_live else Progress.STOPPED
    index = names.index(at)
    return tuple(
        RailStep(name=name, progress=Progress.DONE if i < index else mark if i == index else Progress.PENDING)
        for i, name in enumerate(names)
    )


def _position(facts: RunFacts, phase: Phase | None) -> str:
    """The step of the rail that the run is at, or stopped at."""
    if phase is None:
        phase = facts.track.data.phases.phase()
    if not facts.track.data.has_lines:
        return "setup"
    return _AT[phase.kind]


def _epochs(facts: RunFacts) -> float | None:
    """Epochs of the run: its own, or, until its files are read, those of the settings."""
    trained_with = facts.track.trained_with
    return facts.epochs if trained_with is None else trained_with.epochs


def _about(trained_with: TrainedWith | None) -> tuple[tuple[str, str], ...]:
    """Model and data of a run."""
    if trained_with is None:
        return ()
    about: list[tuple[str, str]] = []
    if trained_with.base_model is not None:
        words = [trained_with.base_model, trained_with.adapter]
        if trained_with.epochs is not None:
            words.append(f"{trained_with.epochs:g} {'epoch' if trained_with.epochs == 1 else 'epochs'}")
        about.append(("model", ", ".join(words)))
    if trained_with.train_examples is not None:
        evals = trained_with.eval_examples
        about.append(("data", f"{trained_with.train_examples} train, {f'{evals} eval' if evals else 'no eval'}"))
    return tuple(about)


def _output(facts: RunFacts) -> tuple[tuple[str, str], ...]:
    """Where the model of a run that went well is."""
    if facts.record.state is not RunState.SUCCEEDED:
        return ()
    merged = "/merged" if facts.track.data.has_merge else ""
    return (("output", f"runs/{facts.record.id}/output{merged}"),)


def _facts(facts: RunFacts) -> tuple[tuple[str, str, bool], ...]:
    """The remaining facts as (label, value, is_warning)."""
    record = facts.record
    found: list[tuple[str, str, bool]] = []
    if record.resumed_from is not None:
        found.append(("resumed", f"from {record.resumed_from}", False))
    if record.snapshot is not None:
        step, reason = record.snapshot.step, record.snapshot.reason
        found.append(("snapshot", f"at step {step} ({reason}), output/ partial: T resumes it", False))
    if record.message is not None:
        found.append(("why", record.message, True))
    missing = facts.track.points_missing(is_followed=facts.is_followed)
    if missing is not None:
        found.append(("points", missing, True))
    return tuple(found)


def _no_chart(facts: RunFacts) -> str:
    if not facts.track.data.curves.is_empty:
        return ""
    if facts.task is not None and facts.task.word != "cancelling":
        return "no metrics yet"
    if facts.is_live:
        return "not followed: press a to attach"
    if not facts.track.has_no_file:
        return "no metrics yet"
    return "no metrics: the run ended before its first step; 5, then s, shows its job.log"
