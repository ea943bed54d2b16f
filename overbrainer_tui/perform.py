"""How is an effect carried out? With the core's flows, in tasks that the launcher owns, never in a view's.

Each effect becomes one task in the group given; each tells what came of it as an outcome. A task catches everything at
its root: a failure is told like any other. Reads run in threads and are dropped when the app is left; work is not.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.errors import ConfigError, InterruptedByUser, OverbrainerError, SecretError, describe
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.session import Session
from overbrainer_core.runs.record import RunRecord
from overbrainer_core.values.stage import Stage
from overbrainer_tui import reads
from overbrainer_tui.bridge import Bridge
from overbrainer_tui.effects import (
    AttachRun,
    BrowserFailed,
    CancelRun,
    CostEstimated,
    DetachRun,
    Effect,
    EstimateCost,
    ExportLogs,
    HistoryRead,
    InterruptStages,
    JobLogRead,
    KeepTheme,
    Leave,
    LogsExported,
    MetricsRead,
    OpenRepository,
    Outcome,
    PlanRefused,
    PlanTraining,
    ReadHistory,
    ReadJobLog,
    ReadMetrics,
    ReadRunFiles,
    ReadRuns,
    ReloadSettings,
    RunFilesRead,
    RunsRead,
    RunStages,
    RunTaskEnded,
    SettingsRead,
    StageReported,
    StagesEnded,
    StartTraining,
    StopRun,
    ThemeKept,
    TrainingPlanned,
    WatchSettings,
)
from overbrainer_tui.facts import cost_facts, plan_facts, project_facts
from overbrainer_tui.task_reports import RunReport, StageReport
from overbrainer_tui.user_settings import save_theme
from overbrainer_tui.view_models.pipeline import RUN
from overbrainer_tui.view_models.spending import EVERY_STAGE, CostFacts

_log = logging.getLogger("overbrainer.app")

Tell = Callable[[Outcome], None]
ESTIMATE_S = 10.0
"""Seconds after which the estimate of a question is given up."""

ReadFiles = ReadRuns | ReadMetrics | ReadRunFiles | ReadJobLog | ReadHistory


class Performer:
    """Carries out effects on an open session."""

    def __init__(
        self,
        session: Session,
        group: asyncio.TaskGroup,
        bridge: Bridge,
        *,
        tell: Tell,
        leave: Callable[[int], None],
        is_leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._group = group
        self._bridge = bridge
        self._tell = tell
        self._leave = leave
        self._is_leaving = is_leaving
        self._interrupts: dict[int, Interrupt] = {}
        self._runs = reads.RunsReader(session.paths)
        self._reads: set[asyncio.Task[None]] = set()
        self._estimating = asyncio.Lock()
        self._last_config_error: str | None = None
        self._settings = session.settings
        self._is_dropped = False

    def perform(self, effect: Effect) -> None:
        """Carry out an effect; returns at once."""
        match effect:
            case RunStages():
                interrupt = self._interrupts[effect.task] = Interrupt()
                self._work(self._run_stages(effect, interrupt), f"stages {effect.command}")
            case PlanTraining():
                self._work(self._plan(effect), "plan a run")
            case StartTraining() | AttachRun() | StopRun() | CancelRun():
                interrupt = self._interrupts[effect.task] = Interrupt()
                self._work(self._run_task(effect, interrupt), f"run task {effect.task}")
            case InterruptStages() | DetachRun():
                if effect.task in self._interrupts:
                    self._interrupts[effect.task].trigger("detach")
            case ExportLogs():
                self._work(self._export(effect), "export logs")
            case KeepTheme():
                self._work(self._keep_theme(effect.theme), "keep the theme")
            case ReloadSettings():
                self._work(self._reload(), "reload settings")
            case WatchSettings():
                self._background(self._watch_settings(), "watch the settings")
            case EstimateCost():
                self._background(self._estimate(effect), "estimate the cost")
            case ReadRuns() | ReadMetrics() | ReadRunFiles() | ReadJobLog() | ReadHistory():
                self._read(effect)
            case OpenRepository():
                self._background(self._open(effect.url), "open a browser")
            case Leave():
                self._leave(effect.exit_code)
            case _:
                assert_never(effect)

    def _work(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._group.create_task(work, name=name)

    def _background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """A task that nobody waits for at the end: it is cancelled then."""
        task = self._group.create_task(work, name=name)
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)

    def drop_reads(self) -> None:
        """The app is left: what reads still bring interests nobody."""
        self._is_dropped = True
        for task in self._reads:
            task.cancel()

    # Stages

    async def _run_stages(self, effect: RunStages, interrupt: Interrupt) -> None:
        error: str | None = None
        try:
            await self._reload()
            await self._bridge.run(effect.task, lambda bus: self._stages(effect, bus, interrupt))
        except InterruptedByUser as stop:
            error = describe(stop)
        except OverbrainerError as failure:
            error = describe(failure)
        except Exception as failure:  # noqa: BLE001  # the task's root: a fault of ours must not end the app's work
            error = _fault(failure)
        finally:
            del self._interrupts[effect.task]
        self._tell_settings()
        self._tell(StagesEnded(task=effect.task, error=error))

    async def _stages(self, effect: RunStages, bus: EventBus, interrupt: Interrupt) -> None:
        # HTTP clients and templates are slow to import, and the first paint must not wait for them
        from overbrainer_core.flows import stages

        report = StageReport(effect.task, self._tell)
        if effect.command == RUN:
            outcomes = await stages.run_all(self._session, bus=bus, report=report, interrupt=interrupt)
        else:
            async with stages.StageCommand(self._session, bus=bus, report=report, interrupt=interrupt) as command:
                outcomes = await command.run_chain(Stage(effect.command))
        for outcome in outcomes:
            self._tell(
                StageReported(task=effect.task, stage=outcome.stage, summary=outcome.summary, split=outcome.split)
            )

    # Runs

    async def _plan(self, effect: PlanTraining) -> None:
        from overbrainer_core.flows.train import plan_start  # trainers are slow to import

        try:
            await self._reload()
            plan = await plan_start(self._session, resume_from=effect.resume_from)
        except OverbrainerError as error:
            self._tell(PlanRefused(ticket=effect.ticket, purpose=effect.purpose, reason=describe(error)))
            return
        except Exception as error:  # noqa: BLE001  # the task's root
            self._tell(PlanRefused(ticket=effect.ticket, purpose=effect.purpose, reason=_fault(error)))
            return
        self._tell(TrainingPlanned(ticket=effect.ticket, purpose=effect.purpose, plan=plan, facts=plan_facts(plan)))

    async def _run_task(self, effect: StartTraining | AttachRun | StopRun | CancelRun, interrupt: Interrupt) -> None:
        ended = RunTaskEnded(task=effect.task)
        try:
            record = await self._bridge.run(effect.task, lambda bus: self._flow(effect, bus, interrupt))
            ended = RunTaskEnded(task=effect.task, record=record)
        except InterruptedByUser as stop:
            ended = RunTaskEnded(task=effect.task, error=describe(stop), is_detached=True)
        except OverbrainerError as failure:
            ended = RunTaskEnded(task=effect.task, record=getattr(failure, "record", None), error=describe(failure))
        except Exception as failure:  # noqa: BLE001  # the task's root: a fault of ours must not end the app's work
            ended = RunTaskEnded(task=effect.task, error=_fault(failure))
        finally:
            del self._interrupts[effect.task]
        self._tell(ended)

    async def _flow(
        self, effect: StartTraining | AttachRun | StopRun | CancelRun, bus: EventBus, interrupt: Interrupt
    ) -> RunRecord:
        from overbrainer_core.flows import follow, train  # trainers are slow to import

        report = RunReport(effect.task, self._tell)
        session = self._session
        match effect:
            case StartTraining():
                return await train.start_run(session, effect.plan, bus=bus, report=report, interrupt=interrupt)
            case AttachRun():
                return await follow.attach_run(session, effect.run_id, bus=bus, report=report, interrupt=interrupt)
            case StopRun():
                return await follow.stop_run(session, effect.run_id, bus=bus, report=report, interrupt=interrupt)
            case CancelRun():
                return await follow.cancel_run(session, effect.run_id, bus=bus, report=report)

    # Files

    async def _export(self, effect: ExportLogs) -> None:
        try:
            outcome = await asyncio.to_thread(reads.write_export, self._session.paths, effect)
        except Exception as error:  # noqa: BLE001  # the task's root: a quit waits for this outcome
            outcome = LogsExported(name=effect.name, count=0, error=_fault(error))
        self._tell(outcome)

    async def _keep_theme(self, theme: str) -> None:
        error = None
        try:
            await asyncio.to_thread(save_theme, self._session.process_env, theme)
        except OverbrainerError as failure:
            error = describe(failure)
        except Exception as failure:  # noqa: BLE001  # the task's root
            error = _fault(failure)
        self._tell(ThemeKept(theme=theme, error=error))

    async def _reload(self) -> None:
        """Read the settings again when they changed; unusable ones are told once and the old ones stay."""
        try:
            self._session.reload_if_changed()
        except ConfigError as error:
            self._tell_problem(error)
            return
        except SecretError as error:
            self._tell_problem(ConfigError(describe(error)))
            return
        self._last_config_error = None
        self._tell_settings()

    async def _watch_settings(self) -> None:
        from overbrainer_core.flows.reload import watch_config  # only a screen needs it

        try:
            await watch_config(
                self._session,
                on_reload=self._reloaded,
                on_problem=self._tell_problem,
                is_paused=self._is_leaving,
            )
        except Exception as error:  # noqa: BLE001  # the task's root: the app works without the watch
            _fault(error)

    def _reloaded(self) -> None:
        """The files can be used, and are in force: told even where they give what was in force before a problem."""
        self._last_config_error = None
        self._settings = self._session.settings
        self._tell(SettingsRead(facts=project_facts(self._session)))

    def _tell_problem(self, error: ConfigError) -> None:
        """Tell why the files cannot be used, once for each reason, whoever found it."""
        from overbrainer_core.flows.reload import problem_line  # only a screen needs it

        text = problem_line(error)
        if text != self._last_config_error:
            self._last_config_error = text
            self._tell(SettingsRead(error=text))

    def _tell_settings(self) -> None:
        """Tell the settings in force when they are others than those told last: `run` reads them again too."""
        if self._session.settings is not self._settings:
            self._settings = self._session.settings
            self._tell(SettingsRead(facts=project_facts(self._session)))

    async def _estimate(self, effect: EstimateCost) -> None:
        try:
            async with self._estimating, asyncio.timeout(ESTIMATE_S):
                facts = await self._estimated(effect.name)
        except TimeoutError:
            facts = CostFacts(error=f"no estimate within {ESTIMATE_S:.0f} s")
        except OverbrainerError as error:
            facts = CostFacts(error=describe(error))
        except Exception as error:  # noqa: BLE001  # the task's root
            facts = CostFacts(error=_fault(error))
        self._tell(CostEstimated(ticket=effect.ticket, name=effect.name, facts=facts))

    async def _estimated(self, name: str) -> CostFacts:
        # the pipeline is slow to import
        from overbrainer_core.flows.estimate import estimate_stages
        from overbrainer_core.flows.report import CollectedReport

        stage = None if name == EVERY_STAGE else Stage(name)
        estimates = await estimate_stages(self._session, stage=stage, report=CollectedReport())
        return cost_facts(estimates, cap_usd=self._session.settings.pipeline.max_cost_usd)

    def _read(self, effect: ReadFiles) -> None:
        self._background(self._read_in_thread(effect), type(effect).__name__)

    async def _read_in_thread(self, effect: ReadFiles) -> None:
        try:
            self._tell(await asyncio.to_thread(self._outcome_of, effect))
        except Exception as error:  # noqa: BLE001  # the task's root: a read that fails must not end the app's work
            self._tell(_failed_read(effect, _fault(error)))

    def _outcome_of(self, effect: ReadFiles) -> Outcome:
        paths = self._session.paths
        match effect:
            case ReadRuns():
                return self._runs.read(effect.ticket)
            case ReadMetrics():
                data = reads.read_track(paths, effect.run_id, is_dropped=lambda: self._is_dropped)
                return MetricsRead(run_id=effect.run_id, generation=effect.generation, data=data)
            case ReadRunFiles():
                trained_with = reads.read_trained_with(paths, effect.run_id)
                return RunFilesRead(run_id=effect.run_id, trained_with=trained_with)
            case ReadJobLog():
                return reads.read_job_log(paths, effect.run_id, effect.offset)
            case ReadHistory():
                return HistoryRead(after_task=effect.after_task, total=reads.read_cost(paths))

    # The browser

    async def _open(self, url: str) -> None:
        program = "open" if sys.platform == "darwin" else "xdg-open"
        null = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                program, url, stdin=null, stdout=null, stderr=null, start_new_session=True
            )
            status = await process.wait()
        except OSError:
            status = 1
        except Exception as error:  # noqa: BLE001  # the task's root
            _fault(error)
            status = 1
        if status != 0:
            self._tell(BrowserFailed(url=url))


def _fault(error: BaseException) -> str:
    """A fault of ours in words; where it happened is in the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno})" if trace else ""
    text = f"internal error: {type(error).__name__}: {describe(error)}{where}"
    _log.error("%s", text)
    return text


def _failed_read(effect: ReadFiles, reason: str) -> Outcome:
    match effect:
        case ReadRuns():
            return RunsRead(ticket=effect.ticket, error=reason)
        case ReadMetrics():
            return MetricsRead(run_id=effect.run_id, generation=effect.generation, data=None)
        case ReadRunFiles():
            return RunFilesRead(run_id=effect.run_id, trained_with=None)
        case ReadJobLog():
            return JobLogRead(run_id=effect.run_id, start=0, offset=0, note=reason)
        case ReadHistory():
            return HistoryRead(after_task=effect.after_task, total=None)
