"""What enters a script is quoted, what a command complains is cut."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.shell import MAX_ERROR_BYTES, cut_error_output, quote, quote_path

texts = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@given(texts)
def test_a_quoted_value_is_the_value_for_sh(value: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf %s {quote(value)}"], capture_output=True, check=True)
    assert done.stdout == value.encode()


def test_an_empty_value_is_two_quotes() -> None:
    assert quote("") == "''"


def test_a_home_path_keeps_its_home() -> None:
    assert quote_path("~") == '"$HOME"'
    assert quote_path("~/a b") == "\"$HOME\"/'a b'"
    assert quote_path("/x/~/y") == "'/x/~/y'"


def test_empty_output_tells_the_exit_status() -> None:
    assert cut_error_output(b" \n", fallback="exit status 3") == "exit status 3"


def test_only_the_first_lines_are_kept_and_the_rest_counted() -> None:
    text = cut_error_output("\n".join(f"line {n}" for n in range(23)).encode(), fallback="")
    assert text.splitlines()[19] == "line 19"
    assert text.endswith("\n(3 more lines)")
    assert cut_error_output(b"x\n" * 21, fallback="").endswith("\n(1 more line)")


def test_long_output_is_cut_between_characters() -> None:
    text = cut_error_output(("é" * 5000).encode(), fallback="")
    assert text.endswith("...")
    assert len(text.encode()) <= MAX_ERROR_BYTES + 3
    assert "\ufffd" not in text
