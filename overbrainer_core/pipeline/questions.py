"""Stage 2: which questions does each subtopic get?

Short subtopics are filled beside each other, each in batches one after the other. A batch is deduplicated against all
questions of the topic, stored and rejected ones included, under a lock of the topic, and saved question by question.
Known questions that a batch repeated are shown to the model with the subtopic's own in the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import question_id
from overbrainer_core.dataset.records import Question, RejectedQuestion, Subtopic
from overbrainer_core.dataset.store import Appender, read_questions, read_rejected, read_subtopics, rewrite
from overbrainer_core.dedup.base import Deduplicator
from overbrainer_core.dedup.embedding import LayeredDeduplicator
from overbrainer_core.dedup.lexical import LexicalDeduplicator
from overbrainer_core.llm.errors import LlmError
from overbrainer_core.pipeline.context import StageContext
from overbrainer_core.pipeline.lists import ask_for_list
from overbrainer_core.pipeline.workers import run_workers
from overbrainer_core.values.stage import StageStats
from overbrainer_core.values.usage import Usage

MAX_SHOWN_REPEATS = 30
"""Repeated questions of other subtopics shown to the model at most, the newest."""


@dataclass(slots=True, kw_only=True)
class _TopicState:
    topic: Topic
    deduplicator: Deduplicator
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True, kw_only=True)
class _Job:
    """A subtopic that is short, and the texts it has."""

    state: _TopicState
    subtopic: Subtopic
    accepted: list[str]
    repeated: dict[str, None] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return self.state.topic.questions_per_subtopic - len(self.accepted)

    def shown(self) -> list[str]:
        """What the model must not repeat: the subtopic's own questions, and those it repeated from others."""
        own = set(self.accepted)
        others = [text for text in self.repeated if text not in own]
        return [*self.accepted, *others[-MAX_SHOWN_REPEATS:]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    subtopics: list[Subtopic]
    questions: list[Question]
    rejected: list[RejectedQuestion]


async def run_questions(context: StageContext) -> StageStats:
    """Generate the missing questions of the selected topics' subtopics.

    Raises:
        LlmError: a fatal one; every admitted question is on disk.
        CostCapError: the next request could pass the cost cap.
        ProjectFileError: a data file or a template cannot be used.
    """
    stored = await asyncio.to_thread(_load, context)
    model, _ = context.asking()
    context.progress.start(len(stored.subtopics), model.role.model)
    jobs = await _prepare(context, stored)
    with Appender[Question](context.paths.questions) as appender:
        filler = _Filler(context, appender)
        await run_workers(filler.fill, jobs, limit=context.settings.pipeline.concurrency)
    return context.progress.end()


def _load(context: StageContext) -> _Stored:
    """What is stored of the selected topics, their questions dropped first with `force`."""
    selected = {topic.name for topic in context.topics}
    subtopics = read_subtopics(context.paths.subtopics)
    questions = read_questions(context.paths.questions)
    rejected = read_rejected(context.paths.rejected)
    if context.force:
        questions = [question for question in questions if question.topic not in selected]
        rewrite(context.paths.questions, questions)
    return _Stored(
        subtopics=[subtopic for subtopic in subtopics if subtopic.topic in selected],
        questions=[question for question in questions if question.topic in selected],
        rejected=[record for record in rejected if isinstance(record, RejectedQuestion) and record.topic in selected],
    )


async def _prepare(context: StageContext, stored: _Stored) -> list[_Job]:
    """The subtopics to fill; those that are full, and topics whose known questions cannot be compared, are told."""
    accepted: dict[str, list[str]] = {}
    for question in stored.questions:
        accepted.setdefault(question.subtopic_id, []).append(question.text)
    jobs: list[_Job] = []
    full: list[str] = []
    for topic in context.topics:
        own = [subtopic for subtopic in stored.subtopics if subtopic.topic == topic.name]
        short = [entry for entry in own if len(accepted.get(entry.id, ())) < topic.questions_per_subtopic]
        deduplicator = await _seeded(context, topic, stored) if short else None
        if short and deduplicator is None:
            continue
        full += [entry.id for entry in own if len(accepted.get(entry.id, ())) >= topic.questions_per_subtopic]
        if deduplicator is not None:
            state = _TopicState(topic=topic, deduplicator=deduplicator)
            jobs += [_Job(state=state, subtopic=entry, accepted=list(accepted.get(entry.id, ()))) for entry in short]
    for item in full:
        context.progress.skip(item)
    return jobs


async def _seeded(context: StageContext, topic: Topic, stored: _Stored) -> Deduplicator | None:
    """The topic's deduplicator with what is known; None when that failed, which counts one failed item."""
    pipeline = context.settings.pipeline
    deduplicator: Deduplicator = LexicalDeduplicator(pipeline.dedup_threshold)
    if context.embedder is not None and isinstance(deduplicator, LexicalDeduplicator):
        deduplicator = LayeredDeduplicator(deduplicator, context.embedder, pipeline.embedding_threshold)
    try:
        await deduplicator.record([question.text for question in stored.questions if question.topic == topic.name])
        await deduplicator.record([record.text for record in stored.rejected if record.topic == topic.name])
    except LlmError as error:
        if error.is_fatal:
            raise
        context.progress.fail(topic.name, error)
        return None
    return deduplicator


class _Filler:
    """Fills subtopics; all of them share one file."""

    def __init__(self, context: StageContext, appender: Appender[Question]) -> None:
        self._context = context
        self._appender = appender
        self._is_stopping = False

    async def fill(self, job: _Job) -> None:
        """Ask for batches until the subtopic is full or too many batches in a row gave nothing."""
        try:
            usage = await self._batches(job)
        except LlmError as error:
            if error.is_fatal:
                self._is_stopping = True
                raise
            self._context.progress.fail(job.subtopic.id, error)
            return
        if self._is_stopping:
            return
        if job.missing > 0:
            target = job.state.topic.questions_per_subtopic
            self._context.warn(
                f"questions: subtopic `{job.subtopic.name}` of topic `{job.subtopic.topic}` has {len(job.accepted)} of "
                f"{target} questions: the model brought nothing new"
            )
        self._context.progress.finish_item(job.subtopic.id, usage)

    async def _batches(self, job: _Job) -> Usage:
        pipeline = self._context.settings.pipeline
        model, prompts = self._context.asking()
        usage = Usage()
        barren = 0
        while job.missing > 0 and barren < max(1, pipeline.max_retries) and not self._is_stopping:
            count = min(pipeline.question_batch_size, job.missing)
            prompt = prompts.questions(job.state.topic, subtopic=job.subtopic.name, count=count, accepted=job.shown())
            reply = await ask_for_list(model, prompt, item=job.subtopic.id, max_retries=pipeline.max_retries)
            usage += reply.usage
            admitted = await self._admit(job, reply.items[:count])
            barren = 0 if admitted else barren + 1
        return usage

    async def _admit(self, job: _Job, candidates: list[str]) -> int:
        """Save the candidates that are new; how many."""
        async with job.state.lock:
            admission = await job.state.deduplicator.admit(candidates)
            for question in _questions(job.subtopic, admission.kept):
                self._appender.append(question)
                job.accepted.append(question.text)
        for text in admission.repeated:
            job.repeated.pop(text, None)
            job.repeated[text] = None
        return len(admission.kept)


def _questions(subtopic: Subtopic, texts: tuple[str, ...]) -> Iterator[Question]:
    for text in texts:
        yield Question(
            id=question_id(subtopic.id, text),
            topic=subtopic.topic,
            subtopic_id=subtopic.id,
            subtopic=subtopic.name,
            text=text,
        )
