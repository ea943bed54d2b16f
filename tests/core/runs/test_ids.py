"""Run IDs: form, slug, collisions, claims."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overbrainer_core.errors import RunError
from overbrainer_core.executors.errors import CommandError
from overbrainer_core.files import FileAccessError
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.ids import InvalidRunIdError, base_id, candidates, check_run_id, claim_run, is_run_id, slug

MOMENT = datetime(2026, 9, 22, 14, 30, 5, 999999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("  GPT-4o mini!! v2 ", "gpt_4o_mini_v2"),
        ("Café Über", "caf_ber"),
        ("模型", "run"),
        ("", "run"),
        ("---", "run"),
        ("A" * 60, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
        ("İstanbul", "stanbul"),
        ("\u212a 2", "2"),
    ],
)
def test_the_slug_keeps_ascii_letters_and_digits(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(st.text())
def test_every_project_name_gives_a_valid_id(name: str) -> None:
    assert all(is_run_id(candidate) for candidate in candidates(base_id(name, MOMENT)))


def test_the_id_holds_the_utc_time() -> None:
    assert base_id("Malware development", MOMENT) == "malware_development_20260922-143005"


def test_there_are_ninety_nine_candidates() -> None:
    names = candidates("a")
    assert (names[0], names[1], names[-1], len(names)) == ("a", "a_2", "a_99", 99)


@pytest.mark.parametrize("text", ["20260922-143005-a1b2", "a", "0", "a" * 64, "A-b_9"])
def test_old_and_new_ids_are_valid(text: str) -> None:
    assert check_run_id(text) == text


@pytest.mark.parametrize("text", ["", "-a", "_a", "a" * 65, "a/b", "..", "a b", "é", "a\n", "٣"])
def test_what_could_leave_the_directory_is_no_id(text: str) -> None:
    with pytest.raises(InvalidRunIdError):
        check_run_id(text)


async def test_a_claim_takes_the_first_id_that_is_free_here_and_there(
    paths: ProjectPaths, make_target: Callable[..., object]
) -> None:
    target = make_target()
    paths.run("a").mkdir(parents=True)
    target.taken.add("a_2")  # type: ignore[attr-defined]
    run_id, remote = await claim_run(paths, target, "a")  # type: ignore[arg-type]
    assert (run_id, remote) == ("a_3", "/remote/a_3")
    assert paths.run("a_3").is_dir()
    assert not paths.run("a_2").exists()
    assert len(target.owners) == 1  # type: ignore[attr-defined]
    assert len(target.owners[0]) == 16  # type: ignore[attr-defined]


async def test_a_claim_that_errors_leaves_nothing_here(paths: ProjectPaths, make_target: Callable[..., object]) -> None:
    target = make_target()
    target.fail["claim"] = CommandError("claim the run directory", "no room")  # type: ignore[attr-defined]
    with pytest.raises(CommandError):
        await claim_run(paths, target, "a")  # type: ignore[arg-type]
    assert list(paths.runs.iterdir()) == []


async def test_a_taken_directory_that_is_not_empty_is_left_alone(
    paths: ProjectPaths, make_target: Callable[..., object]
) -> None:
    target = make_target()

    def occupy(run_id: str) -> bool:
        (paths.run(run_id) / ".claim").write_text("somebody\n")
        return run_id != "a"

    target.on_claim = occupy  # type: ignore[attr-defined]
    assert (await claim_run(paths, target, "a"))[0] == "a_2"  # type: ignore[arg-type]
    assert (paths.run("a") / ".claim").read_text() == "somebody\n"


async def test_a_hundredth_run_in_one_second_is_refused(
    paths: ProjectPaths, make_target: Callable[..., object]
) -> None:
    for name in candidates("a"):
        paths.run(name).mkdir(parents=True)
    with pytest.raises(RunError, match=r"runs a to a_99 all exist"):
        await claim_run(paths, make_target(), "a")  # type: ignore[arg-type]


async def test_a_directory_of_runs_that_cannot_be_made_is_an_error(
    tmp_path: Path, make_target: Callable[..., object]
) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(FileAccessError):
        await claim_run(ProjectPaths(tmp_path), make_target(), "a")  # type: ignore[arg-type]
