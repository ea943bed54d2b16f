"""One write of `overbrainer.toml`: all edits or none, validated, never over somebody else's change, undone once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overbrainer_core import assets
from overbrainer_core.config.document import AddTable, Edit, EditError, RemoveTable, SetKey, TableRef, UnsetKey
from overbrainer_core.config.env import Environment
from overbrainer_core.config.exchange import SaveRefusedError
from overbrainer_core.config.reload import take_stamp
from overbrainer_core.config.save import ConfigFile, NothingToUndoError
from overbrainer_core.errors import ConfigError
from overbrainer_core.project.paths import ProjectPaths

PIPELINE = TableRef("pipeline")
SEED: list[Edit] = [SetKey(PIPELINE, "seed", 7)]
NOTHING_SET = Environment(values={})


@pytest.fixture
def paths(tmp_path: Path) -> ProjectPaths:
    """A project with the settings that `init` writes."""
    (tmp_path / "overbrainer.toml").write_text(assets.template("overbrainer.toml"))
    return ProjectPaths(tmp_path)


@pytest.fixture
def file(paths: ProjectPaths) -> ConfigFile:
    """Its `overbrainer.toml`, read."""
    file = ConfigFile(paths)
    file.read()
    return file


def names_in(paths: ProjectPaths) -> list[str]:
    """What lies in the project directory."""
    return sorted(os.listdir(paths.root))


def test_a_write_gives_the_settings_and_the_stamp_of_what_it_wrote(paths: ProjectPaths, file: ConfigFile) -> None:
    saved = file.save(SEED, NOTHING_SET)
    assert saved.settings.pipeline.seed == 7
    assert saved.stamp == take_stamp(paths).config
    assert saved.note == ""
    assert paths.config.read_text() == file.text == assets.template("overbrainer.toml").replace("seed = 42", "seed = 7")
    assert names_in(paths) == ["overbrainer.toml"]


def test_several_keys_change_in_one_write(file: ConfigFile) -> None:
    target = TableRef("targets", "pod")
    saved = file.save(
        [
            AddTable("targets", "pod", "runpod"),
            SetKey(target, "network_volume_id", "abc"),
            SetKey(target, "data_center_ids", ("EU-RO-1",)),
        ],
        NOTHING_SET,
    )
    assert saved.note == "targets.pod added"
    assert file.save([RemoveTable(target)], NOTHING_SET).note == "targets.pod deleted"


def test_settings_that_would_be_unusable_are_not_written(paths: ProjectPaths, file: ConfigFile) -> None:
    before = paths.config.read_bytes()
    with pytest.raises(ConfigError) as raised:
        file.save(
            [RemoveTable(TableRef("providers", "openrouter")), RemoveTable(TableRef("targets", "local"))], NOTHING_SET
        )
    assert [problem.path for problem in raised.value.problems] == ["roles.generator", "roles.parent", "training.target"]
    with pytest.raises(EditError):
        file.save([*SEED, UnsetKey(TableRef("project"), "name")], NOTHING_SET)
    assert paths.config.read_bytes() == before
    assert not file.can_undo


def test_the_environment_of_now_takes_part_in_the_validation(file: ConfigFile) -> None:
    environment = Environment(values={"OVERBRAINER_PIPELINE__CONCURRENCY": "0"})
    with pytest.raises(ConfigError, match="concurrency: must be at least 1"):
        file.save(SEED, environment)


def test_a_file_changed_since_it_was_read_is_left_alone(paths: ProjectPaths, file: ConfigFile) -> None:
    paths.config.write_text(file.text + "# mine\n")
    with pytest.raises(
        SaveRefusedError, match=r"^overbrainer\.toml changed on disk since it was read; nothing written$"
    ):
        file.save(SEED, NOTHING_SET)
    assert paths.config.read_text().endswith("# mine\n")
    assert names_in(paths) == ["overbrainer.toml"]


def test_a_symlink_is_not_replaced(paths: ProjectPaths, file: ConfigFile) -> None:
    real = paths.root / "real.toml"
    paths.config.rename(real)
    paths.config.symlink_to(real)
    with pytest.raises(SaveRefusedError, match=r"^overbrainer\.toml is a symlink; nothing written, edit it with E$"):
        file.save(SEED, NOTHING_SET)
    assert paths.config.is_symlink()


def test_the_last_write_is_undone_once(paths: ProjectPaths, file: ConfigFile) -> None:
    before = paths.config.read_bytes()
    file.save(SEED, NOTHING_SET)
    assert file.undo_changes() == {"pipeline"}
    saved = file.undo(NOTHING_SET)
    assert (saved.note, saved.settings.pipeline.seed) == ("the last write undone", 42)
    assert paths.config.read_bytes() == before
    assert file.undo_changes() == frozenset()
    with pytest.raises(NothingToUndoError, match=r"^nothing to undo$"):
        file.undo(NOTHING_SET)


def test_an_undo_that_would_not_be_valid_stays_available(file: ConfigFile) -> None:
    file.save([AddTable("targets", "pod", "local")], NOTHING_SET)
    with pytest.raises(ConfigError, match="unknown target"):
        file.undo(Environment(values={"OVERBRAINER_TRAINING__TARGET": "pod"}))
    assert file.can_undo
    file.undo(NOTHING_SET)


def test_an_undo_never_replaces_what_another_program_wrote(paths: ProjectPaths, file: ConfigFile) -> None:
    file.save(SEED, NOTHING_SET)
    paths.config.write_text("# theirs\n")
    with pytest.raises(SaveRefusedError, match="changed on disk since it was read"):
        file.undo(NOTHING_SET)
    assert paths.config.read_text() == "# theirs\n"
    assert not file.can_undo


def test_reading_again_tells_a_change_and_forgets_the_undo(paths: ProjectPaths, file: ConfigFile) -> None:
    file.save(SEED, NOTHING_SET)
    assert file.read() is False
    assert not file.can_undo
    paths.config.write_text(file.text + "# more\n")
    assert file.read() is True
    assert file.document().value(PIPELINE, "seed") == 7


def test_a_byte_order_mark_and_line_ends_survive(paths: ProjectPaths) -> None:
    content = b"\xef\xbb\xbf" + assets.template("overbrainer.toml").replace("\n", "\r\n").encode()
    paths.config.write_bytes(content)
    file = ConfigFile(paths)
    file.read()
    file.save(SEED, NOTHING_SET)
    assert paths.config.read_bytes() == content.replace(b"seed = 42", b"seed = 7")


def test_a_file_that_cannot_be_read_is_told(paths: ProjectPaths) -> None:
    paths.config.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="did not contain valid UTF-8"):
        ConfigFile(paths).read()
    paths.config.unlink()
    with pytest.raises(ConfigError, match="cannot read"):
        ConfigFile(paths).read()


STEPS = st.one_of(
    st.just("undo"),
    st.builds(SetKey, st.just(PIPELINE), st.sampled_from(["seed", "max_retries", "concurrency"]), st.integers(0, 9)),
    st.builds(UnsetKey, st.just(PIPELINE), st.sampled_from(["seed", "max_retries"])),
    st.builds(SetKey, st.just(TableRef("hub")), st.just("repo"), st.sampled_from(["a/b", "none"])),
    st.builds(AddTable, st.just("targets"), st.sampled_from(["x", "y"]), st.sampled_from(["local", "runpod"])),
    st.builds(RemoveTable, st.builds(TableRef, st.just("targets"), st.sampled_from(["x", "y", "local"]))),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_any_writes_and_undos_keep_every_comment_and_each_undo_gives_the_very_bytes_of_before(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Edit | str]
) -> None:
    paths = ProjectPaths(tmp_path_factory.mktemp("project"))
    template = assets.template("overbrainer.toml")
    paths.config.write_text(template)
    file = ConfigFile(paths)
    file.read()
    previous: bytes | None = None
    for step in steps:
        now = paths.config.read_bytes()
        try:
            if isinstance(step, str):
                file.undo(NOTHING_SET)
                assert paths.config.read_bytes() == previous
                previous = None
            else:
                file.save([step], NOTHING_SET)
                previous = now if paths.config.read_bytes() != now else previous
        except ConfigError:
            assert paths.config.read_bytes() == now
    after = paths.config.read_text().splitlines()
    assert [line for line in after if line.startswith("#")] == [
        line for line in template.splitlines() if line.startswith("#")
    ]
    assert names_in(paths) == ["overbrainer.toml"]
