"""What holds for the whole tree: sizes, the mirror of the tests, import hygiene, no bare tasks, words of the house."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("overbrainer_core", "overbrainer_tui")
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60


def sources(*tops: str) -> list[Path]:
    """Python files below the given folders."""
    return [path for top in tops for path in sorted((ROOT / top).rglob("*.py")) if "_job_scripts" not in path.parts]


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def name_of(path: Path) -> str:
    """The path as reports show it."""
    return path.relative_to(ROOT).as_posix()


def test_no_module_is_too_long() -> None:
    long = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*PACKAGES, "tests")}
    assert {name: lines for name, lines in long.items() if lines > MAX_MODULE_LINES} == {}


def test_no_function_is_too_long() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in sources(*PACKAGES, "job_scripts")
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_every_module_and_public_function_says_what_it_is() -> None:
    silent: list[str] = []
    for path in sources(*PACKAGES):
        text = path.read_text(encoding="utf-8")
        if not text.strip():
            continue
        if ast.get_docstring(ast.parse(text)) is None:
            silent.append(name_of(path))
        silent += [
            f"{name_of(path)}:{node.lineno} {node.name}"
            for node in public_functions(ast.parse(text))
            if ast.get_docstring(node) is None
        ]
    assert silent == []


def public_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods that others call, overrides of a library's methods left out."""
    found: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            found.append(node)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not is_library_subclass(node):
            found += [
                item
                for item in node.body
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_")
            ]
    return found


def is_library_subclass(node: ast.ClassDef) -> bool:
    """Whether the class overrides methods of a library, whose documentation says what they do."""
    return bool(node.bases)


MIRRORED_ELSEWHERE = re.compile(
    r"(/__init__|/__main__|/values/\w+|/errors|llm/demo_\w+|/base|/settings|/project/paths|flows/report)\.py$"
)
"""Values without behaviour, protocols and data tables are tested through what uses them."""


def test_every_module_with_behaviour_has_its_test_in_the_same_place() -> None:
    missing: list[str] = []
    for path in sources(*PACKAGES):
        name = name_of(path)
        if MIRRORED_ELSEWHERE.search(name):
            continue
        top, *rest, file = Path(name).parts
        mirror = ROOT / "tests" / top.removeprefix("overbrainer_") / Path(*rest, f"test_{file}")
        if not mirror.is_file():
            missing.append(name)
    assert missing == []


def test_tasks_are_made_in_owned_places_only() -> None:
    bare = [
        f"{name_of(path)}:{number}"
        for path in sources(*PACKAGES)
        if "aio" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r"asyncio\.(create_task|ensure_future|shield)\(|get_running_loop\(\)\.create_task\(", line)
    ]
    assert bare == []


def test_only_the_output_module_writes_standard_output() -> None:
    writers = [
        name_of(path)
        for path in sources(*PACKAGES)
        if re.search(r"sys\.stdout\.write|sys\.__stdout__\.write|^\s*print\(", path.read_text(encoding="utf-8"), re.M)
    ]
    assert writers == ["overbrainer_tui/__main__.py", "overbrainer_tui/cli/output.py"]


HEAVY = (
    "textual",
    "rich",
    "httpx",
    "aiohttp",
    "pydantic",
    "jinja2",
    "numpy",
    "yaml",
    "xxhash",
    "asyncssh",
    "tomlkit",
    "prometheus_client",
)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--version"], set()),
        (["--help"], set()),
        (["runs", "ls"], set()),
        (["history"], set()),
        (["config", "check"], {"pydantic"}),
    ],
)
def test_a_light_command_loads_no_heavy_library(arguments: list[str], allowed: set[str], tmp_path: Path) -> None:
    script = (
        "import sys, json\n"
        "from overbrainer_tui.cli.main import run\n"
        f"run({arguments!r})\n"
        f"print(json.dumps(sorted(set({HEAVY!r}) & set(sys.modules))), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False
    )
    loaded = set(ast.literal_eval(done.stderr.strip().splitlines()[-1]))
    assert loaded - allowed == set()


def environment() -> dict[str, str]:
    """An environment in which the checkout is importable."""
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X", "raise Not" + "ImplementedError"])
def test_nothing_is_left_for_later(word: str) -> None:
    found = [
        f"{name_of(path)}:{number}"
        for path in sources(*PACKAGES, "job_scripts", "tests")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(rf"\b{word}\b", line)
    ]
    assert found == []
