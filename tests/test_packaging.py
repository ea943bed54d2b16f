"""A built wheel holds everything that runs: packages, job scripts, templates, styles; and nothing of the tests."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built without the network."""
    destination = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(destination)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (built,) = destination.glob("*.whl")
    return zipfile.ZipFile(built)


def tracked(*patterns: str) -> list[str]:
    """Files of the checkout below the given folders, caches left out."""
    return [
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for path in sorted(ROOT.glob(pattern))
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
    ]


def test_every_module_template_and_style_is_in_it(wheel: zipfile.ZipFile) -> None:
    wanted = tracked("overbrainer_core/**/*", "overbrainer_tui/**/*")
    assert set(wanted) - set(wheel.namelist()) == set()


def test_the_job_scripts_are_package_data(wheel: zipfile.ZipFile) -> None:
    wanted = {
        name.replace("job_scripts/", "overbrainer_core/_job_scripts/", 1) for name in tracked("job_scripts/**/*.*")
    }
    assert wanted - set(wheel.namelist()) == set()


def test_nothing_else_is_in_it(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"overbrainer_core", "overbrainer_tui"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith(".pyc")]


def test_the_command_and_the_extras_are_declared(wheel: zipfile.ZipFile) -> None:
    (folder,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    metadata = wheel.read(f"{folder}/METADATA").decode()
    assert "overbrainer = overbrainer_tui.__main__:main" in entries
    assert "Provides-Extra: demo" in metadata
    assert "Provides-Extra: dev" in metadata
    assert "License-Expression: MIT" in metadata
    assert "Repository, https://overbrainer.example/" in metadata
    assert "Releases" not in metadata
