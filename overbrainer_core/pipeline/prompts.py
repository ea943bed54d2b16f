"""Which words are sent to a model? Templates of the project's `prompts/`, else the built-in ones.

All are parsed when they are loaded, so that a broken one stops a stage before it costs anything. They run in a sandbox,
see their own variables only, and may include each other by name; an unknown variable is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from overbrainer_core import assets
from overbrainer_core.config.settings import Topic
from overbrainer_core.errors import ProjectFileError
from overbrainer_core.files import read_regular
from overbrainer_core.project.paths import ProjectPaths

SUBTOPICS = "subtopics.txt"
QUESTIONS = "questions.txt"
ANSWER_SYSTEM = "answer_system.txt"
JUDGE = "judge.txt"
TEMPLATES = (SUBTOPICS, QUESTIONS, ANSWER_SYSTEM, JUDGE)

_RENDER_FAILURES = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What an expression of a template can raise."""


class PromptError(ProjectFileError):
    """A prompt template cannot be read, parsed or rendered."""


class Prompts:
    """The parsed templates of a project."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._environment = SandboxedEnvironment(
            loader=jinja2.DictLoader(texts), undefined=jinja2.StrictUndefined, autoescape=False
        )
        self._templates = {name: self._parse(name) for name in texts}

    def _parse(self, name: str) -> jinja2.Template:
        try:
            return self._environment.get_template(name)
        except jinja2.TemplateSyntaxError as error:
            raise PromptError(f"invalid template {name}: {error.message} (line {error.lineno})") from None
        except (jinja2.TemplateError, RecursionError, ValueError) as error:
            raise PromptError(f"invalid template {name}") from error

    def _render(self, name: str, **variables: Any) -> str:
        try:
            return self._templates[name].render(variables)
        except _RENDER_FAILURES as error:
            raise PromptError(f"cannot render template {name}") from error

    def subtopics(self, topic: Topic, *, count: int, existing: Sequence[str]) -> str:
        """The request for `count` subtopics beside those that exist."""
        return self._render(
            SUBTOPICS, topic=topic.name, description=topic.description, count=count, existing=list(existing)
        )

    def questions(self, topic: Topic, *, subtopic: str, count: int, accepted: Sequence[str]) -> str:
        """The request for `count` questions beside those accepted."""
        return self._render(
            QUESTIONS,
            topic=topic.name,
            description=topic.description,
            subtopic=subtopic,
            count=count,
            accepted=list(accepted),
        )

    def answer_system(self, topic: Topic) -> str:
        """The system prompt of the answers of a topic."""
        return self._render(ANSWER_SYSTEM, topic=topic.name, description=topic.description)

    def judge(self, *, question: str, answer_a: str, answer_b: str) -> str:
        """The request to compare two answers."""
        return self._render(JUDGE, question=question, answer_a=answer_a, answer_b=answer_b)


def load_prompts(paths: ProjectPaths) -> Prompts:
    """Every template of the project, parsed.

    Raises:
        PromptError: one cannot be read or parsed.
    """
    return Prompts({name: _text(paths, name) for name in TEMPLATES})


def _text(paths: ProjectPaths, name: str) -> str:
    path = paths.prompts / name
    try:
        return read_regular(path).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return assets.template(f"prompts/{name}")
    except UnicodeDecodeError:
        raise PromptError(f"cannot read {path}: it is not UTF-8") from None
    except OSError as error:
        raise PromptError(f"cannot read {path}") from error
