"""Does a project have what it needs before money is spent?

Everything is looked at and nothing is changed: no lock is taken, no file written, no paid request sent, no container
started. A check never stops the next one; what cannot be known without an earlier answer is left out, and says so.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from overbrainer_core.clock import Clock, SystemClock
from overbrainer_core.config.hints import known_hint, name_text
from overbrainer_core.config.settings import Settings, Target, Training
from overbrainer_core.errors import ConfigError, describe
from overbrainer_core.flows.doctor_checks.base import Check, Status, Subject, failure, ok, skipped, warning
from overbrainer_core.flows.doctor_checks.project import check_disk, check_prompts, check_python, load_project
from overbrainer_core.flows.doctor_checks.providers import check_providers, check_secret
from overbrainer_core.flows.doctor_checks.target import check_target
from overbrainer_core.flows.train import NO_TRAINING
from overbrainer_core.llm.client import Connect
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.training.trainer import trainer_named


async def examine(
    root: Path,
    *,
    process_env: Mapping[str, str],
    target: str | None = None,
    offline: bool = False,
    clock: Clock | None = None,
    connect: Connect | None = None,
) -> AsyncIterator[Check]:
    """The findings about the project in `root`, each as soon as it is there.

    Args:
        target: the target to look at instead of `training.target`.
        offline: leave out what needs the network.
        connect: gives the transport of a provider in the place of the network.

    Raises:
        ConfigError: there is no target of that name.
    """
    paths = ProjectPaths(root)
    yield check_python()
    checks, loaded = load_project(paths, process_env)
    for check in checks:
        yield check
    if loaded is None:
        yield skipped("everything else", "left out: the configuration comes first")
        return
    environment, settings = loaded
    subject = Subject(
        paths=paths,
        environment=environment,
        settings=settings,
        clock=clock or SystemClock(),
        is_offline=offline,
        connect=connect,
    )
    chosen = _target(settings, target)
    yield await check_disk(paths)
    yield await check_prompts(paths, settings)
    async for check in check_providers(subject):
        yield check
    for check in _check_training(settings, chosen):
        yield check
    for check in await _check_hub_token(subject):
        yield check
    if chosen is not None:
        for check in await check_target(subject, chosen, settings.training):
            yield check


def is_fit(checks: Sequence[Check]) -> bool:
    """Whether nothing would fail; warnings do not count."""
    return all(check.status is not Status.FAILURE for check in checks)


def check_line(check: Check) -> str:
    """A finding on one line: status, name, words, and after a semicolon the next step."""
    text = f"{check.status:<8} {check.name}: {check.detail}"
    return f"{text}; {check.next}" if check.next else text


def summary_line(checks: Sequence[Check]) -> str:
    """How many findings there are of each kind, such as `doctor: 9 ok, 1 warning, 0 failures, 2 skipped`."""
    counts = {status: sum(check.status is status for check in checks) for status in Status}
    plural = {status: "" if count == 1 else "s" for status, count in counts.items()}
    return (
        f"doctor: {counts[Status.OK]} ok, {counts[Status.WARNING]} warning{plural[Status.WARNING]}, "
        f"{counts[Status.FAILURE]} failure{plural[Status.FAILURE]}, {counts[Status.SKIPPED]} skipped"
    )


def _target(settings: Settings, name: str | None) -> Target | None:
    if name is None:
        return settings.targets.get(settings.training.target) if settings.training is not None else None
    found = settings.targets.get(name)
    if found is None:
        raise ConfigError(f"unknown target `{name_text(name)}`{known_hint(name, settings.targets)}")
    return found


def _check_training(settings: Settings, target: Target | None) -> list[Check]:
    """Whether the trainer takes the settings and the target, and what it warns of."""
    training = settings.training
    if training is None or target is None:
        return [skipped("training", f"{NO_TRAINING}: `run` stops after split")]
    trainer = trainer_named(training.trainer)
    try:
        trainer.check(training, target)
    except ConfigError as error:
        return [failure("training", describe(error), "correct it in overbrainer.toml")]
    found = ok("training", f"{training.base_model} on {target.name}, {training.adapter}, trainer {training.trainer}")
    return [found, *(warning("training", line) for line in trainer.warnings(training))]


async def _check_hub_token(subject: Subject) -> list[Check]:
    """The Hugging Face token, where the training may need one."""
    settings = subject.settings
    training: Training | None = settings.training
    if training is None or not trainer_named(training.trainer).uses_hf_token:
        return []
    if settings.hf_token is not None:
        return [await check_secret(subject, "hf_token", settings.hf_token)]
    if training.hub_model_id is not None:
        return [
            warning("hf_token", "it is not set: the push will fail", "set OVERBRAINER_HF_TOKEN or HF_TOKEN in .env")
        ]
    return [skipped("hf_token", "not set: only gated models and pushes need it")]
