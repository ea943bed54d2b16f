from __future__ import annotations

from typing import Any

import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.events.bus import EventBus
from overbrainer_core.pipeline.context import StageContext
from overbrainer_core.pipeline.stage import StageProgress
from overbrainer_core.values.stage import Stage


def test_a_topic_selects_itself_and_none_selects_all(stage_project: Any) -> None:
    stage_project.topics(*[Topic(name=name, subtopics=1, questions_per_subtopic=1) for name in ("b", "a")])

    def context(topic: str | None) -> StageContext:
        return StageContext(
            paths=stage_project.paths,
            settings=stage_project.settings,
            progress=StageProgress(Stage.SPLIT, EventBus()),
            warn=stage_project.report.warn,
            topic=topic,
        )

    assert [topic.name for topic in context(None).topics] == ["b", "a"]
    assert [topic.name for topic in context("a").topics] == ["a"]
    with pytest.raises(AssertionError):
        context(None).asking()
