"""How long until the app on a small project paints, and until it has settled, against an empty Textual app?

Targets: first paint at most 1.6 times that of the empty app, settled within 2.0 times. Both are started in turns on a
pseudo-terminal. The first paint is the first frame with text, settled is the last byte before a quiet half second; the
ratios are of CPU time and of time on the clock.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from overbrainer_core.project.init import init_project
from overbrainer_core.project.paths import ProjectPaths
from tests.benchmarks.bench_startup import make_runs
from tests.benchmarks.pty_child import PtyChild, environment

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
QUIET_S = 0.6

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("ready-to-go")
Empty().run()
"""


def measure(command: list[str], cwd: Path, mark: bytes) -> tuple[float, float, float, float]:
    """Seconds until the first paint and until settled, on the clock and of CPU."""
    with PtyChild(command, cwd=cwd, env=environment()) as child:
        paint_s = child.read_until(lambda output: mark in output)
        paint_cpu_s = child.cpu_s()
        settled_s, settled_cpu_s = child.read_until_quiet(QUIET_S)
    return paint_s, paint_cpu_s, settled_s, settled_cpu_s


def small_project(root: Path) -> Path:
    """A project as `init` makes it, with a few subtopics, questions, answers and ended runs."""
    init_project(root)
    paths = ProjectPaths(root)
    paths.config.write_text(paths.config.read_text().replace("my_project", "small-project"))
    paths.data.mkdir()
    subtopics = [{"id": f"{number:016x}", "topic": "ownership", "name": f"Area {number}"} for number in range(10)]
    questions = [
        {"id": f"{number:032x}", "topic": "ownership", "subtopic_id": f"{number % 10:016x}", "text": f"Why {number}?"}
        | {"subtopic": f"Area {number % 10}"}
        for number in range(60)
    ]
    for path, records in ((paths.subtopics, subtopics), (paths.questions, questions)):
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    make_runs(root, 3)
    return root


def main() -> None:
    """Print the ratios."""
    launcher = str(Path(sys.executable).with_name("overbrainer"))
    found: dict[str, list[tuple[float, float, float, float]]] = {"empty": [], "app": []}
    with tempfile.TemporaryDirectory() as scratch:
        project = small_project(Path(scratch))
        for number in range(ROUNDS + 1):  # the first round makes the bytecode
            empty = measure([sys.executable, "-c", EMPTY], project, b"ready-to-go")
            app = measure([launcher, "tui"], project, b"small-project")
            if number:
                found["empty"].append(empty)
                found["app"].append(app)
    for place, name, target in ((0, "first paint", 1.6), (2, "settled", 2.0)):
        for kind, offset in (("clock", 0), ("CPU", 1)):
            empty_s = [row[offset] for row in found["empty"]]  # the empty app has settled when it has painted
            app_s = [row[place + offset] for row in found["app"]]
            print(
                f"{name + ', ' + kind:<19} {min(app_s) * 1000:5.0f} ms, empty app {min(empty_s) * 1000:5.0f} ms: "
                f"{min(app_s) / min(empty_s):.2f} x of the best, "
                f"{statistics.median(app_s) / statistics.median(empty_s):.2f} x of the medians  (target {target})"
            )


if __name__ == "__main__":
    main()
