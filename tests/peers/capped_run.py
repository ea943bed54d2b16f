"""A stage under a cost cap, against a provider whose replies are heavy-tailed; everything follows from a seed.

The provider bills what it was asked, also when nobody waits for the reply any more. Lengths follow a Pareto law, so
that most replies are short and a few reach `max_tokens`; some requests are refused or fail, and replies overtake each
other.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from overbrainer_core.aio.interrupt import Interrupt
from overbrainer_core.config.env import Environment
from overbrainer_core.config.reload import take_stamp
from overbrainer_core.config.settings import Pipeline, Provider, Role, Roles, Settings, Topic
from overbrainer_core.errors import CostCapError, ItemsFailedError
from overbrainer_core.events.bus import EventBus
from overbrainer_core.flows.report import CollectedReport
from overbrainer_core.flows.session import Session
from overbrainer_core.flows.stages import StageCommand
from overbrainer_core.history import read_history
from overbrainer_core.pipeline.cost_cap import FRAME_TOKENS
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.stage import Stage

INPUT_USD, OUTPUT_USD = 0.000002, 0.00001
"""Price of a token."""
MODEL = "maker/model-1"
RAISED = 4
"""Times its limit that a list request may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedRun:
    """What a run came to: billed by the provider, told in the history, and the most that one request may cost."""

    cap_usd: float
    billed_usd: float
    told_usd: float
    worst_usd: float
    is_stopped: bool
    answered: int
    saved: int


class _Clock:
    """Time passes at once."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 2, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


class _Provider(httpx.AsyncBaseTransport):
    def __init__(self, chance: random.Random, *, gives_lists: bool) -> None:
        self.chance = chance
        self.gives_lists = gives_lists
        self.billed_usd = 0.0
        self.answered = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            pricing = {"prompt": f"{INPUT_USD:.8f}", "completion": f"{OUTPUT_USD:.8f}"}
            return httpx.Response(200, json={"data": [{"id": MODEL, "pricing": pricing}]})
        chance = self.chance
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        if chance.random() < 0.08:
            return httpx.Response(chance.choice((429, 500, 503)), json={"error": {"message": "no"}})
        body = json.loads(request.content)
        prompt = sum(len(message["content"].encode()) for message in body["messages"])
        tokens_in = min(
            prompt + FRAME_TOKENS, round(prompt * chance.uniform(0.2, 1.0)) + chance.randrange(FRAME_TOKENS)
        )
        tokens_out = min(body["max_tokens"], round(20 * chance.paretovariate(0.8)))
        self.billed_usd += tokens_in * INPUT_USD + tokens_out * OUTPUT_USD
        finish = "length" if tokens_out == body["max_tokens"] else "stop"
        reply = self._reply(finish)
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        return httpx.Response(
            200, json={"choices": [{"message": {"content": reply}, "finish_reason": finish}], "usage": usage}
        )

    def _reply(self, finish: str) -> str:
        if not self.gives_lists:
            self.answered += 1
            return "An answer."
        if finish == "length" or self.chance.random() < 0.1:
            return "No list."
        items = [" ".join(f"w{self.chance.randrange(10**6)}" for _ in range(6)) for _ in range(2)]
        self.answered += len(items)
        return json.dumps(items)


def _project(root: Path, stage: Stage, chance: random.Random) -> tuple[ProjectPaths, int]:
    """A project with work for the stage, and the bytes of its longest prompt, roughly."""
    paths = ProjectPaths(root)
    paths.data.mkdir(parents=True)
    longest = 0
    with paths.questions.open("w") as questions, paths.subtopics.open("w") as subtopics:
        for number in range(chance.randrange(10, 40)):
            text = "why " * chance.randrange(1, 60)
            longest = max(longest, len(text))
            record = {"id": f"{number:032x}", "topic": "tea"}
            if stage is Stage.ANSWERS:
                questions.write(json.dumps({**record, "subtopic_id": "s", "subtopic": "S", "text": text}) + "\n")
            else:
                subtopics.write(json.dumps({**record, "name": f"Part {number}"}) + "\n")
    return paths, longest


async def capped_run(root: Path, stage: Stage, seed: int) -> CappedRun:
    """Run the stage once under a cap."""
    chance = random.Random(f"{stage} {seed}")
    paths, longest = _project(root, stage, chance)
    max_tokens = chance.choice((64, 256, 1024))
    cap_usd = chance.choice((0.005, 0.02, 0.1))
    role = Role(provider="main", model=MODEL, max_tokens=max_tokens)
    settings = Settings(
        project_name="capped",
        topics=(Topic(name="tea", subtopics=1, questions_per_subtopic=4),),
        providers={"main": Provider(name="main", protocol="openai", base_url="http://provider.test/v1", api_key=None)},
        roles=Roles(generator=role, parent=role),
        pipeline=Pipeline(
            concurrency=chance.choice((1, 4, 32)), max_retries=2, question_batch_size=2, max_cost_usd=cap_usd
        ),
    )
    session = Session(
        paths=paths,
        environment=Environment(values={}),
        settings=settings,
        stamp=take_stamp(paths),
        process_env={},
        clock=_Clock(),
    )
    provider = _Provider(chance, gives_lists=stage is Stage.QUESTIONS)
    is_stopped = False
    command = StageCommand(
        session, bus=EventBus(), report=CollectedReport(), interrupt=Interrupt(), connect=lambda _provider: provider
    )
    async with command:
        try:
            await command.run(stage)
        except CostCapError:
            is_stopped = True
        except ItemsFailedError:
            pass
    written = paths.answers if stage is Stage.ANSWERS else paths.questions
    prompt = longest + 4000  # the templates, and the questions shown to the model
    return CappedRun(
        cap_usd=cap_usd,
        billed_usd=provider.billed_usd,
        told_usd=read_history(paths)[-1].cost or 0.0,
        worst_usd=prompt * INPUT_USD + max_tokens * RAISED * OUTPUT_USD,
        is_stopped=is_stopped,
        answered=provider.answered,
        saved=len(written.read_text().splitlines()) if written.exists() else 0,
    )
