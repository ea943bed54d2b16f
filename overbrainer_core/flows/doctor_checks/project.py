"""Can this machine and this project's own files be worked with: Python, settings, prompts, disk?"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from overbrainer_core import __version__
from overbrainer_core.config.dotenv import DotenvSyntaxError
from overbrainer_core.config.env import Environment, read_environment
from overbrainer_core.config.load import load_settings
from overbrainer_core.config.report import deprecations
from overbrainer_core.config.settings import Settings, Topic
from overbrainer_core.errors import ConfigError, OverbrainerError, Problem, describe
from overbrainer_core.flows.doctor_checks.base import Check, failure, gigabytes, ok, warning
from overbrainer_core.pipeline.prompts import PromptError, Prompts, load_prompts
from overbrainer_core.project.format import check_writable
from overbrainer_core.project.paths import ProjectPaths

FULL_BYTES = 200 * 10**6
"""Less than this is no room to work in: a dataset of a few thousand answers with its rewrite takes as much."""
TIGHT_BYTES = 2 * 10**9
"""Less than this is told: runs bring back models."""
_SHOWN = 20
"""Most problems of the configuration that are told one by one."""
PROMPTS_NEXT = "correct the file in prompts/, or delete it to use the built-in one"


def check_python() -> Check:
    """The interpreter that runs this program."""
    return ok("python", f"Python {platform.python_version()}, overbrainer {__version__}")


def load_project(
    paths: ProjectPaths, process_env: Mapping[str, str]
) -> tuple[list[Check], tuple[Environment, Settings] | None]:
    """The findings of the configuration, each problem its own, and what was loaded unless it cannot be used."""
    name = "configuration"
    try:
        environment = read_environment(paths, process_env)
        settings = load_settings(paths, environment)
        check_writable(paths)
    except ConfigError as error:
        if error.problems:
            return _problem_checks(name, error.problems), None
        detail, _, next_step = describe(error).partition("; ")
        if isinstance(error, DotenvSyntaxError):
            next_step = "correct that line: values with blanks need quotes"
        return [failure(name, detail, next_step or None)], None
    except OverbrainerError as error:
        return [failure(name, describe(error))], None
    files = "overbrainer.toml and .env" if paths.env.exists() else "overbrainer.toml"
    checks = [ok(name, f"{files} can be used")]
    checks += [warning(name, line) for line in (*deprecations(settings), *environment.warnings)]
    return checks, (environment, settings)


def _problem_checks(name: str, problems: Sequence[Problem]) -> list[Check]:
    shown = [failure(name, str(problem), "correct overbrainer.toml or the variable") for problem in problems[:_SHOWN]]
    return shown if len(problems) <= _SHOWN else [*shown, failure(name, f"and {len(problems) - _SHOWN} more problems")]


async def check_prompts(paths: ProjectPaths, settings: Settings) -> Check:
    """Whether every template renders for a topic with a description and for one without."""
    try:
        prompts = await asyncio.to_thread(load_prompts, paths)
        for topic in _sample_topics(settings):
            _render_all(prompts, topic)
    except PromptError as error:
        return failure("prompts", describe(error), PROMPTS_NEXT)
    return ok("prompts", "every template renders")


def _sample_topics(settings: Settings) -> Iterator[Topic]:
    topic = settings.topics[0] if settings.topics else Topic(name="topic", subtopics=1, questions_per_subtopic=1)
    yield replace(topic, description=None)
    yield replace(topic, description=topic.description or "its description")


def _render_all(prompts: Prompts, topic: Topic) -> None:
    for texts in ((), ("one",)):
        prompts.subtopics(topic, count=1, existing=texts)
        prompts.questions(topic, subtopic="subtopic", count=1, accepted=texts)
    prompts.answer_system(topic)
    prompts.judge(question="question", answer_a="one", answer_b="two")


async def check_disk(paths: ProjectPaths) -> Check:
    """Whether the project's directory can be written to and has room."""
    name = "disk"
    try:
        free = (await asyncio.to_thread(shutil.disk_usage, paths.root)).free
    except OSError as error:
        return failure(name, f"the project's directory cannot be looked at: {describe(error)}")
    if not os.access(paths.root, os.W_OK | os.X_OK):
        return failure(name, "the project's directory cannot be written to", "change its permissions or its owner")
    return room_check(name, free, tight_bytes=TIGHT_BYTES, where="for the project")


def room_check(name: str, free_bytes: int, *, tight_bytes: int, where: str) -> Check:
    """How much room there is, and whether that is enough."""
    text = f"{gigabytes(free_bytes)} free {where}"
    if free_bytes < FULL_BYTES:
        return failure(name, text, "make room before anything is started")
    if free_bytes < tight_bytes:
        return warning(name, text, f"less than {gigabytes(tight_bytes)} may not do")
    return ok(name, text)
