"""Job scripts and templates are found."""

from __future__ import annotations

from pathlib import Path

from overbrainer_core import assets


def test_the_job_scripts_of_the_checkout_are_used(repository: Path) -> None:
    assert assets.job_scripts_dir() == repository / "job_scripts"


def test_a_job_script_is_read_as_text() -> None:
    assert assets.job_script("wrapper/job.sh").strip()


def test_a_template_is_read_as_text() -> None:
    assert "[project]" in assets.template("overbrainer.toml")
