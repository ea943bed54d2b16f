"""A provider in the test's hands, and a project whose stages ask it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.config.env import Environment
from overbrainer_core.config.reload import take_stamp
from overbrainer_core.config.settings import Pipeline, Provider, Role, Roles, SecretText, Settings, Topic
from overbrainer_core.events.bus import EventBus
from overbrainer_core.events.types import Event
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session
from overbrainer_core.flows.stages import StageCommand, StageOutcome
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Stage

KEY = "sk-test-0123456789"


class FakeProvider(httpx.AsyncBaseTransport):
    """Answers each request with what `reply` gives for its body; keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.bodies: list[dict[str, Any]] = []
        self.listing: Callable[[], Any] = lambda: httpx.Response(200, json={"data": []})
        self.reply: Callable[[dict[str, Any]], Any] = lambda _body: self.chat("An answer.")
        self.is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request."""
        self.requests.append(request)
        if request.method == "GET":
            found = self.listing()
        else:
            body = json.loads(request.content)
            self.bodies.append(body)
            found = self.reply(body)
        response = await found if inspect.isawaitable(found) else found
        assert isinstance(response, httpx.Response)
        return response

    async def aclose(self) -> None:
        """Remember that the connections were closed."""
        self.is_closed = True

    @staticmethod
    def chat(
        content: Any, *, finish: Any = "stop", tokens: tuple[int, int] | None = (10, 5), **message: Any
    ) -> httpx.Response:
        """A reply of the `openai` protocol."""
        document: dict[str, Any] = {
            "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}]
        }
        if tokens is not None:
            document["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        return httpx.Response(200, json=document)

    def items(self, items: list[str], **more: Any) -> httpx.Response:
        """A reply that holds a list."""
        return self.chat(json.dumps(items), **more)

    @staticmethod
    def error(status: int, message: str = "no", **headers: str) -> httpx.Response:
        """An error answer."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.Response(status, json={"error": {"message": message}}, headers=names)

    @staticmethod
    def user_text(body: dict[str, Any]) -> str:
        """The user message of a request."""
        text = body["messages"][-1]["content"]
        assert isinstance(text, str)
        return text


class StageProject:
    """A project in a directory, its stages asking a `FakeProvider`."""

    def __init__(self, root: Path, clock: Any) -> None:
        self.paths = ProjectPaths(root)
        self.provider = FakeProvider()
        self.report = CollectedReport()
        self.interrupt = Interrupt()
        self.events: list[Event] = []
        role = Role(provider="main", model="maker/model-1")
        self.settings = Settings(
            project_name="test",
            topics=(Topic(name="tea", subtopics=2, questions_per_subtopic=2),),
            providers={
                "main": Provider(
                    name="main", protocol="openai", base_url="http://provider.test/v1/", api_key=SecretText(KEY)
                )
            },
            roles=Roles(generator=role, parent=role),
            pipeline=Pipeline(concurrency=4, max_retries=2),
        )
        self.clock = clock

    def change(self, **pipeline: Any) -> None:
        """Change keys of `[pipeline]`."""
        self.settings = replace(self.settings, pipeline=replace(self.settings.pipeline, **pipeline))

    def topics(self, *topics: Topic) -> None:
        """Set the topics."""
        self.settings = replace(self.settings, topics=topics)

    def role(self, name: str, **changes: Any) -> None:
        """Change the role of that name."""
        roles = self.settings.roles
        changed = replace(getattr(roles, name) or roles.generator, **changes)
        self.settings = replace(self.settings, roles=replace(roles, **{name: changed}))

    @property
    def session(self) -> Session:
        """A session on the settings of the moment."""
        return Session(
            paths=self.paths,
            environment=Environment(values={}),
            settings=self.settings,
            stamp=take_stamp(self.paths),
            process_env={},
            clock=self.clock,
        )

    def bus(self) -> EventBus:
        """A bus whose events are kept."""
        return EventBus((self,))

    def on_event(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    def on_close(self) -> None:
        """Nothing follows."""

    async def run(self, stage: Stage, **options: Any) -> StageOutcome:
        """Run a stage as a command does."""
        async with StageCommand(
            self.session,
            bus=self.bus(),
            report=self.report,
            interrupt=self.interrupt,
            connect=lambda _provider: self.provider,
        ) as command:
            return await command.run(stage, **options)

    def history(self) -> list[dict[str, Any]]:
        """The lines of the history."""
        if not self.paths.history.exists():
            return []
        return [json.loads(line) for line in self.paths.history.read_text(encoding="utf-8").splitlines()]

    def write(self, path: Path, *records: dict[str, Any]) -> None:
        """Write the lines of a data file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")

    @staticmethod
    def lines(path: Path) -> list[dict[str, Any]]:
        """The lines of a data file."""
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def stage_project(tmp_path: Path, fake_clock: Any) -> StageProject:
    """A project with one topic, and a provider in the test's hands."""
    return StageProject(tmp_path / "project", fake_clock)


@pytest.fixture
def provider() -> FakeProvider:
    """A provider in the test's hands."""
    return FakeProvider()
