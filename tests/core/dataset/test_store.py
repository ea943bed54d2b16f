from __future__ import annotations

import logging
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from overbrainer_core.dataset.records import (
    AnswerMeta,
    Example,
    Message,
    MessageRole,
    Question,
    Rejected,
    RejectedQuestion,
    RejectedSubtopic,
    Subtopic,
)
from overbrainer_core.dataset.store import (
    Appender,
    InvalidRecordError,
    encode_line,
    read_answers,
    read_questions,
    read_rejected,
    read_subtopics,
    rewrite,
    scan,
)
from overbrainer_core.dataset.wire import SUBTOPICS
from overbrainer_core.errors import describe
from overbrainer_core.files import FileAccessError, UnsafePathError
from overbrainer_core.values.completion import FinishReason, ReasoningKind
from overbrainer_core.values.stage import Exclusion

SUBTOPIC = Subtopic(id="58bdc0d8c84e2956d1ae19aba990a1af", topic="tea", name="Brewing temperature")
SUBTOPIC_LINE = b'{"id":"58bdc0d8c84e2956d1ae19aba990a1af","topic":"tea","name":"Brewing temperature"}\n'
EXAMPLE = Example(
    id="0877f175ccf39b8df7a73b6470e9c152",
    topic="tea",
    subtopic="Brewing temperature",
    messages=(
        Message(role=MessageRole.USER, content="Why does green tea turn bitter above 80 C?"),
        Message(
            role=MessageRole.ASSISTANT,
            content="Hotter water pulls out more catechins.",
            reasoning_content="Catechin solubility rises with heat.",
        ),
    ),
    meta=AnswerMeta(
        model="deepseek/deepseek-r1",
        input_tokens=58,
        output_tokens=412,
        finish_reason=FinishReason.STOP,
        reasoning_kind=ReasoningKind.RAW,
    ),
)
EXAMPLE_LINE = (
    b'{"id":"0877f175ccf39b8df7a73b6470e9c152","topic":"tea","subtopic":"Brewing temperature","messages":'
    b'[{"role":"user","content":"Why does green tea turn bitter above 80 C?"},{"role":"assistant","content":'
    b'"Hotter water pulls out more catechins.","reasoning_content":"Catechin solubility rises with heat."}],'
    b'"meta":{"model":"deepseek/deepseek-r1","input_tokens":58,"output_tokens":412,"finish_reason":"stop",'
    b'"reasoning_kind":"raw","excluded":null}}\n'
)


def test_lines_have_the_bytes_of_the_format() -> None:
    assert encode_line(SUBTOPIC) == SUBTOPIC_LINE
    assert encode_line(EXAMPLE) == EXAMPLE_LINE
    question = Question(id="q", topic="tea", subtopic_id="s", subtopic="S", text="Why?")
    assert encode_line(question) == b'{"id":"q","topic":"tea","subtopic_id":"s","subtopic":"S","text":"Why?"}\n'
    rejected = RejectedSubtopic(id="b23a", topic="tea", name="Steeping time")
    assert encode_line(rejected) == b'{"kind":"subtopic","id":"b23a","topic":"tea","name":"Steeping time"}\n'
    asked = RejectedQuestion(id="88", topic="tea", subtopic_id="58", text="How hot?")
    assert encode_line(asked) == b'{"kind":"question","id":"88","topic":"tea","subtopic_id":"58","text":"How hot?"}\n'


def test_text_is_written_raw_but_for_quotes_backslashes_and_controls() -> None:
    name = 'é "q" \\ / \x7f \x00\x1f\b\t\n\f\r \u2028 \U0001f335'
    line = encode_line(replace(SUBTOPIC, name=name))
    expected = 'é \\"q\\" \\\\ / \x7f \\u0000\\u001f\\b\\t\\n\\f\\r \u2028 \U0001f335'
    assert f'"name":"{expected}"'.encode() in line


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "data" / "answers.jsonl"
    excluded = replace(EXAMPLE, meta=replace(EXAMPLE.meta, excluded=Exclusion.NO_RAW_REASONING))
    rewrite(path, [EXAMPLE, excluded])
    assert read_answers(path) == [EXAMPLE, excluded]
    rejected: list[Rejected] = [
        RejectedSubtopic(id="a", topic="t", name="n"),
        RejectedQuestion(id="b", topic="t", subtopic_id="s", text="q"),
    ]
    rewrite(tmp_path / "rejected.jsonl", rejected)
    assert read_rejected(tmp_path / "rejected.jsonl") == rejected


def test_a_missing_file_reads_as_empty(tmp_path: Path) -> None:
    assert read_subtopics(tmp_path / "none.jsonl") == []


def test_keys_may_come_in_any_order_and_a_missing_exclusion_is_none(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(
        b'{"topic":"t","id":"i","meta":{"model":"m","output_tokens":2,"input_tokens":1,"finish_reason":"other",'
        b'"reasoning_kind":"none"},"subtopic":"s","messages":[]}\n'
    )
    (found,) = read_answers(path)
    assert found.meta.excluded is None
    assert encode_line(found).startswith(b'{"id":"i","topic":"t"')


# C054
def test_files_saved_on_windows_read_whole_and_the_next_append_ends_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    lines = [b'{"id":"%d","topic":"t","subtopic_id":"s","subtopic":"S","text":"x"}' % number for number in range(3)]
    path.write_bytes(lines[0] + b"\r\n\r\n" + lines[1] + b"\r\n" + lines[2])
    assert [question.id for question in read_questions(path)] == ["0", "1", "2"]
    with Appender[Question](path) as appender:
        appender.append(Question(id="3", topic="t", subtopic_id="s", subtopic="S", text="y"))
    assert [question.id for question in read_questions(path)] == ["0", "1", "2", "3"]


def test_line_numbers_count_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(b"\n \t\r\n" + SUBTOPIC_LINE + b'{"id":"x"}\n')
    with pytest.raises(InvalidRecordError) as caught:
        read_subtopics(path)
    assert describe(caught.value) == f"{path}:4: invalid record: missing key `topic`"


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"i","topic":"t","name":"n","more":1}',
        b'{"id":"i","topic":"t"}',
        b'{"id":"i","topic":"t","name":"n","name":"secret"}',
        b'{"id":"i","topic":"t","name":3}',
        b'{"id":"i","topic":"t","name":"\\ud83d"}',
        b"[]",
        b"nonsense",
        b"\xef\xbb\xbf" + SUBTOPIC_LINE.strip(),
        b'{"id":"i","topic":"t","name":"\xff"}',
        b"[" * 4000,
    ],
)
def test_a_bad_line_stops_the_reading_without_showing_its_content(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(line + b"\n")
    with pytest.raises(InvalidRecordError) as caught:
        read_subtopics(path)
    text = describe(caught.value)
    assert text.startswith(f"{path}:1: invalid record: ")
    assert "secret" not in text
    assert "nonsense" not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"input_tokens":58', b'"input_tokens":3.0'),
        (b'"input_tokens":58', b'"input_tokens":-1'),
        (b'"finish_reason":"stop"', b'"finish_reason":"eos"'),
        (b'"role":"user"', b'"role":"tool"'),
        (b'"role":"user"', b'"role":"user","name":"x"'),
        (b'"role":"user"', b'"role":"user","role":"user"'),
        (b'"excluded":null', b'"excluded":"other"'),
    ],
)
def test_an_answer_with_an_odd_value_is_an_invalid_record(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(EXAMPLE_LINE.replace(old, new))
    with pytest.raises(InvalidRecordError):
        read_answers(path)


# C053
def test_a_lone_surrogate_escape_in_a_stored_line_is_an_invalid_record(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(EXAMPLE_LINE.replace(b"Hotter", b"\\udc9f"))
    with pytest.raises(InvalidRecordError):
        read_answers(path)


@pytest.mark.parametrize("tail", [b'{"id":"i","top', b'{"id":"i","topic":"\xc3', b"{"])
def test_a_torn_last_line_is_skipped_with_a_warning_and_cut_by_the_next_append(
    tmp_path: Path, tail: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(SUBTOPIC_LINE + tail)
    with caplog.at_level(logging.WARNING):
        assert read_subtopics(path) == [SUBTOPIC]
    assert str(path) in caplog.text
    with Appender[Subtopic](path) as appender:
        appender.append(SUBTOPIC)
    assert path.read_bytes() == SUBTOPIC_LINE * 2


def test_a_torn_only_line_is_cut_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(b'{"id":')
    Appender[Subtopic](path).close()
    assert path.read_bytes() == b""


def test_a_last_line_that_lost_only_its_line_feed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(SUBTOPIC_LINE.strip())
    assert read_subtopics(path) == [SUBTOPIC]
    Appender[Subtopic](path).close()
    assert path.read_bytes() == SUBTOPIC_LINE


@pytest.mark.parametrize("tail", [b'{"id":"x"}', b"\xef\xbb\xbf" + SUBTOPIC_LINE.strip()])
def test_a_whole_value_of_the_wrong_shape_on_the_last_line_is_an_error(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(tail)
    with pytest.raises(InvalidRecordError):
        read_subtopics(path)


def test_a_long_torn_line_is_cut_at_the_last_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(SUBTOPIC_LINE + b'{"id":"' + b"x" * 200_000)
    Appender[Subtopic](path).close()
    assert path.read_bytes() == SUBTOPIC_LINE


def test_appending_creates_the_directory_and_writes_one_line_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "data" / "subtopics.jsonl"
    with Appender[Subtopic](path) as appender:
        assert path.read_bytes() == b""
        appender.append(SUBTOPIC)
        assert path.read_bytes() == SUBTOPIC_LINE


def test_a_rewrite_that_fails_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.mkdir()
    with pytest.raises(FileAccessError) as caught:
        rewrite(path, [EXAMPLE])
    assert describe(caught.value) == f"cannot access {path}: Is a directory"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["train.jsonl"]


def test_a_rewrite_without_records_gives_an_empty_file(tmp_path: Path) -> None:
    rewrite(tmp_path / "eval.jsonl", [])
    assert (tmp_path / "eval.jsonl").read_bytes() == b""


def test_directories_and_pipes_are_refused_not_read_for_ever(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError):
        read_subtopics(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsafePathError):
        read_subtopics(tmp_path / "pipe")


def test_a_tolerant_reading_hides_the_bad_line_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "subtopics.jsonl"
    path.write_bytes(SUBTOPIC_LINE + b"bad\n" + SUBTOPIC_LINE + b'{"torn')
    found, problems = scan(path, SUBTOPICS.decode)
    assert found == [SUBTOPIC, SUBTOPIC]
    assert [(problem.line, problem.reason) for problem in problems] == [
        (2, "not valid JSON at column 1"),
        (4, "torn by a crash"),
    ]


def test_an_append_that_a_full_disk_cuts_leaves_no_part_of_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "subtopics.jsonl"
    real, room = os.write, iter((20, None))

    def full(descriptor: int, content: bytes) -> int:
        taken = next(room)
        if taken is None:
            raise OSError(28, "No space left on device")
        return real(descriptor, content[:taken])

    with Appender[Subtopic](path) as appender:
        appender.append(SUBTOPIC)
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(FileAccessError) as caught:
            appender.append(SUBTOPIC)
        monkeypatch.undo()
        assert describe(caught.value) == f"cannot access {path}: No space left on device"
        assert path.read_bytes() == SUBTOPIC_LINE
        appender.append(SUBTOPIC)
    assert path.read_bytes() == SUBTOPIC_LINE * 2


@pytest.mark.parametrize("is_replaced", [True, False])
def test_what_is_appended_after_the_file_was_deleted_or_replaced_is_in_the_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_replaced: bool
) -> None:
    path = tmp_path / "data" / "subtopics.jsonl"
    with Appender[Subtopic](path) as appender:
        appender.append(SUBTOPIC)
        shutil.rmtree(path.parent)
        if is_replaced:
            path.parent.mkdir()
            path.write_bytes(SUBTOPIC_LINE + b'{"torn')
        appender.append(SUBTOPIC)
        appender.append(SUBTOPIC)
    assert path.read_bytes() == SUBTOPIC_LINE * (3 if is_replaced else 2)
    assert caplog.messages == [f"{path} was deleted or replaced while it was written; going on in the new file"]


def test_an_append_to_a_project_that_is_gone_creates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "project" / "data" / "subtopics.jsonl"
    with Appender[Subtopic](path) as appender:
        shutil.rmtree(tmp_path / "project")
        with pytest.raises(FileAccessError):
            appender.append(SUBTOPIC)
    assert not (tmp_path / "project").exists()
