"""What do views and dialogs tell of the settings and of a plan? No host, no key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from overbrainer_core.config.settings import Settings, Training
from overbrainer_core.flows.session import Session
from overbrainer_tui.effects import PlanFacts, ProjectFacts
from overbrainer_tui.view_models.spending import CostFacts

if TYPE_CHECKING:
    from overbrainer_core.flows.train import StartPlan
    from overbrainer_core.pipeline.estimate import StageEstimate

_PLAYED = "demo:"
"""The address of the demo's provider."""


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


def cost_facts(estimates: Sequence[StageEstimate], *, cap_usd: float | None) -> CostFacts:
    """What a question tells of the estimates of stages."""
    known = [estimate.cost_usd for estimate in estimates if estimate.requests]
    priced = [cost for cost in known if cost is not None]
    is_known = len(priced) == len(known)
    return CostFacts(
        requests=sum(estimate.requests for estimate in estimates),
        low_usd=sum(low for low, _ in priced) if is_known else None,
        high_usd=sum(high for _, high in priced) if is_known else None,
        cap_usd=cap_usd,
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
    is_played = _is_played(settings)
    if training is None:
        return ProjectFacts(name=name, concurrency=concurrency, is_played=is_played)
    target = settings.targets.get(training.target)
    return ProjectFacts(
        name=name,
        concurrency=concurrency,
        is_played=is_played,
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


def _is_played(settings: Settings) -> bool:
    """Whether every model that costs is the demo's: no provider of a role is another."""
    roles = settings.roles
    names = {role.provider for role in (roles.generator, roles.parent, roles.embedder) if role is not None}
    providers = [settings.providers.get(name) for name in names]
    return all(provider is not None and provider.base_url == _PLAYED for provider in providers)
