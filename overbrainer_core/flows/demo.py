"""Where does the demo project come from, and what is the next thing to do with it?

`prepare_demo` writes a new demo project or finds one to go on with; nothing in an existing one is rewritten.
What comes after the stages is decided by the newest run alone.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overbrainer_core import assets
from overbrainer_core.errors import ConfigError, OverbrainerError
from overbrainer_core.project.init import write_new_project
from overbrainer_core.project.paths import ProjectPaths
from overbrainer_core.runs.record import RunState
from overbrainer_core.runs.store import list_runs

DEMO_DIRECTORY = "overbrainer-demo"
"""Directory of the demo when none is named, under the project directory of the command line."""

_log = logging.getLogger("overbrainer.demo")


class MissingNumpyError(OverbrainerError):
    """The embedded trainer has no NumPy."""

    def __init__(self) -> None:
        super().__init__("the demo needs NumPy: run `pip install 'overbrainer[demo]'`")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoProject:
    """A demo project on disk; `is_new` when this call wrote it."""

    root: Path
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run starts, from the snapshot of a stopped one when `resume_from` names it."""

    resume_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A run is still running: it is followed."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A run succeeded: nothing starts."""

    run_id: str


DemoStep = Start | Follow | Finished


def demo_root(directory: Path, name: str | None) -> Path:
    """The directory of the demo: the named one, this one when it holds a demo, else a new one in it."""
    if name is None and ProjectPaths(directory).demo.is_file():
        return directory
    return directory / (name or DEMO_DIRECTORY)


def prepare_demo(root: Path) -> DemoProject:
    """Write the demo project into `root`, or find one there.

    Raises:
        MissingNumpyError: NumPy is not installed; nothing was written.
        ConfigError: the directory is not empty and holds no demo, or cannot be written.
    """
    if importlib.util.find_spec("numpy") is None:
        raise MissingNumpyError
    paths = ProjectPaths(root)
    if paths.demo.is_file():
        if not os.path.lexists(paths.version):
            _write(root, _missing(root))
        return DemoProject(root=root, is_new=False)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise ConfigError(f"{root} is not empty and holds no demo")
    _write(root, _files())
    return DemoProject(root=root, is_new=True)


def _files() -> dict[str, tuple[str, int]]:
    """Text and permission bits by path; the sign of a demo first, so that a killed call can be taken up."""
    from overbrainer_core.llm.demo_tables import DEMO_TABLES_VERSION  # the tables are large

    prompts = ("subtopics", "questions", "answer_system", "judge")
    return {
        ".overbrainer/demo": (f"{DEMO_TABLES_VERSION}\n", 0o666),
        **{f"prompts/{name}.txt": (assets.template(f"prompts/{name}.txt"), 0o666) for name in prompts},
        "README.md": (assets.template("demo_readme.md"), 0o666),
        ".env": (assets.template("demo.env"), 0o600),
        "overbrainer.toml": (assets.template("demo.toml"), 0o666),
    }


def _missing(root: Path) -> dict[str, tuple[str, int]]:
    """What a killed call did not write; a file that it had only created is removed."""
    files = _files()
    for name in files:
        path = root / name
        if path.is_file() and path.stat().st_size == 0:
            path.unlink()
    return {name: file for name, file in files.items() if not os.path.lexists(root / name)}


def _write(root: Path, files: Mapping[str, tuple[str, int]]) -> None:
    write_new_project(root, files)
    _log.info("demo project written to %s", root)


def next_step(paths: ProjectPaths) -> DemoStep:
    """What follows the stages: by the newest run, or a new one."""
    records = list_runs(paths)
    if not records:
        return Start()
    newest = records[-1]
    match newest.state:
        case RunState.RUNNING:
            return Follow(run_id=newest.id)
        case RunState.SUCCEEDED:
            return Finished(run_id=newest.id)
        case RunState.STOPPED if newest.snapshot is not None:
            return Start(resume_from=newest.id)
        case _:
            return Start()
