"""The console script answers `--version` by itself and hands on everything else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from overbrainer_core import __version__
from overbrainer_tui.__main__ import main


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_loads_nothing_else(option: str) -> None:
    script = (
        f"import sys; sys.argv = ['overbrainer', {option!r}]\n"
        "from overbrainer_tui.__main__ import main; main()\n"
        "print(sorted(m for m in sys.modules if m in ('click', 'asyncio', 'logging', 'dataclasses')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"overbrainer {__version__}\n[]\n"


def test_everything_else_exits_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["overbrainer", "nonsense"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
