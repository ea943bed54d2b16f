"""The `.env` reader: forms, first wins, references, and errors that tell a line number alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.config.dotenv import Dotenv, DotenvSyntaxError, parse_dotenv


def read(text: str, **known: str) -> Dotenv:
    return parse_dotenv(text, known.get)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=hf_Ab#12", "hf_Ab#12"),
        ('A="a # b"', "a # b"),
        ("A=val # note", "val"),
        ("A='p#q'", "p#q"),
        ("A=", ""),
        ("A= # note", ""),
        ("A=#5", "#5"),
        ("A = spaced ", "spaced"),
        ("  A=indented", "indented"),
        ("export A=exported", "exported"),
        ("export\tA = x", "x"),
        ("A=pa$word", "pa$word"),
        ('A="pa$word$"', "pa$word$"),
        ("A=$", "$"),
        ("A=${", "${"),
        ("A=${B:-c}", "${B:-c}"),
        ("A='${HOME}'", "${HOME}"),
        ("A=\\${HOME}", "${HOME}"),
        ("A=one\\ntwo", "one\ntwo"),
        ('A="one\\ntwo"', "one\ntwo"),
        ("A='one\\ntwo'", "one\\ntwo"),
        ('A="say \\"hi\\" \\\\ \\$ \\\' \\ "', 'say "hi" \\ $ \'  '),
        ("A=a'b c'\"d e\"f", "ab cd ef"),
        ('A="first\nsecond"', "first\nsecond"),
        ("A='first\nsecond'", "first\nsecond"),
        ('A="first\r\nsecond"\r\n', "first\nsecond"),
        ("A=x=y", "x=y"),
        ("A=vault:secret/app#key", "vault:secret/app#key"),
        ('A="" # empty', ""),
        ("A=\u00e9\u4e2d", "\u00e9\u4e2d"),
    ],
)
def test_a_value_is_read_as_it_is_meant(text: str, value: str) -> None:
    assert read(text).values == {"A": value}


def test_the_first_of_a_repeated_name_wins() -> None:
    assert read("A=first\n" + "\n" * 7 + "A=second\n").values == {"A": "first"}


def test_export_can_be_a_name() -> None:
    assert read("export=1").values == {"export": "1"}


def test_a_byte_order_mark_carriage_returns_blank_lines_and_comments_are_fine() -> None:
    assert read("\ufeffA=1\r\n\r\n  # note = 'x\r\n\tB=2").values == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A=1\nKEY\nB=2", 2),
        ("A=two words", 1),
        ("A=1\n\nB='open\nC=3\n", 3),
        ('A=1\nB="open\nC=3\n', 2),
        ("A=1\n=2", 2),
        ("A=1\n1A=2", 2),
        ("A=\\q", 1),
        ("A=end\\", 1),
        ("A=x\\\nB=2", 1),
        ("export", 1),
        ("export A B=1", 1),
        ("A-B=1", 1),
        ("A=1\nB=x\0y", 2),
        ("{'json': 1}", 1),
    ],
)
def test_a_syntax_error_tells_its_line_and_nothing_else(text: str, line: int) -> None:
    with pytest.raises(DotenvSyntaxError) as caught:
        read(text)
    assert str(caught.value) == f"cannot parse .env (syntax error at line {line})"
    assert caught.value.line == line


def test_a_reference_finds_the_process_first_then_the_names_above() -> None:
    found = read('A=file\nB=${A}-${C}\nD="${B}"\nE=${A}${A}', A="process", C="c")
    assert found.values == {"A": "file", "B": "process-c", "D": "process-c", "E": "processprocess"}
    assert read("A=1\nB=${A}").values["B"] == "1"
    assert found.unset == ()


def test_an_unset_reference_expands_to_nothing_and_is_told_with_its_line() -> None:
    found = read("A=1\nB=x${NOPE}y\nC=${LATER}\nLATER=1")
    assert found.values["B"] == "xy"
    assert found.unset == (("NOPE", 2), ("LATER", 3))


def test_the_values_never_show() -> None:
    assert "hidden" not in repr(read("A=hidden"))


@given(st.text(alphabet=st.characters(exclude_characters="'\0", exclude_categories=["Cs"])))
def test_every_text_survives_single_quotes(value: str) -> None:
    assert read(f"A='{value}'\nB=1").values == {"A": value.replace("\r\n", "\n"), "B": "1"}


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_every_text_survives_double_quotes_when_escaped(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    assert read(f'A="{escaped}"').values == {"A": value.replace("\r\n", "\n")}


@given(st.text(alphabet="AB='\"\\$#{} \n\r\texport_1\0"))
def test_any_text_gives_values_or_a_line_number(text: str) -> None:
    line = None
    try:
        assert all("\0" not in value for value in read(text).values.values())
    except DotenvSyntaxError as error:
        line = error.line
    assert line is None or 1 <= line <= text.count("\n") + 1


def test_a_long_file_is_read_in_linear_time() -> None:
    assert len(read("".join(f"K{number}=v{number}\n" for number in range(20_000))).values) == 20_000
    assert len(read("A=" + "x" * 500_000 + '\nB="' + "$" * 50_000 + '"').values) == 2


def test_names_that_double_one_another_are_refused_before_they_fill_the_memory() -> None:
    text = "A0=hunter2\n" + "".join(f"A{n}=${{A{n - 1}}}${{A{n - 1}}}\n" for n in range(1, 200))
    with pytest.raises(DotenvSyntaxError) as caught:
        parse_dotenv(text, lambda _name: None)
    assert 15 < caught.value.line < 25
