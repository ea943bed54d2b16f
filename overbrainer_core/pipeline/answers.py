"""Stage 3: what does the parent answer, and which answers are fit for training?

Every pending question is asked once, many beside each other. An answer is classified, saved, then counted. After a
fatal error nothing more is asked, and what had been answered is saved: it is paid for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from overbrainer_core.config.settings import Role
from overbrainer_core.dataset.records import AnswerMeta, Example, Message, MessageRole, Question
from overbrainer_core.dataset.store import Appender, each_answer, read_questions, rewrite
from overbrainer_core.errors import ProjectFileError, describe
from overbrainer_core.llm.errors import LlmError
from overbrainer_core.llm.types import Completion, CompletionRequest
from overbrainer_core.pipeline.context import StageContext
from overbrainer_core.pipeline.workers import run_workers
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion, StageStats

_log = logging.getLogger("overbrainer.pipeline")


def gives_raw_reasoning(protocol: str, model: str) -> bool:
    """Whether reasoning that a parent calls raw may be believed, by its protocol and its model's name."""
    model = model.lower()
    name = model.rsplit("/", 1)[-1]
    if protocol == "anthropic":
        return False
    if name.startswith("gpt-oss"):
        return True
    if model.startswith(("openai/", "anthropic/")) or name.startswith(("gpt-", "claude", "gemini")):
        return False
    return not (name.startswith("o") and name[1:2] in set("0123456789"))


def exclusion_of(completion: Completion, kind: ReasoningKind, *, wants_reasoning: bool) -> Exclusion | None:
    """Why an answer is not used for training, or None when it is."""
    if completion.finish_reason is FinishReason.LENGTH:
        return Exclusion.TRUNCATED
    if completion.finish_reason in (FinishReason.REFUSAL, FinishReason.CONTENT_FILTER):
        return Exclusion.REFUSED
    if not completion.content.strip():
        return Exclusion.EMPTY
    if wants_reasoning and kind is not ReasoningKind.RAW:
        return Exclusion.NO_RAW_REASONING
    return None


def build_example(
    question: Question, completion: Completion, *, role: Role, is_trusted: bool, system: str | None
) -> Example:
    """The record of an answer; `system` is stored when given, `is_trusted` tells whether raw reasoning is believed.

    Reasoning is kept in a usable answer only when it is raw; in an excluded one whatever came, for a look at it.
    """
    kind = completion.reasoning_kind
    if kind is ReasoningKind.RAW and not is_trusted:
        kind = ReasoningKind.SUMMARY
    excluded = exclusion_of(completion, kind, wants_reasoning=role.reasoning)
    keeps = excluded is not None or kind is ReasoningKind.RAW
    messages = [
        Message(role=MessageRole.USER, content=question.text),
        Message(
            role=MessageRole.ASSISTANT,
            content=completion.content,
            reasoning_content=completion.reasoning if keeps else None,
        ),
    ]
    if system is not None:
        messages.insert(0, Message(role=MessageRole.SYSTEM, content=system))
    return Example(
        id=question.id,
        topic=question.topic,
        subtopic=question.subtopic,
        messages=tuple(messages),
        meta=AnswerMeta(
            model=role.model,
            input_tokens=completion.usage.input_tokens,
            output_tokens=completion.usage.output_tokens,
            finish_reason=completion.finish_reason,
            reasoning_kind=kind,
            excluded=excluded,
        ),
    )


async def run_answers(context: StageContext) -> StageStats:
    """Ask the parent every question of the selected topics that has no answer yet.

    Raises:
        LlmError: a fatal one; what was answered is on disk.
        CostCapError: the next request could pass the cost cap.
        ProjectFileError: a data file or a template cannot be used.
    """
    selected, answered = await asyncio.to_thread(_load, context)
    model, prompts = context.asking()
    role = model.role
    is_trusted = gives_raw_reasoning(context.settings.providers[role.provider].protocol, role.model)
    if role.reasoning and not is_trusted:
        context.warn(
            f"answers: {role.model} never returns its raw reasoning: with `reasoning = true` every answer will be "
            "excluded (no_raw_reasoning)"
        )
    systems = {topic.name: prompts.answer_system(topic) for topic in context.topics}
    context.progress.start(len(selected), role.model)
    pending: list[Question] = []
    for question in selected:
        if question.id in answered:
            context.progress.skip(question.id)
        else:
            pending.append(question)
    with Appender[Example](context.paths.answers) as appender:
        answering = _Answering(context, appender, systems=systems, is_trusted=is_trusted)
        await run_workers(answering.answer, pending, limit=context.settings.pipeline.concurrency)
    return context.progress.end()


def _load(context: StageContext) -> tuple[list[Question], set[str]]:
    """The questions of the selected topics, and the IDs that have an answer, after `force` dropped theirs."""
    selected = {topic.name for topic in context.topics}
    questions = [entry for entry in read_questions(context.paths.questions) if entry.topic in selected]
    path = context.paths.answers
    if context.force:
        rewrite(path, (example for example in each_answer(path) if example.topic not in selected))
    return questions, {example.id for example in each_answer(path)}


class _Answering:
    """Asks, saves and counts one question at a time for each worker."""

    def __init__(
        self, context: StageContext, appender: Appender[Example], *, systems: Mapping[str, str], is_trusted: bool
    ) -> None:
        self._model, _ = context.asking()
        self._progress = context.progress
        self._appender = appender
        self._systems = systems
        self._is_trusted = is_trusted
        self._stores_system = context.settings.pipeline.include_system_prompt
        self._fatal: LlmError | None = None

    async def answer(self, question: Question) -> None:
        """Ask a question and save its answer; a failure that is not fatal is told and left for the next run."""
        system = self._systems[question.topic]
        try:
            completion = await self._model.ask(CompletionRequest(user=question.text, system=system), item=question.id)
        except LlmError as error:
            if error.is_fatal:
                self._fatal = error
                raise
            self._progress.fail(question.id, error)
            return
        example = build_example(
            question,
            completion,
            role=self._model.role,
            is_trusted=self._is_trusted,
            system=system if self._stores_system else None,
        )
        try:
            self._appender.append(example)
        except ProjectFileError:
            if self._fatal is not None:
                _log.error("answers: %s", describe(self._fatal))
            raise
        self._progress.finish_item(question.id, completion.usage, excluded=example.meta.excluded is not None)
