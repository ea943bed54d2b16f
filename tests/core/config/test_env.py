"""Variables: the shell over `.env`, names without regard to case, files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from overbrainer_core.config import env
from overbrainer_core.config.env import (
    Environment,
    overridden_keys,
    read_environment,
    setting_variables,
    ssh_client_choice,
    variable_name,
)
from overbrainer_core.errors import ConfigError, describe
from overbrainer_core.project.paths import ProjectPaths


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    return ProjectPaths(tmp_path)


def failure(paths: ProjectPaths) -> str:
    with pytest.raises(ConfigError) as caught:
        read_environment(paths, {})
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, OSError)
    return describe(caught.value)


def test_without_a_file_the_process_is_all_there_is(paths: ProjectPaths) -> None:
    environment = read_environment(paths, {"A": "1"})
    assert (dict(environment.values), environment.dotenv_keys) == ({"A": "1"}, frozenset())
    assert environment.get("A") == "1"
    assert environment.get("B") is None


def test_the_shell_wins_and_each_variable_knows_its_origin(paths: ProjectPaths) -> None:
    paths.env.write_text("A=file\nB=file\n")
    environment = read_environment(paths, {"A": "shell"})
    assert dict(environment.values) == {"A": "shell", "B": "file"}
    assert environment.dotenv_keys == {"B"}
    assert (environment.origin("A"), environment.origin("B")) == ("shell", ".env")


def test_only_the_project_directory_is_looked_at(paths: ProjectPaths, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    child = tmp_path / "child"
    child.mkdir()
    assert not read_environment(ProjectPaths(child), {}).values


def test_the_process_environment_is_never_written(paths: ProjectPaths) -> None:
    paths.env.write_text("A=file\n")
    process: dict[str, str] = {}
    read_environment(paths, process)
    assert process == {}
    assert "A" not in os.environ


def test_process_variables_that_are_not_utf8_are_skipped(paths: ProjectPaths) -> None:
    assert dict(read_environment(paths, {"A": "\udcff", "B\udcff": "1", "C": "\u00e9"}).values) == {"C": "\u00e9"}


def test_a_syntax_error_is_told_by_its_line(paths: ProjectPaths) -> None:
    paths.env.write_text("A=1\nhidden words\n")
    assert failure(paths) == "cannot parse .env (syntax error at line 2)"


@pytest.mark.parametrize("content", ["A=1".encode("utf-16"), b"A=\xff"])
def test_bytes_that_are_not_utf8_are_refused(paths: ProjectPaths, content: bytes) -> None:
    paths.env.write_bytes(content)
    assert failure(paths) == "cannot read .env: stream did not contain valid UTF-8"


def test_utf16_without_a_mark_is_a_syntax_error(paths: ProjectPaths) -> None:
    paths.env.write_bytes("A=1".encode("utf-16-le"))
    assert failure(paths) == "cannot parse .env (syntax error at line 1)"


def test_a_directory_and_a_fifo_are_refused_at_once(paths: ProjectPaths) -> None:
    paths.env.mkdir()
    assert failure(paths) == "cannot read .env: Is a directory"
    paths.env.rmdir()
    os.mkfifo(paths.env)
    assert failure(paths) == "cannot read .env: it is not a regular file"


def test_a_huge_file_is_refused(paths: ProjectPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "MAX_FILE_BYTES", 1024**2)
    paths.env.write_bytes(b"#" * (1024**2 + 1))
    assert failure(paths) == "cannot read .env: it is larger than 1 MiB"


def test_an_unset_reference_is_a_warning_with_name_and_line(paths: ProjectPaths) -> None:
    paths.env.write_text("A=1\nB=${NOPE}\n")
    environment = read_environment(paths, {})
    assert environment.warnings == (".env line 2: ${NOPE} is not set and expands to nothing",)


def test_a_reload_sees_changed_removed_and_added_keys(paths: ProjectPaths) -> None:
    paths.env.write_text("A=1\nB=1\nSHELL=file\n")
    process = {"SHELL": "shell"}
    start = read_environment(paths, process)
    paths.env.write_text("A=2\nC=3\nD=${A}\nSHELL=file2\n")
    again = read_environment(paths, process, at_start=start)
    assert dict(again.values) == {"A": "2", "C": "3", "D": "1", "SHELL": "shell"}
    assert again.dotenv_keys == {"A", "C", "D"}


def test_no_value_shows_in_the_repr(paths: ProjectPaths) -> None:
    paths.env.write_text("OVERBRAINER_HF_TOKEN=hidden\n")
    environment = read_environment(paths, {"X": "hidden"})
    assert "hidden" not in repr(environment)
    assert "hidden" not in repr(setting_variables(environment))


def keys(**variables: str) -> dict[str, str]:
    found = setting_variables(Environment(values=variables))
    return {".".join(key): variable.text for key, variable in found.items()}


def test_names_are_matched_without_regard_to_case() -> None:
    assert keys(overbrainer_log="a", Overbrainer_Providers__Nanogpt__Api_Key="b") == {
        "log": "a",
        "providers.nanogpt.api_key": "b",
    }


@pytest.mark.parametrize(
    "name",
    [
        "OVERBRAINER_SSH_CLIENT",
        "overbrainer_no_update_check",
        "OVERBRAINER_TUI_COLOR",
        "overbrainer_tui_Anything",
        "OVERBRAINER_LLAMA_CPP_URL",
        "OVERBRAINER_TEST_X",
        "OTHER",
        "XOVERBRAINER_LOG",
    ],
)
def test_variables_that_are_no_settings_are_skipped(name: str) -> None:
    assert keys(**{name: "x"}) == {}


def test_of_two_spellings_the_shell_wins_over_the_file_and_capitals_over_others() -> None:
    both = Environment(
        values={"OVERBRAINER_LOG": "file", "overbrainer_log": "shell"}, dotenv_keys=frozenset({"OVERBRAINER_LOG"})
    )
    assert setting_variables(both)[("log",)].text == "shell"
    assert keys(OVERBRAINER_LOG="capitals", overbrainer_log="small", Overbrainer_Log="mixed") == {"log": "capitals"}


def test_overridden_keys_are_the_same_in_any_case() -> None:
    environment = Environment(values={"overbrainer_pipeline__SEED": "1"})
    assert dict(overridden_keys(environment)) == {"pipeline.seed": "overbrainer_pipeline__SEED"}


def test_a_dotted_key_has_one_variable() -> None:
    assert variable_name("providers.openrouter.api_key") == "OVERBRAINER_PROVIDERS__OPENROUTER__API_KEY"


@pytest.mark.parametrize(
    ("text", "client"), [("", None), ("  ", None), (" openssh ", "openssh"), ("builtin", "builtin")]
)
def test_the_ssh_client_variable_is_trimmed_and_blank_is_unset(text: str, client: str | None) -> None:
    assert ssh_client_choice(Environment(values={"OVERBRAINER_SSH_CLIENT": text})) == client


def test_another_ssh_client_is_refused_by_the_variables_name() -> None:
    with pytest.raises(ConfigError, match=r"^OVERBRAINER_SSH_CLIENT must be openssh or builtin$"):
        ssh_client_choice(Environment(values={"OVERBRAINER_SSH_CLIENT": "hidden"}))
