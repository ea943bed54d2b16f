"""A small program in the place of `axolotl`, for what a training can do wrong."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPT = """#!{python}
import json, os, sys, time
metrics = os.environ["OVERBRAINER_METRICS"]
def line(**fields):
    with open(metrics, "a") as handle:
        handle.write(json.dumps(fields) + "\\n")
{body}
"""


def make_venv(root: Path, body: str) -> Path:
    """A directory with a `bin/axolotl` that runs this Python text; `line(**fields)` writes a metrics line."""
    program = root / "bin" / "axolotl"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return root
