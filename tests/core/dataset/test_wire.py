from __future__ import annotations

import pytest

from overbrainer_core.dataset import wire


def line_of(**changes: str) -> bytes:
    parts = {"id": '"i"', "topic": '"t"', "name": '"n"'} | changes
    return ("{" + ",".join(f'"{key}":{value}' for key, value in parts.items()) + "}").encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (line_of(name="3"), "name: not a text"),
        (line_of(more="1"), "unknown key"),
        (b'{"id":"i","topic":"t"}', "missing key `name`"),
        (b"[]", "not an object"),
        (b'{"id" "i"}', "not valid JSON at column 7"),
        (b'{"id":"i","id":"i","topic":"t","name":"n"}', "a key stands twice"),
    ],
)
def test_the_reason_names_position_and_key_only(line: bytes, reason: str) -> None:
    with pytest.raises(wire.InvalidLineError) as caught:
        wire.SUBTOPICS.decode(line)
    assert str(caught.value) == reason


def test_an_unknown_word_is_not_shown() -> None:
    line = (
        b'{"id":"i","topic":"t","subtopic":"s","messages":[],"meta":{"model":"m","input_tokens":1,"output_tokens":1,'
        b'"finish_reason":"hidden","reasoning_kind":"none"}}'
    )
    with pytest.raises(wire.InvalidLineError) as caught:
        wire.EXAMPLES.decode(line)
    assert str(caught.value) == "meta.finish_reason: unknown word"


def test_spaces_and_escapes_in_a_line_change_nothing() -> None:
    spaced = b' { "id" : "i" , "topic":"t", "name":"\\u006e" } \r'
    assert wire.SUBTOPICS.decode(spaced) == wire.SUBTOPICS.decode(line_of())


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (b'{"a":1}', True),
        (b"12", True),
        (b'{"a":', False),
        (b'"\xc3', False),
        (b"NaN", False),
        (b"", False),
        (b"\xef\xbb\xbf{}", False),
    ],
)
def test_a_whole_value_is_told_from_a_torn_one(line: bytes, whole: bool) -> None:
    assert wire.is_complete_json(line) is whole
