"""How is a training started on a target and followed to its end?

`plan_start` looks at everything that can be known before a run exists, and refuses there. `start_run` then creates the
run and starts its job without being cut; only the preparation before and the follow after it are given up on an
interrupt, and the job goes on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.aio.tasks import run_to_end
from overbrainer_core.config.settings import LocalTarget, Settings, SshTarget, Target, Training
from overbrainer_core.dataset.counts import count_examples
from overbrainer_core.errors import ConfigError, InterruptedByUser
from overbrainer_core.events.bus import EventBus
from overbrainer_core.executors.base import Executor
from overbrainer_core.executors.local import job_environment
from overbrainer_core.executors.scripts import check_secrets
from overbrainer_core.flows.follow import context_of, follow_to_end, settle_cut_starts
from overbrainer_core.flows.report import Report
from overbrainer_core.flows.session import Session
from overbrainer_core.flows.targets import (
    Machine,
    check_reachable_by,
    connect,
    container_of,
    kind_words,
    require_machine,
    runtime_of,
)
from overbrainer_core.runs.record import RunRecord
from overbrainer_core.runs.resume import ResumeSource, find_resume
from overbrainer_core.runs.start import Launch, create_run, start_run_job
from overbrainer_core.secrets.resolve import resolve_secret
from overbrainer_core.training.programs import check_engine
from overbrainer_core.training.remote_programs import check_remote_engine
from overbrainer_core.training.trainer import NoExampleError, TrainSpec, has_content, trainer_named
from overbrainer_core.values.job import Secret

T = TypeVar("T")

NO_TRAINING = "no [training] section in overbrainer.toml"
"""Why nothing can be trained."""

INTERRUPTED_BEFORE = "interrupted before the run started"
"""What is told when nothing was created yet."""

_EXAMPLE = 'add one, such as: [training] target = "local", base_model = "Qwen/Qwen3-0.6B", adapter = "lora"'


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """What a start will use, once nothing that can be known before refuses it.

    `warnings` are for the person to read before; they stop nothing.
    """

    target: Target
    training: Training
    resume: ResumeSource | None
    train_examples: int
    eval_examples: int
    warnings: tuple[str, ...]
    kind_words: str


def training_of(settings: Settings) -> Training:
    """The `[training]` table.

    Raises:
        ConfigError: there is none.
    """
    if settings.training is None:
        raise ConfigError(f"{NO_TRAINING}; {_EXAMPLE}")
    return settings.training


async def plan_start(session: Session, *, target: str | None = None, resume_from: str | None = None) -> StartPlan:
    """Look at everything that a training needs and that can be known now.

    Raises:
        ConfigError: no `[training]`, no such target, or settings that the trainer refuses.
        RunError: the run to resume from cannot be resumed.
        TargetError: the target is of another kind, its host is unset, or a program is missing on this machine.
        ProjectFileError: there is no data to train on.
    """
    settings = session.settings
    training = training_of(settings)
    chosen = _target(settings, target or training.target)
    trainer = trainer_named(training.trainer)
    resume = None
    if resume_from is not None:
        resume = await asyncio.to_thread(find_resume, session.paths, resume_from, training, trainer)
    trainer.check(training, chosen)
    machine = require_machine(chosen)
    train_examples, eval_examples = await asyncio.to_thread(_examples, session, resume)
    notes = await _check_machine(session, machine, training)
    return StartPlan(
        target=chosen,
        training=training,
        resume=resume,
        train_examples=train_examples,
        eval_examples=eval_examples,
        warnings=(*trainer.warnings(training), *notes, *_later_warnings(settings)),
        kind_words=kind_words(chosen),
    )


async def plan_until_interrupted(
    session: Session, *, interrupt: Interrupt, target: str | None = None, resume_from: str | None = None
) -> StartPlan:
    """`plan_start`, given up when the person interrupts.

    Raises:
        InterruptedByUser: no run exists.
        OverbrainerError: as `plan_start`.
    """
    try:
        return await interrupt.race(plan_start(session, target=target, resume_from=resume_from))
    except InterruptedByUser:
        raise InterruptedByUser(INTERRUPTED_BEFORE) from None


def _target(settings: Settings, name: str) -> Target:
    found = settings.targets.get(name)
    if found is not None:
        return found
    import difflib  # only where a message is made: it is slow to import

    known = sorted(settings.targets)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        raise ConfigError(f"unknown target `{name}`; did you mean `{near[0]}`?")
    raise ConfigError(f"unknown target `{name}`" + (f"; known: {', '.join(known)}" if known else ""))


def _data_files(session: Session, resume: ResumeSource | None) -> tuple[Path, Path | None]:
    if resume is not None:
        return resume.train_data, resume.eval_data
    paths = session.paths
    return paths.train, paths.eval if has_content(paths.eval) else None


def _examples(session: Session, resume: ResumeSource | None) -> tuple[int, int]:
    train, evaluation = _data_files(session, resume)
    count = count_examples(train) if has_content(train) else 0
    if count == 0:
        raise NoExampleError(train)
    return count, count_examples(evaluation) if evaluation is not None else 0


async def _check_machine(session: Session, target: Machine, training: Training) -> tuple[str, ...]:
    if isinstance(target, SshTarget):
        check_reachable_by(target, session)
        return ()
    return await _check_local(session, target, training)


async def _check_local(session: Session, target: LocalTarget, training: Training) -> tuple[str, ...]:
    environment = job_environment(session.environment.values)
    notes: tuple[str, ...] = ()
    if target.runtime == "docker":
        container_of(target).check_directory(os.path.realpath(session.paths.runs))
        notes = await check_engine(target, environment=environment, timeout_s=session.timing.check_timeout_s)
    await trainer_named(training.trainer).check_programs(training, target, environment)
    return notes


async def _check_remote(plan: StartPlan, executor: Executor) -> tuple[str, ...]:
    """What can only be known of a machine behind SSH once it is reached; what a person should know of it."""
    target = plan.target
    if not isinstance(target, SshTarget):
        return ()
    if target.runtime == "docker":
        container_of(target).check_directory(executor.workdir)
        return await check_remote_engine(target, executor)
    await trainer_named(plan.training.trainer).check_remote(target, executor)
    return ()


def _later_warnings(settings: Settings) -> list[str]:
    """What the settings ask to be done after the training and this version does not do."""
    return [
        f"{table}.after_training is set, but this version does not {verb}: the run ends after the training"
        for table, verb in (("export", "export"), ("hub", "push"))
        if settings.tables.get(table, {}).get("after_training") is True
    ]


async def start_run(
    session: Session, plan: StartPlan, *, bus: EventBus, report: Report, interrupt: Interrupt
) -> RunRecord:
    """Create the run, start its job, follow it to its end and hand over the result lines.

    Raises:
        InterruptedByUser: before the run existed, or while it was followed: then its job goes on.
        JobError: the run failed or was cancelled.
        OverbrainerError: the start failed, or the follow gave up; the message says how to go on.
    """
    for warning in plan.warnings:
        report.warn(warning)
    secrets = await _before_start(interrupt, _secrets(session, plan, report))
    executor = await _before_start(interrupt, connect(session, plan.target))
    try:
        for note in await _before_start(interrupt, _check_remote(plan, executor)):
            report.warn(note)
        record = await interrupt.shield(
            _create_and_start(session, plan, executor, secrets=secrets, bus=bus, report=report)
        )
        context = context_of(session, executor, bus=bus, report=report)
        return await follow_to_end(context, record, report=report, interrupt=interrupt)
    finally:
        await run_to_end(executor.close(), name="close the target")


async def _before_start(interrupt: Interrupt, work: Coroutine[Any, Any, T]) -> T:
    """The result of what is done before a run exists, which an interrupt cuts."""
    try:
        return await interrupt.race(work)
    except InterruptedByUser:
        raise InterruptedByUser(INTERRUPTED_BEFORE) from None


async def _secrets(session: Session, plan: StartPlan, report: Report) -> tuple[Secret, ...]:
    if not trainer_named(plan.training.trainer).uses_hf_token:
        return ()
    token = session.settings.hf_token
    if token is None:
        if plan.training.hub_model_id is not None:
            report.warn("training.hub_model_id is set but OVERBRAINER_HF_TOKEN is not: the push will fail")
        return ()
    value = await resolve_secret(token, key="hf_token", environment=session.environment)
    secrets = (Secret("HF_TOKEN", value),)
    check_secrets(secrets)
    return secrets


async def _create_and_start(
    session: Session,
    plan: StartPlan,
    executor: Executor,
    *,
    secrets: tuple[Secret, ...],
    bus: EventBus,
    report: Report,
) -> RunRecord:
    target, resume = require_machine(plan.target), plan.resume
    context = context_of(session, executor, bus=bus, report=report)
    trainer = trainer_named(plan.training.trainer)
    await settle_cut_starts(session, context, target.name)
    record = await create_run(
        context,
        project_name=session.settings.project_name,
        target=target.name,
        resumed_from=resume.run_id if resume else None,
    )
    if resume is not None:
        report.note(f"train: run {record.id} resumes from the snapshot of run {resume.run_id} ({resume.snapshot})")
    report.note(f"train: run {record.id} on target `{target.name}`, in {record.remote_dir}")
    launch = Launch(job=trainer.job(_spec(session, plan)), runtime=runtime_of(target), secrets=secrets)
    return await start_run_job(context, record, launch)


def _spec(session: Session, plan: StartPlan) -> TrainSpec:
    train_data, eval_data = _data_files(session, plan.resume)
    spec = TrainSpec(
        training=plan.training,
        target=plan.target,
        seed=session.settings.pipeline.seed,
        train_data=train_data,
        eval_data=eval_data,
    )
    if plan.resume is None:
        return spec
    seed = plan.resume.seed
    return replace(spec, checkpoint=plan.resume.checkpoint, seed=spec.seed if seed is None else seed)
