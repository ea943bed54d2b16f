"""The checks of export, hub, compare and addresses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overbrainer_core.config.validate_places import is_loopback, is_ollama_name, is_repo_id, is_safe_url

Lines = Callable[..., list[str]]
URL = "must be an https URL (http only on a loopback host)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[export]\nquantize = 'q8_0'",
         "export.quantize: unknown type `q8_0`; one of "
         "Q4_K_M, Q4_K_S, Q5_K_M, Q5_K_S, Q6_K, Q8_0, Q3_K_M, Q2_K, F16, BF16"),
        ("[export]\nollama_name = 'hidden//x'",
         "export.ollama_name: must be an Ollama name such as [host/][namespace/]model[:tag]"),
        ("[hub]\nrepo = 'no-slash'", 'hub.repo must be NAMESPACE/NAME, got "no-slash"'),
        ("[compare]\nparent_price_in = -1", "compare.parent_price_in: must be a number of dollars, 0 or more"),
        ("[compare]\nparent_price_out = nan", "compare.parent_price_out: must be a number of dollars, 0 or more"),
        ("[compare]\nchild_price_per_hour = inf",
         "compare.child_price_per_hour: must be a number of dollars, 0 or more"),
        ("[compare]\nmax_tokens = 0", "compare.max_tokens: must be at least 1"),
        ("[compare]\ntemperature = 2.5", "compare.temperature: must be in [0, 2]"),
        ("[compare]\nserver_start_secs = 3601", "compare.server_start_secs: must be between 1 and 3600"),
        ("[compare]\nserver_start_secs = 0", "compare.server_start_secs: must be between 1 and 3600"),
        ("[compare]\nimage = 'a b'", "compare.image: may hold only letters, digits and . _ / : @ -"),
        ("[compare]\njudge_orders = 'two'", "compare.judge_orders: invalid value, expected one of `one`, `both`"),
        ("[compare]\nserver = 'x'", "compare.server: invalid value, expected one of `release`, `builtin`"),
    ],
)  # fmt: skip
def test_a_rule_of_these_tables(problems: Lines, text: str, line: str) -> None:
    assert problems(text) == [line]


def test_addresses_of_services_are_never_echoed(problems: Lines) -> None:
    assert problems(OVERBRAINER_RUNPOD__BASE_URL="http://hidden") == [f"runpod.base_url: {URL}"]
    assert problems(OVERBRAINER_HUB__BASE_URL="") == [f"hub.base_url: {URL}"]
    assert problems(OVERBRAINER_PROVIDERS__OPEN__BASE_URL="anything at all") == []


@pytest.mark.parametrize(
    "url",
    [
        "https://api.runpod.io/v2", "http://localhost:8000", "http://127.0.0.1:1/x", "http://127.9.9.9", "http://[::1]:1",
        "HTTPS://HUGGINGFACE.CO",
    ],
)  # fmt: skip
def test_an_address_is_safe(url: str) -> None:
    assert is_safe_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://api.runpod.io/v2", "ftp://127.0.0.1/", "plain text", "", "https://", "https:///x", "http://[::1",
        "https://a b", "https://a\nb", "https://a:99999", "http://localhost.evil.example", "http://2130706433",
    ],
)  # fmt: skip
def test_an_address_is_not_safe(url: str) -> None:
    assert not is_safe_url(url)


def test_loopback_hosts() -> None:
    assert is_loopback("::1")
    assert not is_loopback("10.0.0.1")
    assert not is_loopback("")


@pytest.mark.parametrize("repo", ["me/model.v1", "a/b", "A_1/x-y"])
def test_a_repo(repo: str) -> None:
    assert is_repo_id(repo)


@pytest.mark.parametrize("repo", ["no-slash", "a/b/c", "a/", "/b", "a b/c", ".a/b", "a/.b", "a/b\n", "\u00e9/b"])
def test_no_repo(repo: str) -> None:
    assert not is_repo_id(repo)


@pytest.mark.parametrize(
    "name",
    [
        "a", "model:tag", "ns/model", "host.example:5000/ns/model:q4", "https://host/ns/model", "_a.b-c", "a" * 80,
        "h" * 350 + "/n/m",
    ],
)  # fmt: skip
def test_an_ollama_name(name: str) -> None:
    assert is_ollama_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "a//b", "a/", "a:", ":a", "/a", "a b", "-a", ".a", "a" * 81, "n.s/model", "h" * 351 + "/n/m", "a/b/c/d",
        "model:t/a:g:", "://h/n/m", "\u00e9",
    ],
)  # fmt: skip
def test_no_ollama_name(name: str) -> None:
    assert not is_ollama_name(name)
