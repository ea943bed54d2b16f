from __future__ import annotations

import json
import time

import pytest

from overbrainer_core.pipeline.replies import parse_list

FENCE = "`" * 3


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        (f'{FENCE}json\n["a", "b"]\n{FENCE}', ["a", "b"]),
        ('Sure! Here they are:\n["a", "b"]\nEnjoy.', ["a", "b"]),
        ('Here are [3] questions: ["a"]', ["a"]),
        ('["a", "b"] see reference [1]', ["a", "b"]),
        ('{"items": ["a", "b"]}', ["a", "b"]),
        ('{"topic": "tea", "subtopics": ["a", "b"]}', ["a", "b"]),
        ('["a", "b", "cut off', ["a", "b"]),
        ('["a" "b",, "c"]', ["a", "b", "c"]),
        ('["  a\u00a0", "", " ", "b"]', ["a", "b"]),
        ('\ufeff["a"]', ["a"]),
        ('\u00a0["a"]', ["a"]),
        ('["caf\\u00e9", "a\\"b", "x\\ny"]', ["café", 'a"b', "x\ny"]),
        ('["\\ud83c\\udf35", "x \\ud83d y"]', ["\U0001f335", "x \ufffd y"]),
        ("1. one\n2. two", ["one", "two"]),
        ("1) one\n2)two", ["one", "two"]),
        ("- one\n* two\n• three", ["one", "two", "three"]),
        ("1. one\n2) two\n- three\n", ["one", "two", "three"]),
        ("Intro:\n\n  - one\r\n  - two\r\n-\n", ["one", "two"]),
        ("\ufeff1. one\n2. two", ["one", "two"]),
    ],
)
def test_a_list_is_found_wherever_it_stands(reply: str, items: list[str]) -> None:
    assert parse_list(reply) == items


@pytest.mark.parametrize(
    "reply",
    [
        '["unterminated',
        "[1, 2]",
        "[]",
        "] backwards [",
        "Just prose.",
        "",
        "[",
        '["", " "]',
        "-5 degrees",
        "**bold** words",
        "3. three\n4. four",
        "1. one\n3. three",
        "0. zero\n1. one",
        '{"a": {"b": 1}}',
    ],
)
def test_what_is_no_list_is_none(reply: str) -> None:
    assert parse_list(reply) is None


# C031
def test_fences_inside_an_item_do_not_end_it() -> None:
    reply = f'{FENCE}json\n["What does {FENCE}py{FENCE} mark?","Second?"]\n{FENCE}'
    assert parse_list(reply) == [f"What does {FENCE}py{FENCE} mark?", "Second?"]


# C032
@pytest.mark.parametrize(
    "reply",
    ['["First?","Second?"]\n\nReferences: [1], see [docs].', 'Here are [2] items: ["First?","Second?"]'],
)
def test_brackets_around_the_array_do_not_defeat_it(reply: str) -> None:
    assert parse_list(reply) == ["First?", "Second?"]


# C034
def test_a_stray_brace_before_the_bracket_does_no_harm() -> None:
    assert parse_list(f'{FENCE}\n["First?","Second?"}}\n]\n{FENCE}') == ["First?", "Second?"]
    assert parse_list('{"items": ["First?","Second?"}') == ["First?", "Second?"]


# C036
@pytest.mark.parametrize(
    "reply",
    [
        '["Why did he say "go" first?","Second?"]',
        '["מה סה"כ?","Second?"]',
        '["Is an 8"x10" print standard?"]',
        'if [ "$x" = "y" ]; then',
        '["a"}, "b"]',
    ],
)
def test_an_item_cut_by_its_own_quotes_is_refused(reply: str) -> None:
    assert parse_list(reply) is None


def test_items_before_one_that_is_refused_are_kept() -> None:
    assert parse_list('["Fine?", "Why "so"?", "Lost?"]') == ["Fine?"]


def test_the_array_after_a_false_start_is_found() -> None:
    assert parse_list('Use `if [ "$x" = "y" ]` first. ["a", "b"]') == ["a", "b"]


# C038
@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('[{"question":"First?"},{"question":"Second?"}]', ["First?", "Second?"]),
        ('[{"question":"First?","tags":["x","y"]}]', ["First?"]),
        ('[{"id":1,"name":"a"},{"id":2,"name":"b"}]', ["a", "b"]),
        ('{"items":[{"text":"a"},{"text":"b"}]}', ["a", "b"]),
        ('[{"question":"First?"},{"question":"Sec', ["First?"]),
        ('[{"items":["a","b"]}]', ["a", "b"]),
        ('[{"question":"A?"},{"q":"B?","tags":["x"]}] and ["c"]', ["c"]),
    ],
)
def test_objects_that_hold_one_string_each_are_a_list(reply: str, items: list[str]) -> None:
    assert parse_list(reply) == items


@pytest.mark.parametrize(
    "reply",
    [
        "['First?', 'Second?']",
        '"First?"\n"Second?"',
        '[{"question":"A?"},{"q":"B?","tags":["x"]}]',
        '[{"question":"A?","tags":["x","y"',
        '[{"a":1},{"b":2}]',
    ],
)
def test_other_shapes_are_no_list(reply: str) -> None:
    assert parse_list(reply) is None


# C039
@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('["First line\nsecond line?","Second?"]', None),
        ('["a","b",]', ["a", "b"]),
        ('["a","b",...]', ["a", "b"]),
        ('["a", // easy\n "b"]', ["a"]),
    ],
)
def test_json_that_is_nearly_right(reply: str, items: list[str] | None) -> None:
    assert parse_list(reply) == items


def test_an_item_with_a_damaged_escape_is_left_out_and_the_others_are_kept() -> None:
    assert parse_list('["a", "\\frac{1}{2}?", "\\q?", "\\u12", "\\rho", "b"]') == ["a", "b"]
    assert parse_list('[{"text":"\\frac"},{"text":"b"}]') == ["b"]


# C043
@pytest.mark.parametrize(
    "reply",
    [
        "１．第一問\n２．第二問",
        "1、第一問\n2、第二問",
        "**1.** First?\n**2.** Second?",
        "Since\n2024. was a leap year",
    ],
)
def test_other_ways_to_number_are_no_list(reply: str) -> None:
    assert parse_list(reply) is None


# C043
def test_bold_items_keep_their_asterisks() -> None:
    assert parse_list("1. **First?**\n2. **Second?**") == ["**First?**", "**Second?**"]


# C040
@pytest.mark.parametrize(
    "reply",
    [
        '{"items":[' + " \n" * 30_000,
        "[" * 100_000,
        '["' * 50_000,
        '["\\"' * 40_000,
        "\\" * 200_000,
        '[{"a":' * 30_000,
        '[{"a":[1],' * 20_000,
        '["\\q[", ' * 20_000,
        "[," * 50_000,
        "[ " * 50_000 + '"',
        "-" * 200_000,
        "1." * 100_000,
        '["a "b' * 30_000,
    ],
    ids=range(13),
)
def test_reading_takes_time_in_proportion_to_the_length(reply: str) -> None:
    started = time.process_time()
    parse_list(reply)
    assert time.process_time() - started < 1


def test_a_long_list_is_read_whole() -> None:
    items = [f"Question number {number}?" for number in range(20_000)]
    assert parse_list(json.dumps(items)) == items
