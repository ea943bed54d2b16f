"""What do the stages still have to ask, and how many tokens did the answers so far take?

Files are read line by line, of each record only what is counted is kept. A line that cannot be read is left out: the
stage itself will tell it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from overbrainer_core.dataset import wire
from overbrainer_core.dataset.store import LineProblem, scan_each
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.values.usage import Usage

S = TypeVar("S", bound=msgspec.Struct)


class _Subtopic(msgspec.Struct, gc=False):
    id: str
    topic: str
    name: str


class _Question(msgspec.Struct, gc=False):
    id: str
    topic: str
    subtopic_id: str
    text: str


class _Meta(msgspec.Struct, gc=False):
    model: str
    input_tokens: int = 0
    output_tokens: int = 0


class _Answer(msgspec.Struct, gc=False):
    id: str
    topic: str
    meta: _Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSubtopic:
    """A subtopic, how many questions it has, and the bytes of their texts."""

    id: str
    name: str
    questions: int = 0
    question_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What is on disk, by topic; `open_bytes` holds the length of each question that has no answer."""

    subtopics: dict[str, list[StoredSubtopic]] = field(default_factory=dict)
    open_bytes: dict[str, list[int]] = field(default_factory=dict)
    usages: dict[str, list[Usage]] = field(default_factory=dict)


def read_stored(paths: ProjectPaths, model: str | None, *, unanswered: frozenset[str] = frozenset()) -> Stored:
    """What is on disk; `usages` are those of the answers of this model.

    Args:
        model: None leaves the answers unread: no usages, and every question is open.
        unanswered: topics whose answers count as not there, though what they took still does.

    Raises:
        FileAccessError: a file cannot be read.
    """
    usages: dict[str, list[Usage]] = {}
    answered: set[str] = set()
    for answer in _each(paths.answers, _Answer) if model is not None else ():
        if answer.topic not in unanswered:
            answered.add(answer.id)
        meta = answer.meta
        if meta.model == model and meta.output_tokens > 0:
            usage = Usage(input_tokens=meta.input_tokens, output_tokens=meta.output_tokens)
            usages.setdefault(answer.topic, []).append(usage)
    open_bytes: dict[str, list[int]] = {}
    counts: dict[str, tuple[int, int]] = {}
    for question in _each(paths.questions, _Question):
        size = len(question.text.encode("utf-8", "replace"))
        if question.id not in answered:
            open_bytes.setdefault(question.topic, []).append(size)
        count, total = counts.get(question.subtopic_id, (0, 0))
        counts[question.subtopic_id] = (count + 1, total + size)
    subtopics: dict[str, list[StoredSubtopic]] = {}
    for subtopic in _each(paths.subtopics, _Subtopic):
        count, total = counts.get(subtopic.id, (0, 0))
        found = StoredSubtopic(id=subtopic.id, name=subtopic.name, questions=count, question_bytes=total)
        subtopics.setdefault(subtopic.topic, []).append(found)
    return Stored(subtopics=subtopics, open_bytes=open_bytes, usages=usages)


def _each(path: Path, kind: type[S]) -> Iterator[S]:
    decoder = msgspec.json.Decoder(kind)

    def decode(line: bytes) -> S:
        try:
            return decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise wire.InvalidLineError("invalid record") from error

    for entry in scan_each(path, decode):
        if not isinstance(entry, LineProblem):
            yield entry
