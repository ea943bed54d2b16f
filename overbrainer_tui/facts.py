"""What do views and dialogs tell of the settings and of a plan? No host, no key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overbrainer_core.config.settings import Training
from overbrainer_core.flows.session import Session
from overbrainer_tui.effects import PlanFacts, ProjectFacts

if TYPE_CHECKING:
    from overbrainer_core.flows.train import StartPlan


def plan_facts(plan: StartPlan) -> PlanFacts:
    """What a start dialog tells of a plan."""
    resume = plan.resume
    return PlanFacts(
        target=plan.target.name,
        kind=plan.kind_words,
        model=plan.training.base_model,
        settings=settings_words(plan.training),
        train_examples=plan.train_examples,
        eval_examples=plan.eval_examples,
        warnings=plan.warnings,
        resume=(resume.run_id, resume.checkpoint.step, resume.snapshot) if resume is not None else None,
    )


def settings_words(training: Training) -> str:
    """Adapter, epochs and learning rate in words."""
    mantissa, _, exponent = f"{training.learning_rate:.3e}".partition("e")
    rate = f"{float(mantissa):g}e{int(exponent)}"
    noun = "epoch" if training.epochs == 1 else "epochs"
    return f"{training.adapter}, {training.epochs} {noun}, lr {rate}"


def project_facts(session: Session) -> ProjectFacts:
    """What the app shows of the settings in force."""
    settings = session.settings
    training = settings.training
    name, concurrency = settings.project_name, settings.pipeline.concurrency
    if training is None:
        return ProjectFacts(name=name, concurrency=concurrency)
    target = settings.targets.get(training.target)
    return ProjectFacts(
        name=name,
        concurrency=concurrency,
        target=training.target,
        kind=_kind_words(target),
        model=training.base_model,
        settings=settings_words(training),
        epochs=training.epochs,
        merge=training.merge,
    )


def _kind_words(target: Any) -> str:
    runtime = getattr(target, "runtime", None)
    kind = getattr(target, "kind", "")
    return f"{kind}, {runtime}" if runtime else kind
