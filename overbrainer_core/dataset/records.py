"""What does the dataset hold? Values of the lines of `data/*.jsonl`, in the order their keys are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion


class MessageRole(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopic:
    """A generated subtopic; `name` as generated, trimmed."""

    id: str
    topic: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A generated question; `subtopic` is the name, `subtopic_id` the ID of its subtopic."""

    id: str
    topic: str
    subtopic_id: str
    subtopic: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of an example; only an assistant's may hold reasoning."""

    role: MessageRole
    content: str
    reasoning_content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMeta:
    """How an answer came about; `excluded` is None when it is usable."""

    model: str
    input_tokens: int
    output_tokens: int
    finish_reason: FinishReason
    reasoning_kind: ReasoningKind
    excluded: Exclusion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An answered question: the line of `answers.jsonl`, `train.jsonl` and `eval.jsonl`."""

    id: str
    topic: str
    subtopic: str
    messages: tuple[Message, ...]
    meta: AnswerMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedSubtopic:
    """A subtopic that a person deleted: its ID never comes back."""

    id: str
    topic: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedQuestion:
    """A question that a person deleted: neither it nor its like comes back."""

    id: str
    topic: str
    subtopic_id: str
    text: str


Rejected = RejectedSubtopic | RejectedQuestion
Record = Subtopic | Question | Example | RejectedSubtopic | RejectedQuestion
