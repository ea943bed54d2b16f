"""`stats` prints the dataset in numbers, and holds a large one without holding it in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from overbrainer_tui.cli.main import run
from tests.peers.program import environment, write_project, write_split


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with training and evaluation data that share two questions."""
    root = write_project(tmp_path / "p")
    write_split(root)
    return root


def test_the_figures_are_printed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(project), "stats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["topic", "subtopics", "questions", "answers", "usable", "excluded"]
    assert "evaluation questions that nearly repeat a training question: 2 of 2" in lines


def test_the_figures_are_a_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-C", str(project), "stats", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["topics"][0]["topic"] == "tea"
    assert [leak["similarity"] for leak in document["leaks"]] == [1.0, 1.0]


def test_a_bad_line_is_one_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "data" / "answers.jsonl").write_text("{}\n")
    assert run(["-C", str(project), "stats"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("answers.jsonl:1: invalid record: missing key `id`\n")


ANSWER = (
    '{{"id":"{number:032x}","topic":"tea","subtopic":"s","messages":['
    '{{"role":"user","content":"What is {number} times {half}?"}},{{"role":"assistant","content":"{text}"}}],'
    '"meta":{{"model":"parent","input_tokens":1,"output_tokens":1,"finish_reason":"stop",'
    '"reasoning_kind":"none","excluded":null}}}}\n'
)
QUESTION = (
    '{{"id":"{number:032x}","topic":"tea","subtopic_id":"{zero:032x}","subtopic":"s",'
    '"text":"What is {number} times {half}?"}}\n'
)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc to tell a peak")
def test_memory_does_not_grow_with_the_answers(project: Path) -> None:
    data = project / "data"
    text = "word " * 2400
    with (data / "answers.jsonl").open("w") as answers, (data / "questions.jsonl").open("w") as questions:
        for number in range(5_000):
            answers.write(ANSWER.format(number=number, half=number // 2, text=text))
            questions.write(QUESTION.format(number=number, half=number // 2, zero=0))
    assert (data / "answers.jsonl").stat().st_size > 60_000_000
    script = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from overbrainer_tui.cli.main import run\n"
        "code = run(sys.argv[1:])\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())\n"
        "print(peak.group(1), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "-C", str(project), "stats"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stderr.split()[-1]) < 100_000
