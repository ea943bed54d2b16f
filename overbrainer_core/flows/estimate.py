"""What will the stages cost, before anything is sent? The only request is that for the prices.

With no stage named, the three that ask are estimated as `run` would run them, each with what the ones before it will
have made. One stage is estimated as its command would run it now: `questions` with the `subtopics` it would begin with.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import replace

from overbrainer_core.config.settings import Role, Topic
from overbrainer_core.dataset.pending import Stored, StoredSubtopic, read_stored
from overbrainer_core.errors import OverbrainerError, describe
from overbrainer_core.flows.report import Report
from overbrainer_core.flows.role_clients import RoleClients
from overbrainer_core.flows.session import Session
from overbrainer_core.history import HistoryEntry, read_history
from overbrainer_core.llm.client import Connect
from overbrainer_core.pipeline.context import UnknownTopicError
from overbrainer_core.pipeline.estimate import QUESTION_BYTES, StageEstimate, StagePlan, expect
from overbrainer_core.pipeline.prompts import Prompts, load_prompts
from overbrainer_core.values.stage import Stage
from overbrainer_core.values.usage import Price, Usage

ASKING = (Stage.SUBTOPICS, Stage.QUESTIONS, Stage.ANSWERS)
"""The stages that ask a model."""
ENOUGH_OF_A_TOPIC = 20
"""Answers of a topic from which only they are looked at, when only it is asked for."""

_log = logging.getLogger("overbrainer.pipeline")


def role_of(session: Session, stage: Stage) -> Role | None:
    """The role that a stage asks; None for split."""
    roles = session.settings.roles
    match stage:
        case Stage.SUBTOPICS | Stage.QUESTIONS:
            return roles.generator
        case Stage.ANSWERS:
            return roles.parent
        case Stage.SPLIT:
            return None


async def estimate_stages(
    session: Session,
    *,
    stage: Stage | None = None,
    topic: str | None = None,
    force: bool = False,
    report: Report,
    connect: Connect | None = None,
) -> list[StageEstimate]:
    """What the stages, or the one named, are expected to take; a price that cannot be had is a warning.

    Raises:
        UnknownTopicError: no such topic is configured.
        PromptError: a template cannot be used.
        ProjectFileError: a data file cannot be read.
    """
    if topic is not None and session.settings.topic(topic) is None:
        raise UnknownTopicError(topic, [entry.name for entry in session.settings.topics])
    clients = RoleClients(
        session.settings, environment=session.environment, waits=session.clock, report=report, connect=connect
    )
    estimator = Estimator(session, clients, load_prompts(session.paths), report=report)
    try:
        estimates = await estimator.estimate(stage=stage, topic=topic, force=force)
    finally:
        await clients.close()
    cap_usd = session.settings.pipeline.max_cost_usd
    for estimate in estimates:
        if cap_usd is not None and estimate.cost_usd is not None and estimate.cost_usd[1] > cap_usd:
            report.note(f"{estimate.stage}: may stop at pipeline.max_cost_usd, ${cap_usd:.4f}")
    return estimates


class Estimator:
    """Estimates on the settings it was made with, and with the prices that `clients` reads."""

    def __init__(
        self, session: Session, clients: RoleClients, prompts: Prompts, *, report: Report | None = None
    ) -> None:
        self._session = session
        self._settings = session.settings
        self._clients = clients
        self._prompts = prompts
        self._report = report

    async def estimate(
        self, *, stage: Stage | None = None, topic: str | None = None, force: bool = False
    ) -> list[StageEstimate]:
        """What `estimate_stages` gives; a set-up that fails leaves the cost unknown."""
        plans, stored, history = await asyncio.to_thread(self._plans, stage, topic, force)
        estimates: list[StageEstimate] = []
        for plan in plans:
            role = role_of(self._session, plan.stage)
            if role is None:
                continue
            price = await self._price(role) if plan.requests else None
            usages = _usages(stored, topic) if plan.stage is Stage.ANSWERS else ()
            estimates.append(expect(plan, role, price=price, usages=usages, entries=history))
        return estimates

    async def _price(self, role: Role) -> Price | None:
        try:
            return await self._clients.price(role)
        except OverbrainerError as error:
            if self._report is not None:
                self._report.warn(f"the price of {role.model} is unknown: {describe(error)}")
            else:
                _log.debug("the price of %s is unknown: %s", role.model, describe(error))
            return None

    def _plans(
        self, stage: Stage | None, topic: str | None, force: bool
    ) -> tuple[list[StagePlan], Stored, list[HistoryEntry]]:
        topics = [entry for entry in self._settings.topics if topic in (None, entry.name)]
        dropped = frozenset(entry.name for entry in topics) if force else frozenset()
        stored = read_stored(
            self._session.paths,
            self._settings.roles.parent.model if stage in (None, Stage.ANSWERS) else None,
            unanswered=dropped if stage is Stage.ANSWERS else frozenset(),
        )
        known = {entry.name: list(stored.subtopics.get(entry.name, ())) for entry in topics}
        history = read_history(self._session.paths)
        plans: list[StagePlan] = []
        begins = stage is None or stage is Stage.SUBTOPICS or (stage is Stage.QUESTIONS and not all(known.values()))
        if begins:
            if force and stage is Stage.SUBTOPICS:
                known = {name: [] for name in known}
            plans.append(self._plan_subtopics(topics, known))
            known = {entry.name: _completed(entry, known[entry.name]) for entry in topics}
        if stage in (None, Stage.QUESTIONS):
            if force:
                known = {name: [_emptied(subtopic) for subtopic in found] for name, found in known.items()}
            plans.append(self._plan_questions(topics, known))
        if stage in (None, Stage.ANSWERS):
            plans.append(self._plan_answers(topics, stored, known if stage is None else {}))
        return plans, stored, history

    def _plan_subtopics(self, topics: Sequence[Topic], known: dict[str, list[StoredSubtopic]]) -> StagePlan:
        requests, items, replies, size = 0, 0.0, 0, 0
        for topic in topics:
            names = [subtopic.name for subtopic in known[topic.name]]
            missing = topic.subtopics - len(names)
            if missing > 0:
                requests += 1
                items += missing / topic.subtopics
                replies += missing
                size += _size(self._prompts.subtopics(topic, count=missing, existing=names))
        return StagePlan(stage=Stage.SUBTOPICS, requests=requests, items=items, replies=replies, prompt_bytes=size)

    def _plan_questions(self, topics: Sequence[Topic], known: dict[str, list[StoredSubtopic]]) -> StagePlan:
        requests, items, replies, size = 0, 0.0, 0, 0
        batch = self._settings.pipeline.question_batch_size
        for topic in topics:
            frame = None
            for subtopic in known[topic.name]:
                missing = topic.questions_per_subtopic - subtopic.questions
                if missing <= 0:
                    continue
                if frame is None:
                    frame = _size(self._prompts.questions(topic, subtopic=subtopic.name, count=batch, accepted=[]))
                batches = math.ceil(missing / batch)
                requests += batches
                items += missing / topic.questions_per_subtopic
                replies += missing
                # each batch shows all questions that there are by then
                shown = batch * batches * (batches - 1) // 2 * QUESTION_BYTES
                size += batches * (frame + subtopic.question_bytes) + shown
        return StagePlan(stage=Stage.QUESTIONS, requests=requests, items=items, replies=replies, prompt_bytes=size)

    def _plan_answers(
        self, topics: Sequence[Topic], stored: Stored, known: dict[str, list[StoredSubtopic]]
    ) -> StagePlan:
        requests, size = 0, 0
        for topic in topics:
            sizes = stored.open_bytes.get(topic.name, [])
            coming = sum(
                max(0, topic.questions_per_subtopic - subtopic.questions) for subtopic in known.get(topic.name, ())
            )
            if sizes or coming:
                system = _size(self._prompts.answer_system(topic))
                requests += len(sizes) + coming
                size += sum(sizes) + coming * QUESTION_BYTES + (len(sizes) + coming) * system
        return StagePlan(
            stage=Stage.ANSWERS, requests=requests, items=float(requests), replies=requests, prompt_bytes=size
        )


def _completed(topic: Topic, known: list[StoredSubtopic]) -> list[StoredSubtopic]:
    """The subtopics that a topic will have, those that are missing still without a name."""
    missing = max(0, topic.subtopics - len(known))
    return [*known, *(StoredSubtopic(id="", name=topic.name) for _ in range(missing))]


def _emptied(subtopic: StoredSubtopic) -> StoredSubtopic:
    return replace(subtopic, questions=0, question_bytes=0)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _usages(stored: Stored, topic: str | None) -> list[Usage]:
    """The answers to learn from: those of the topic when there are enough, else all."""
    own = stored.usages.get(topic, []) if topic is not None else []
    return own if len(own) >= ENOUGH_OF_A_TOPIC else [usage for found in stored.usages.values() for usage in found]
