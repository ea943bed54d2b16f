"""Masking: what looks like a secret, and known values."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.secrets.redact import Masker, redact

KEY = "s3cr3tValueOfTheKey12345"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("HF_TOKEN=abc epoch=1", "HF_TOKEN=*** epoch=1"),
        ("export MY_API_KEY='a b' next", "export MY_API_KEY='***' next"),
        ('A_SECRET="a b', 'A_SECRET="***'),
        ("password=x,token=y;z", "password=***,token=***;z"),
        ("url?api_key=abc&x=1", "url?api_key=***&x=1"),
        ("--env=HF_TOKEN=abc", "--env=HF_TOKEN=***"),
        ("-e A_TOKEN=x -e B=y", "-e A_TOKEN=*** -e B=y"),
        ('{"api_key": "abc", "x": 1}', '{"api_key": "***", "x": 1}'),
        ("'token':'abc'", "'token':'***'"),
        ("Password: hunter2 ok", "Password: *** ok"),
        ("tokens: 5 loss: 0.1", "tokens: 5 loss: 0.1"),
        ("tokenizer=x", "tokenizer=***"),
        ("TOKEN=", "TOKEN="),
        ("Authorization: Bearer abc.def-1", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcg==", "authorization: Basic ***"),
        ("'Authorization': 'abc'", "'Authorization': '***'"),
        ("got bearer abcdefgh12 here", "got bearer *** here"),
        ("the bearer of news", "the bearer of news"),
        ("hf_abcdefgh1 rpa_ABCDEFGH rps_12345678", "hf_*** rpa_*** rps_***"),
        ("hf_short xhf_abcdefgh1", "hf_short xhf_abcdefgh1"),
        ("sk-abcdefgh-1 hvs.abcdefgh1", "sk-*** hvs.***"),
        ("https://me:pw@host/x", "https://me:***@host/x"),
        ("https://host:80/a@b", "https://host:80/a@b"),
        ("a" * 300, "a" * 300),
        ("=" * 300, "=" * 300),
        ("a1" * 100 + " end", "*** end"),
        ("x\n" + "aB1/" * 10 + "==\ny", "x\n***\ny"),
        ("x " + "aB1/" * 10, "x " + "aB1/" * 10),
        ("Step 5/10 loss=0.5 lr=1e-4", "Step 5/10 loss=0.5 lr=1e-4"),
    ],
)
def test_a_text_shows_as(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


def test_private_keys_are_masked_over_lines_even_when_cut() -> None:
    block = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----"
    assert redact(f"a\n{block}\nb") == "a\n***\nb"
    assert redact("a\n-----BEGIN PRIVATE KEY-----\nabc\n") == "a\n***"
    assert redact("-----BEGIN PUBLIC KEY-----") == "-----BEGIN PUBLIC KEY-----"


def test_known_values_are_masked_wherever_they_stand() -> None:
    masker = Masker([KEY, "abcd", "abc", ""])
    assert masker.mask(f"x{KEY}y abcd abc") == "x***y *** abc"
    assert "abcd" not in repr(masker)


def test_the_longer_of_two_values_goes_first() -> None:
    assert Masker(["abcd", "abcdef"]).mask_known("abcdef abcd") == "*** ***"


def test_a_part_of_a_known_value_is_masked_as_one_stretch() -> None:
    assert Masker([KEY]).mask_known(f"cut {KEY[:18]} and {KEY[3:]}!") == "cut *** and ***!"
    assert Masker([KEY]).mask_known(f"short {KEY[:15]}") == f"short {KEY[:15]}"


@given(st.text(max_size=40), st.text(min_size=4, max_size=30), st.text(max_size=40))
def test_a_known_value_never_stays(before: str, value: str, after: str) -> None:
    shown = Masker([value]).mask_known(before + value + after)
    assert value not in shown or value in "***" * 12


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "KEY",
        "a1",
        "KEY=",
        "a-",
        'key:"',
        "bearer ",
        "x://:",
        "-----BEGIN ",
        "authorization: ",
        " ",
        "http://a",
        "\n",
    ],
)
def test_a_long_line_takes_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    start = time.process_time()
    redact(text)
    Masker([KEY]).mask_known(text)
    assert time.process_time() - start < 5


def test_a_log_line_without_a_secret_costs_little() -> None:
    line = '[2026-11-02 08:15:00,361] [INFO] {"loss": 1.234, "grad_norm": 0.5, "epoch": 0.5} ' + "x" * 120
    begun = time.process_time()
    for _ in range(20_000):
        redact(line)
    assert time.process_time() - begun < 1.0
