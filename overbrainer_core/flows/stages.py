"""How does a stage command run, alone or in the chain of `run`?

A `StageCommand` builds each provider's connections once and reads each listing once. However a stage ends, its history
gets one line; only what stops it before it is set up (unknown topic, broken template) leaves none. Ctrl-C drops the
requests in flight and keeps everything saved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.aio.rate_gate import RateGate
from overbrainer_core.clock import rfc3339
from overbrainer_core.config.settings import Role
from overbrainer_core.dataset.store import read_subtopics
from overbrainer_core.errors import (
    ConfigError,
    CostCapError,
    InterruptedByUser,
    ItemsFailedError,
    OverbrainerError,
    ProviderError,
    SecretError,
    describe,
)
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.estimate import Estimator, role_of
from overbrainer_core.flows.report import Report
from overbrainer_core.flows.role_clients import RoleClients
from overbrainer_core.flows.session import Session
from overbrainer_core.history import EntryStatus, append_entry, stage_entry
from overbrainer_core.llm.client import Connect
from overbrainer_core.llm.errors import LlmError
from overbrainer_core.pipeline.answers import run_answers
from overbrainer_core.pipeline.context import StageContext, UnknownTopicError
from overbrainer_core.pipeline.cost_cap import CostCap
from overbrainer_core.pipeline.estimate import StageEstimate, estimate_line, receipt_line, total_line
from overbrainer_core.pipeline.prompts import Prompts, load_prompts
from overbrainer_core.pipeline.questions import run_questions
from overbrainer_core.pipeline.split import run_split
from overbrainer_core.pipeline.stage import StageModelAccess, StageProgress
from overbrainer_core.pipeline.subtopics import run_subtopics
from overbrainer_core.values.stage import SplitReport, Stage, StageStats

INTERRUPTED = "interrupted: the stage resumes on its next run"
NO_TRAINING = "no [training] section in overbrainer.toml: run stops after split"

_ASKING: dict[Stage, Callable[[StageContext], Awaitable[StageStats]]] = {
    Stage.SUBTOPICS: run_subtopics,
    Stage.QUESTIONS: run_questions,
    Stage.ANSWERS: run_answers,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """A stage that reached its end; `summary` is its line of standard output, `split` only that of a split.

    `estimate` is what was expected of it before it began, None when that could not be told.
    """

    stage: Stage
    stats: StageStats
    summary: str
    seconds: float
    split: SplitReport | None = None
    estimate: StageEstimate | None = None


class StageStoppedError(ProviderError):
    """The provider ended a stage; what was produced and spent before is saved and told."""

    def __init__(self, stage: Stage, cause: OverbrainerError) -> None:
        self.stage = stage
        super().__init__(f"{stage} stopped: {describe(cause)}")


def stage_summary(stage: Stage, stats: StageStats) -> str:
    """The summary line of a stage that asks a model."""
    cost = "cost unknown" if stats.cost is None else f"cost ${stats.cost:.4f}"
    return (
        f"{stage}: {stats.done} done, {stats.skipped} skipped, {stats.failed} failed, {stats.excluded} excluded; "
        f"tokens {stats.usage.input_tokens} in, {stats.usage.output_tokens} out; {cost}"
    )


def split_summary(report: SplitReport) -> str:
    """The summary line of a split."""
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.excluded)
    return (
        f"split: {report.train} train, {report.eval} eval, {report.excluded_total} excluded"
        f"{f' ({reasons})' if reasons else ''}, {report.orphaned} orphaned"
    )


class StageCommand:
    """The stages of one command or of one task of the app, on the settings it began with."""

    def __init__(
        self,
        session: Session,
        *,
        bus: EventBus,
        report: Report,
        interrupt: Interrupt,
        connect: Connect | None = None,
    ) -> None:
        self._session = session
        self._bus = bus
        self._report = report
        self._interrupt = interrupt
        self._clients = RoleClients(
            session.settings, environment=session.environment, waits=session.clock, report=report, connect=connect
        )

    async def __aenter__(self) -> StageCommand:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self._clients.close()

    async def tell_estimate(self) -> None:
        """Tell what the stages together are expected to take; what stops them is theirs to tell."""
        try:
            estimator = Estimator(self._session, self._clients, load_prompts(self._session.paths))
            estimates = await self._interrupt.race(estimator.estimate())
        except InterruptedByUser:
            raise InterruptedByUser(INTERRUPTED) from None
        except OverbrainerError:
            return
        asking = [estimate for estimate in estimates if estimate.requests]
        for estimate in asking:
            self._report.note(f"estimate: {estimate_line(estimate)}")
        if len(asking) > 1:
            self._report.note(f"estimate: {total_line(asking)}")

    async def run(self, stage: Stage, *, topic: str | None = None, force: bool = False) -> StageOutcome:
        """Run a stage and tell its summary; `questions` runs `subtopics` first where a topic has none at all.

        Raises:
            UnknownTopicError: no such topic is configured; nothing is recorded.
            ItemsFailedError: some items failed, after the summary.
            StageStoppedError: the provider ended the stage, after the summary of what was done.
            CostCapError: the cost cap ended the stage, after the summary of what was done.
            InterruptedByUser: the person stopped it; no summary.
            OverbrainerError: set-up, a template or a data file.
        """
        return (await self.run_chain(stage, topic=topic, force=force))[-1]

    async def run_chain(self, stage: Stage, *, topic: str | None = None, force: bool = False) -> list[StageOutcome]:
        """Like `run`; the outcomes of all stages that ran, the one asked for last."""
        if topic is not None and self._session.settings.topic(topic) is None:
            raise UnknownTopicError(topic, [entry.name for entry in self._session.settings.topics])
        prompts = None if stage is Stage.SPLIT else load_prompts(self._session.paths)
        outcomes: list[StageOutcome] = []
        if stage is Stage.QUESTIONS and await self._lacks_subtopics(topic):
            outcomes.append(await self._run_one(Stage.SUBTOPICS, prompts=prompts, topic=topic, force=False))
        outcomes.append(await self._run_one(stage, prompts=prompts, topic=topic, force=force))
        return outcomes

    async def _lacks_subtopics(self, topic: str | None) -> bool:
        """Whether some selected topic has no subtopic at all; a file that cannot be read fails `questions`."""
        execution = _Execution(self._session, Stage.QUESTIONS)
        try:
            stored = await asyncio.to_thread(read_subtopics, self._session.paths.subtopics)
        except OverbrainerError:
            execution.record(EntryStatus.FAILED)
            raise
        having = {subtopic.topic for subtopic in stored}
        selected = [entry.name for entry in self._session.settings.topics if topic in (None, entry.name)]
        return not having.issuperset(selected)

    async def _run_one(self, stage: Stage, *, prompts: Prompts | None, topic: str | None, force: bool) -> StageOutcome:
        """Run one stage, record it and tell its summary."""
        execution = _Execution(self._session, stage)
        try:
            work = self._body(execution, prompts=prompts, topic=topic, force=force)
            stats, split = await self._interrupt.race(work)
        except (InterruptedByUser, asyncio.CancelledError) as error:
            execution.record(EntryStatus.INTERRUPTED)
            self._tell_limits(execution)
            if isinstance(error, InterruptedByUser):
                raise InterruptedByUser(INTERRUPTED) from None
            raise
        except OverbrainerError as error:
            execution.record(EntryStatus.FAILED)
            if execution.is_set_up and isinstance(error, LlmError | CostCapError):
                raise self._stopped(execution, error) from error
            raise
        return self._finished(execution, stats, split)

    async def _body(
        self, execution: _Execution, *, prompts: Prompts | None, topic: str | None, force: bool
    ) -> tuple[StageStats, SplitReport | None]:
        """Set the stage's role up, then do its work."""
        session = self._session
        stage = execution.stage
        role = role_of(session, stage)
        progress = StageProgress(stage, self._bus)
        execution.progress = progress
        model = await self._model(execution, progress, role) if role is not None else None
        embedder = None
        if prompts is not None:
            if stage is Stage.QUESTIONS and session.settings.roles.embedder is not None:
                embedder = await self._clients.embedder(session.settings.roles.embedder)
            execution.estimate = await self._estimate(prompts, stage=stage, topic=topic, force=force)
        context = StageContext(
            paths=session.paths,
            settings=session.settings,
            progress=progress,
            warn=self._report.warn,
            topic=topic,
            force=force,
            model=model,
            prompts=prompts,
            embedder=embedder,
        )
        execution.is_set_up = True
        if stage is Stage.SPLIT:
            return await run_split(context)
        return await _ASKING[stage](context), None

    async def _model(self, execution: _Execution, progress: StageProgress, role: Role) -> StageModelAccess:
        """The model of the stage's role, its price, and what its provider is known to take."""
        client = await self._clients.client(role)
        price = await self._clients.price(role)
        progress.price = price
        cap_usd = self._session.settings.pipeline.max_cost_usd
        if cap_usd is not None and price is None:
            self._report.warn(f"pipeline.max_cost_usd cannot hold: the price of {role.model} is unknown")
        execution.gate = client.gate
        progress.limit(client.gate.limits)
        client.gate.listener = progress.limit
        return StageModelAccess(client=client, progress=progress, cap=CostCap(cap_usd, price))

    async def _estimate(
        self, prompts: Prompts, *, stage: Stage, topic: str | None, force: bool
    ) -> StageEstimate | None:
        """What the stage is expected to take; whatever prevents that is the stage's to tell."""
        try:
            estimates = await Estimator(self._session, self._clients, prompts).estimate(
                stage=stage, topic=topic, force=force
            )
        except OverbrainerError:
            return None
        return estimates[-1]

    def _tell_limits(self, execution: _Execution) -> None:
        """Tell what the provider was found to take, where that is less than was asked for."""
        if execution.gate is None:
            return
        execution.gate.listener = None
        limits = execution.gate.limits
        found: list[str] = []
        if limits.at_once is not None:
            found.append(f"{limits.at_once} request{'s' if limits.at_once != 1 else ''} at once")
        if limits.per_minute is not None:
            found.append(f"{limits.per_minute:.0f} a minute")
        if found:
            self._report.note(
                f"{execution.stage}: the provider takes about {' and '.join(found)}; "
                f"pipeline.concurrency is {self._session.settings.pipeline.concurrency}"
            )

    def _tell_end(self, execution: _Execution) -> None:
        """Tell on what terms the stage ran: the limits met, and what was spent beside what was expected."""
        self._tell_limits(execution)
        estimate, stats = execution.estimate, execution.stats
        if estimate is not None and (estimate.requests or stats.usage.output_tokens):
            self._report.note(receipt_line(estimate, stats.usage, stats.cost))

    def _stopped(self, execution: _Execution, error: LlmError | CostCapError) -> OverbrainerError:
        """Tell what a stage did before the provider or the cost cap ended it; the error to raise."""
        self._report.result(stage_summary(execution.stage, execution.stats))
        self._tell_end(execution)
        if isinstance(error, CostCapError):
            return CostCapError(f"{execution.stage} stopped: {error}")
        return StageStoppedError(execution.stage, error)

    def _finished(self, execution: _Execution, stats: StageStats, split: SplitReport | None) -> StageOutcome:
        summary = split_summary(split) if split is not None else stage_summary(execution.stage, stats)
        status = EntryStatus.FAILED if stats.failed else EntryStatus.OK
        execution.record(status, split=split)
        self._report.result(summary)
        self._tell_end(execution)
        if stats.failed:
            raise ItemsFailedError(execution.stage, stats.failed)
        return StageOutcome(
            stage=execution.stage,
            stats=stats,
            summary=summary,
            seconds=execution.seconds,
            split=split,
            estimate=execution.estimate,
        )


class _Execution:
    """One execution of a stage: when it began, its counters, its line of the history."""

    def __init__(self, session: Session, stage: Stage) -> None:
        self._session = session
        self._started = session.clock.now()
        self._started_s = session.clock.monotonic()
        self.stage = stage
        self.progress: StageProgress | None = None
        self.gate: RateGate | None = None
        self.estimate: StageEstimate | None = None
        self.is_set_up = False

    @property
    def stats(self) -> StageStats:
        """The counters so far."""
        return self.progress.stats if self.progress is not None else StageStats()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return self._session.clock.monotonic() - self._started_s

    def record(self, status: EntryStatus, *, split: SplitReport | None = None) -> None:
        """Add the line of the history; a history that cannot be written is a warning."""
        role = role_of(self._session, self.stage)
        entry = stage_entry(
            self.stage,
            status,
            started_at=rfc3339(self._started),
            ended_at=rfc3339(self._session.clock.now()),
            stats=self.stats,
            provider=role.provider if role else None,
            model=role.model if role else None,
            split=split,
        )
        append_entry(self._session.paths, entry)


async def run_all(
    session: Session,
    *,
    bus: EventBus,
    report: Report,
    interrupt: Interrupt,
    connect: Connect | None = None,
) -> list[StageOutcome]:
    """The four stages in order for every topic, the settings read again between them when their files changed.

    The last look at the files comes before the training that may follow; without `[training]` that is told.

    Raises:
        ConfigError: the settings changed and cannot be used, or a role's set-up fails.
        OverbrainerError: whatever ends a stage (see `StageCommand.run`); no further stage runs.
    """
    outcomes: list[StageOutcome] = []
    command: StageCommand | None = None
    try:
        for stage in Stage:
            if outcomes and _reloaded(session, report) and command is not None:
                await command.close()
                command = None
            if command is None:
                command = StageCommand(session, bus=bus, report=report, interrupt=interrupt, connect=connect)
                if not outcomes:
                    await command.tell_estimate()
            outcomes.append(await command.run(stage))
    finally:
        if command is not None:
            await command.close()
    _reloaded(session, report)
    if session.settings.training is None:
        report.note(NO_TRAINING)
    return outcomes


def _reloaded(session: Session, report: Report) -> bool:
    """Read the settings again when their files changed; whether they were."""
    try:
        changed = session.reload_if_changed()
    except (ConfigError, SecretError) as error:
        raise ConfigError(f"the configuration changed and cannot be used; the run stops: {describe(error)}") from error
    if changed:
        report.note("config reloaded")
    return changed
