"""Stage 1: which subtopics does each topic get?

Topics are asked one after the other. What is stored stays; only what is missing is asked for, with the stored names
shown to the model. A name that is stored, rejected or repeated is dropped by its ID.
"""

from __future__ import annotations

import asyncio

from overbrainer_core.config.settings import Topic
from overbrainer_core.dataset.ids import subtopic_id
from overbrainer_core.dataset.records import RejectedSubtopic, Subtopic
from overbrainer_core.dataset.store import Appender, read_rejected, read_subtopics, rewrite
from overbrainer_core.llm.errors import LlmError
from overbrainer_core.pipeline.context import StageContext
from overbrainer_core.pipeline.lists import ask_for_list
from overbrainer_core.values.stage import StageStats


async def run_subtopics(context: StageContext) -> StageStats:
    """Generate the missing subtopics of the selected topics.

    Raises:
        LlmError: a fatal one; the subtopics of earlier topics are on disk.
        CostCapError: the next request could pass the cost cap.
        ProjectFileError: a data file or a template cannot be used.
    """
    stored, rejected = await asyncio.to_thread(_load, context)
    model, _ = context.asking()
    context.progress.start(len(context.topics), model.role.model)
    with Appender[Subtopic](context.paths.subtopics) as appender:
        for topic in context.topics:
            known = [subtopic for subtopic in stored if subtopic.topic == topic.name]
            if len(known) >= topic.subtopics:
                context.progress.skip(topic.name)
                continue
            try:
                await _fill(context, topic, known=known, rejected=rejected, appender=appender)
            except LlmError as error:
                if error.is_fatal:
                    raise
                context.progress.fail(topic.name, error)
    return context.progress.end()


def _load(context: StageContext) -> tuple[list[Subtopic], set[str]]:
    """The stored subtopics, those of the selected topics dropped first with `force`, and the IDs of the rejected."""
    stored = read_subtopics(context.paths.subtopics)
    rejected = read_rejected(context.paths.rejected)
    if context.force:
        selected = {topic.name for topic in context.topics}
        stored = [subtopic for subtopic in stored if subtopic.topic not in selected]
        rewrite(context.paths.subtopics, stored)
    return stored, {record.id for record in rejected if isinstance(record, RejectedSubtopic)}


async def _fill(
    context: StageContext,
    topic: Topic,
    *,
    known: list[Subtopic],
    rejected: set[str],
    appender: Appender[Subtopic],
) -> None:
    """Ask for what a topic lacks and save it."""
    model, prompts = context.asking()
    missing = topic.subtopics - len(known)
    prompt = prompts.subtopics(topic, count=missing, existing=[subtopic.name for subtopic in known])
    reply = await ask_for_list(model, prompt, item=topic.name, max_retries=context.settings.pipeline.max_retries)
    seen = {subtopic.id for subtopic in known} | rejected
    kept = 0
    for name in reply.items:
        found = subtopic_id(topic.name, name)
        if found in seen or kept >= missing:
            continue
        seen.add(found)
        appender.append(Subtopic(id=found, topic=topic.name, name=name))
        kept += 1
    context.progress.finish_item(topic.name, reply.usage)
