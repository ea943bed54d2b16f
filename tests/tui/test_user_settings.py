"""The theme that a person chose for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.errors import ConfigError
from overbrainer_core.files import FileAccessError
from overbrainer_tui.user_settings import load_theme, save_theme, settings_path, with_theme


def test_the_file_lives_under_the_configuration_directory_or_the_home() -> None:
    assert settings_path({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}) == Path("/c/overbrainer/tui.toml")
    assert settings_path({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/overbrainer/tui.toml")
    assert settings_path({"XDG_CONFIG_HOME": ""}) is None


def test_a_theme_is_kept_and_read_again(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load_theme(env) == (None, None)
    save_theme(env, "light")
    assert load_theme(env) == ("light", None)
    save_theme(env, "safe")
    assert (tmp_path / "overbrainer" / "tui.toml").read_text() == 'theme = "safe"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "safe"\n'),
        ('# mine\ntheme = "dark"  # old\n', '# mine\ntheme = "safe"\n'),
        ('[keys]\nattach = "b"\n', 'theme = "safe"\n[keys]\nattach = "b"\n'),
        ('other = 1\n\n[x]\ntheme = "kept"\n', 'other = 1\n\ntheme = "safe"\n[x]\ntheme = "kept"\n'),
    ],
)
def test_writing_changes_the_one_line(before: str, after: str) -> None:
    assert with_theme(before, "safe") == after


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("theme = [", "is not valid TOML"),
        ('theme = "pink"', "must be one of `dark`, `light`, `safe`"),
        ("theme = 3", "must"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_and_ignored(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "overbrainer").mkdir()
    (tmp_path / "overbrainer" / "tui.toml").write_text(text)
    theme, trouble = load_theme({"XDG_CONFIG_HOME": str(tmp_path)})
    assert theme is None
    assert trouble is not None
    assert words in trouble
    assert "pink" not in trouble


def test_without_a_home_nothing_can_be_kept() -> None:
    with pytest.raises(ConfigError, match="no home directory"):
        save_theme({}, "dark")


def test_a_place_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "overbrainer").write_text("a file in the directory's place")
    with pytest.raises(FileAccessError):
        save_theme({"XDG_CONFIG_HOME": str(tmp_path)}, "dark")
