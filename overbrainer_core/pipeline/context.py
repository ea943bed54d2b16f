"""What is a stage given to work with?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from overbrainer_core.config.hints import known_hint, name_text
from overbrainer_core.config.settings import Settings, Topic
from overbrainer_core.errors import ConfigError
from overbrainer_core.llm.client import LlmClient
from overbrainer_core.pipeline.prompts import Prompts
from overbrainer_core.pipeline.stage import StageModelAccess, StageProgress
from overbrainer_core.project.paths import ProjectPaths


class UnknownTopicError(ConfigError):
    """No topic of that name is configured; tells the near miss and the known ones."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"unknown topic `{name_text(name)}`{known_hint(name, known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageContext:
    """One execution of a stage; `topic` limits it to that topic, `force` drops what the selected topics had.

    `model` and `prompts` are None for split, which asks nobody; `embedder` is set when questions are compared by
    meaning too; `warn` takes a line for the person.
    """

    paths: ProjectPaths
    settings: Settings
    progress: StageProgress
    warn: Callable[[str], None]
    topic: str | None = None
    force: bool = False
    model: StageModelAccess | None = None
    prompts: Prompts | None = None
    embedder: LlmClient | None = None

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The selected topics in the order of the settings."""
        return tuple(topic for topic in self.settings.topics if self.topic in (None, topic.name))

    def asking(self) -> tuple[StageModelAccess, Prompts]:
        """The model and the prompts of a stage that asks."""
        if self.model is None or self.prompts is None:
            raise AssertionError("a stage that asks a model needs one, and prompts")
        return self.model, self.prompts
