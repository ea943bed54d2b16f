"""How is a record one line of JSON, and which line is none?

Lines are compact, keys in a fixed order, text unescaped. Unknown, missing and repeated keys, unknown words and
numbers of the wrong kind make a line invalid; the reason names positions and keys, never content. A line that
equals the one we would write holds no repeated key, so that only odd lines pay for the search for one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from overbrainer_core.dataset import records
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion

T = TypeVar("T")

_Count = Annotated[int, msgspec.Meta(ge=0)]
_encode_json = msgspec.json.Encoder().encode


class InvalidLineError(Exception):
    """A line is no record of its file; the text tells why without its content."""


class _Subtopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    id: str
    topic: str
    name: str


class _Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    id: str
    topic: str
    subtopic_id: str
    subtopic: str
    text: str


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    role: records.MessageRole
    content: str
    reasoning_content: str | msgspec.UnsetType | None = msgspec.UNSET


class _Meta(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    model: str
    input_tokens: _Count
    output_tokens: _Count
    finish_reason: FinishReason
    reasoning_kind: ReasoningKind
    excluded: Exclusion | None = None


class _Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    id: str
    topic: str
    subtopic: str
    messages: tuple[_Message, ...]
    meta: _Meta


class _RejectedSubtopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="subtopic"):
    id: str
    topic: str
    name: str


class _RejectedQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="question"):
    id: str
    topic: str
    subtopic_id: str
    text: str


def _message_in(wire: _Message) -> records.Message:
    reasoning = wire.reasoning_content
    return records.Message(
        role=wire.role,
        content=wire.content,
        reasoning_content=None if reasoning is msgspec.UNSET else reasoning,
    )


def _message_out(message: records.Message) -> _Message:
    if message.reasoning_content is None:
        return _Message(message.role, message.content)
    return _Message(message.role, message.content, message.reasoning_content)


def _example_in(wire: _Example) -> records.Example:
    meta = wire.meta
    return records.Example(
        id=wire.id,
        topic=wire.topic,
        subtopic=wire.subtopic,
        messages=tuple([_message_in(message) for message in wire.messages]),
        meta=records.AnswerMeta(
            model=meta.model,
            input_tokens=meta.input_tokens,
            output_tokens=meta.output_tokens,
            finish_reason=meta.finish_reason,
            reasoning_kind=meta.reasoning_kind,
            excluded=meta.excluded,
        ),
    )


def _example_out(example: records.Example) -> _Example:
    meta = example.meta
    return _Example(
        example.id,
        example.topic,
        example.subtopic,
        tuple([_message_out(message) for message in example.messages]),
        _Meta(
            meta.model,
            meta.input_tokens,
            meta.output_tokens,
            meta.finish_reason,
            meta.reasoning_kind,
            meta.excluded,
        ),
    )


def _rejected_in(wire: _RejectedSubtopic | _RejectedQuestion) -> records.Rejected:
    if isinstance(wire, _RejectedSubtopic):
        return records.RejectedSubtopic(id=wire.id, topic=wire.topic, name=wire.name)
    return records.RejectedQuestion(id=wire.id, topic=wire.topic, subtopic_id=wire.subtopic_id, text=wire.text)


def _rejected_out(record: records.Rejected) -> _RejectedSubtopic | _RejectedQuestion:
    if isinstance(record, records.RejectedSubtopic):
        return _RejectedSubtopic(record.id, record.topic, record.name)
    return _RejectedQuestion(record.id, record.topic, record.subtopic_id, record.text)


class LineCodec(Generic[T]):
    """Reads and writes the lines of one kind of file."""

    def __init__(self, wire: Any, to_record: Callable[[Any], T], to_wire: Callable[[T], Any]) -> None:
        self._decode = msgspec.json.Decoder(wire).decode
        self._to_record = to_record
        self._to_wire = to_wire

    def encode(self, record: T) -> bytes:
        """The record's line, its line feed included."""
        return bytes(_encode_json(self._to_wire(record))) + b"\n"

    def decode(self, line: bytes) -> T:
        """The record of a line.

        Raises:
            InvalidLineError: it is none.
        """
        try:
            wire = self._decode(line)
        except RecursionError as error:
            raise InvalidLineError("nested too deeply") from error
        except msgspec.MsgspecError as error:
            raise InvalidLineError(_words(error)) from None
        if _encode_json(wire) != line:
            _refuse_repeated_keys(line)
        return self._to_record(wire)


_UNSET_PATH = re.compile(r" - at `\$?\.?(.*)`$")


def _words(error: msgspec.MsgspecError) -> str:
    """Why msgspec refused a line, in our words: no value of the line is in them."""
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        where = re.search(r"\(byte (\d+)\)", text)
        return f"not valid JSON at column {int(where.group(1)) + 1}" if where else "not valid JSON"
    found = _UNSET_PATH.search(text)
    at = f"{found.group(1)}: " if found and found.group(1) else ""
    if key := re.match(r"Object missing required field `(\w+)`", text):
        return f"{at}missing key `{key.group(1)}`"
    if re.match(r"Object contains unknown field", text):
        return f"{at}unknown key"
    if text.startswith("Invalid"):
        return f"{at}unknown word"
    if expected := re.match(r"Expected `([a-z| ]+)`( >= 0)?", text):
        kind = {"int": "a count", "str": "a text", "object": "an object", "array": "a list"}
        return f"{at}not {kind.get(expected.group(1), 'of the right kind')}"
    return f"{at}not of the right kind"


def _refuse_repeated_keys(line: bytes) -> None:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(found)
        if len(values) != len(found):
            raise InvalidLineError("a key stands twice")
        return values

    json.loads(line, object_pairs_hook=pairs)


def is_complete_json(line: bytes) -> bool:
    """Whether the bytes are one whole JSON value, of whatever shape."""
    try:
        json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(_name: str) -> None:
    raise ValueError("not JSON")


SUBTOPICS: LineCodec[records.Subtopic] = LineCodec(
    _Subtopic,
    lambda wire: records.Subtopic(id=wire.id, topic=wire.topic, name=wire.name),
    lambda record: _Subtopic(record.id, record.topic, record.name),
)
QUESTIONS: LineCodec[records.Question] = LineCodec(
    _Question,
    lambda wire: records.Question(
        id=wire.id, topic=wire.topic, subtopic_id=wire.subtopic_id, subtopic=wire.subtopic, text=wire.text
    ),
    lambda record: _Question(record.id, record.topic, record.subtopic_id, record.subtopic, record.text),
)
EXAMPLES: LineCodec[records.Example] = LineCodec(_Example, _example_in, _example_out)
REJECTED: LineCodec[records.Rejected] = LineCodec(_RejectedSubtopic | _RejectedQuestion, _rejected_in, _rejected_out)
