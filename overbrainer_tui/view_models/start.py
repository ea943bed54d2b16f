"""What does a start use and cost? The rows of the start, the resume and auto mode's question."""

from __future__ import annotations

from overbrainer_tui.effects import PlanFacts, ProjectFacts
from overbrainer_tui.view_models.overlay import DialogRow, RowTone

GOES_ON = "The run goes on when you leave or quit; a attaches again."

DEMO_MINUTES = "about two minutes"
"""How long the demo takes, as its dialog says."""


def plan_rows(facts: PlanFacts) -> tuple[DialogRow, ...]:
    """The rows of a start or a resume."""
    rows = [_target(facts.target, facts.kind), _model(facts.model, facts.settings)]
    if facts.resume is not None:
        run_id, step, checkpoint = facts.resume
        rows.append(DialogRow(label="resume", value=run_id, remark=f"at step {step}, {checkpoint}, with its own data"))
    rows.append(_data(facts))
    rows += [DialogRow(label="warning", value=text, tone=RowTone.WARNING) for text in facts.warnings]
    return (*rows, DialogRow(), DialogRow(value=GOES_ON, tone=RowTone.NOTE))


def auto_rows(
    project: ProjectFacts, *, demo_directory: str | None = None, resume_from: str | None = None
) -> tuple[DialogRow, ...]:
    """The rows of auto mode's question under its cost; with a demo's directory what it makes, how long it takes."""
    stages = "subtopics, questions, answers, split"
    rows: list[DialogRow] = []
    if demo_directory is not None:
        rows += [
            DialogRow(label="directory", value=demo_directory),
            DialogRow(label="takes", value=DEMO_MINUTES),
        ]
    rows.append(DialogRow(label="stages", value=stages, remark="what is there already is kept"))
    if project.target is None:
        note = "There is no [training] section in overbrainer.toml: the chain stops after split."
        return (*rows, DialogRow(), DialogRow(value=note, tone=RowTone.NOTE))
    resume = () if resume_from is None else (DialogRow(label="resume", value=resume_from, remark="from its snapshot"),)
    return (
        *rows,
        _target(project.target, project.kind),
        _model(project.model, project.settings),
        *resume,
        DialogRow(label="data", value="train and eval", remark="split rebuilds the data just before"),
        DialogRow(),
        DialogRow(value=GOES_ON, tone=RowTone.NOTE),
    )


def _target(name: str, kind: str) -> DialogRow:
    return DialogRow(label="target", value=name, remark=kind)


def _model(name: str, settings: str) -> DialogRow:
    return DialogRow(label="model", value=name, remark=settings)


def _data(facts: PlanFacts) -> DialogRow:
    if facts.train_examples is None:
        return DialogRow(label="data", value="-")
    evaluation = f"{facts.eval_examples} eval" if facts.eval_examples is not None else "no eval"
    remark = f"{evaluation}, the stopped run's own" if facts.resume is not None else evaluation
    return DialogRow(label="data", value=f"{facts.train_examples} train", remark=remark)
