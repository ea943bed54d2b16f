"""The real Axolotl: a virtual environment of its own, and a tiny base model made by its Python.

`OVERBRAINER_TEST_AXOLOTL` names the environment; without it `~/.cache/overbrainer-peers/axolotl` is tried.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

MAKE_MODEL = Path(__file__).resolve().parent / "make_tiny_model.py"
OFFLINE = {"HF_HUB_OFFLINE": "1", "AXOLOTL_DO_NOT_TRACK": "1"}


def axolotl_venv() -> Path:
    """The environment of the real Axolotl; skips the test where there is none."""
    named = os.environ.get("OVERBRAINER_TEST_AXOLOTL")
    venv = Path(named) if named else Path.home() / ".cache" / "overbrainer-peers" / "axolotl"
    if not (venv / "bin" / "axolotl").exists():
        pytest.skip(f"no Axolotl in {venv}: install it there, or name its environment in OVERBRAINER_TEST_AXOLOTL")
    return venv


def make_tiny_model(venv: Path, directory: Path, corpus: Path) -> Path:
    """A base model of 600 tokens and 2 layers that has read the corpus; a CPU trains it in seconds."""
    subprocess.run(
        [venv / "bin" / "python", MAKE_MODEL, directory, "--corpus", corpus, "--hidden", "64"],
        env={**os.environ, **OFFLINE},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return directory
