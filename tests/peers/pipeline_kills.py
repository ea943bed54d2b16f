"""A series of `kill -9` over `overbrainer run`: what is lost, and what is paid for twice?

The provider answers from fixed pools by the text of the request alone, so that an undisturbed run and a run in pieces
must end with the same records. It keeps every request it received: each of them is paid for.

By hand, the long form: `python -m tests.peers.pipeline_kills --kills 60 --questions 500 --seed 1`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.peers.llm_api import Answer, completion, llm_api
from tests.peers.program import run, start

CONCURRENCY = 4
BATCH = 10
TOPICS = ("tea", "maps")
SUBTOPICS = 5
CONFIG = """\
[project]
name = "kills"
{topics}
[providers.here]
protocol = "openai"

[roles]
generator = {{ provider = "here", model = "generator" }}
parent = {{ provider = "here", model = "parent" }}

[pipeline]
concurrency = {concurrency}
question_batch_size = {batch}
"""
TOPIC = '\n[[topics]]\nname = "{name}"\nsubtopics = {subtopics}\nquestions_per_subtopic = {questions}\n'
DATA = ("subtopics", "questions", "answers", "train", "eval")


def write_project(root: Path, base_url: str, *, questions: int) -> Path:
    """A project of two topics with so many questions in all."""
    each = questions // (len(TOPICS) * SUBTOPICS)
    topics = "".join(TOPIC.format(name=name, subtopics=SUBTOPICS, questions=each) for name in TOPICS)
    (root / ".overbrainer").mkdir(parents=True)
    (root / ".overbrainer" / "version").write_text("1\n")
    (root / "overbrainer.toml").write_text(CONFIG.format(topics=topics, concurrency=CONCURRENCY, batch=BATCH))
    (root / ".env").write_text(f"OVERBRAINER_PROVIDERS__HERE__BASE_URL={base_url}\n")
    return root


def words(seed: str, count: int) -> str:
    """Words that hardly any other seed gives."""
    source = random.Random(seed)
    return " ".join("".join(source.choices("aeioubdgklmnprstvz", k=7)) for _ in range(count))


class Provider:
    """Answers by the text of the request, and keeps what it was asked."""

    def __init__(self, *, questions: int, latency_s: float = 0.0) -> None:
        self._each = questions // (len(TOPICS) * SUBTOPICS)
        self.latency_s = latency_s
        self.lists: list[list[str]] = []
        self.answered: list[str] = []

    @property
    def requests(self) -> int:
        """Requests received so far."""
        return len(self.lists) + len(self.answered)

    def reply(self, request: dict[str, Any]) -> Answer:
        """The answer to a request, after the provider's latency."""
        text = request["messages"][-1]["content"]
        if request["model"] == "parent":
            self.answered.append(text)
            content = f"On {text} {words(text, 12)}."
        else:
            items = self._items(text)
            self.lists.append(items)
            content = json.dumps(items)
        time.sleep(self.latency_s)
        return completion(content)

    def _items(self, prompt: str) -> list[str]:
        """The first of a pool that the prompt does not show as known."""
        count = int(re.findall(r"JSON array of (\d+) strings", prompt)[0])
        quoted = re.findall(r'"([^"]+)"', prompt)
        known = set(re.findall(r"^- (.*)$", prompt, flags=re.M))
        if "about the subtopic" in prompt:
            pool = [f"What of {words(f'{quoted[:2]}{number}', 8)}?" for number in range(self._each)]
        else:
            pool = [words(f"{quoted[0]}{number}", 3) for number in range(SUBTOPICS)]
        return [item for item in pool if item not in known][:count]


@dataclass
class Series:
    """What a series of kills came to."""

    kills: int = 0
    kills_by_files: Counter[str] = field(default_factory=Counter)
    """Kills by the last data file that had records by then."""
    torn_lines: int = 0
    lost_answers: list[int] = field(default_factory=list)
    """Of each kill, requests to the parent that were received and are in no file."""
    paid_answers: int = 0
    paid_lists: int = 0
    undisturbed_lists: int = 0
    asked_again: list[str] = field(default_factory=list)
    """Texts that were asked or generated again although they were on disk."""
    differences: list[str] = field(default_factory=list)
    """Data files that are not those of the undisturbed run."""
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """The result for people."""
        return [
            f"{self.kills} kills in {self.seconds:.0f} s: {dict(self.kills_by_files)}, {self.torn_lines} torn lines",
            f"answers paid {self.paid_answers}, lost in flight {sum(self.lost_answers)}, "
            f"at most {max(self.lost_answers, default=0)} a kill (concurrency {CONCURRENCY})",
            f"list replies paid {self.paid_lists}, {self.undisturbed_lists} in the undisturbed run",
            f"asked again although on disk: {len(self.asked_again)}; files that differ: {self.differences or 'none'}",
        ]


def saved(project: Path, name: str) -> list[str]:
    """The whole lines of a data file."""
    path = project / "data" / f"{name}.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return content.rpartition(b"\n")[0].decode().splitlines() if b"\n" in content else []


def run_series(root: Path, *, kills: int, questions: int, seed: int, latency_s: float = 0.05) -> Series:
    """Run a project undisturbed, then another one killed again and again; compare them."""
    began = time.monotonic()
    series = Series()
    calm = Provider(questions=questions)
    with llm_api(calm.reply) as endpoint:
        whole = write_project(root / "whole", endpoint.base_url, questions=questions)
        started = time.monotonic()
        process = start(whole, "run")
        while calm.requests == 0 and process.poll() is None:
            time.sleep(0.005)
        startup_s = time.monotonic() - started
        output = process.communicate()[1]
        assert process.returncode == 0, output
    series.undisturbed_lists = len(calm.lists)
    provider = Provider(questions=questions, latency_s=latency_s)
    with llm_api(provider.reply) as endpoint:
        cut = write_project(root / "cut", endpoint.base_url, questions=questions)
        _Killer(cut, provider, series, startup_s=startup_s, source=random.Random(seed)).kill_all(kills, questions)
        done = run(cut, "run", limit_s=300)
        assert done.returncode == 0, done.stderr
        asked = provider.requests
        assert run(cut, "run").returncode == 0
        assert provider.requests == asked, "a finished project asked again"
    series.paid_answers = len(provider.answered)
    series.paid_lists = len(provider.lists)
    series.differences = [name for name in DATA if sorted(saved(cut, name)) != sorted(saved(whole, name))]
    series.differences += [path.name for path in (cut / "data").iterdir() if path.name.startswith(".")]
    series.seconds = time.monotonic() - began
    return series


class _Killer:
    def __init__(
        self, project: Path, provider: Provider, series: Series, *, startup_s: float, source: random.Random
    ) -> None:
        self._project = project
        self._provider = provider
        self._series = series
        self._startup_s = startup_s
        self._random = source
        self._answered: set[str] = set()
        self._generated: set[str] = set()

    def kill_all(self, kills: int, questions: int) -> None:
        """Start and kill `run` until it was killed so many times; one that ended before its kill does not count."""
        while self._series.kills < kills:
            answers_left = questions - len(saved(self._project, "answers"))
            lists_left = (questions - len(saved(self._project, "questions"))) / BATCH
            self._kill_one((answers_left + lists_left) / (2 * (kills - self._series.kills) + 1))

    def _kill_one(self, mean_requests: float) -> None:
        """Kill a run after some requests and a moment, or at some moment of its first second."""
        before = self._provider.requests
        asked, generated = len(self._provider.answered), len(self._provider.lists)
        answers_before = len(saved(self._project, "answers"))
        wanted = self._random.randint(0, round(2 * mean_requests))
        is_timed = wanted == 0 or self._random.random() < 0.25
        pause_s = self._random.uniform(0, 1.2 * self._startup_s if is_timed else 0.06)
        process = start(self._project, "run")
        while not is_timed and process.poll() is None and self._provider.requests - before < wanted:
            time.sleep(0.002)
        time.sleep(pause_s)
        process.kill()
        process.communicate()
        if process.returncode == -9:
            self._series.kills += 1
            self._series.kills_by_files[self._newest_file()] += 1
        time.sleep(2 * self._provider.latency_s)  # requests that left before the kill have arrived by then
        self._look(asked, generated, answers_before)

    def _newest_file(self) -> str:
        return next((name for name in reversed(DATA) if saved(self._project, name)), "nothing")

    def _look(self, asked: int, generated: int, answers_before: int) -> None:
        """Keep what the kill cost, and what was asked although it was on disk when the process was started."""
        series, provider, project = self._series, self._provider, self._project
        series.asked_again += [text for text in provider.answered[asked:] if text in self._answered]
        series.asked_again += [
            item for items in provider.lists[generated:] for item in items if item in self._generated
        ]
        answers = [json.loads(line) for line in saved(project, "answers")]
        series.lost_answers.append(len(provider.answered) - asked - (len(answers) - answers_before))
        self._answered = {record["messages"][0]["content"] for record in answers}
        self._generated = {json.loads(line)["name"] for line in saved(project, "subtopics")}
        self._generated |= {json.loads(line)["text"] for line in saved(project, "questions")}
        series.torn_lines += sum(is_torn(project / "data" / f"{name}.jsonl") for name in DATA)


def is_torn(path: Path) -> bool:
    """Whether a file ends in the middle of a line."""
    return path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")


def main() -> None:
    """The long form, by hand."""
    parser = argparse.ArgumentParser(description=run_series.__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--latency", type=float, default=0.1, help="seconds the provider takes for a reply")
    options = parser.parse_args()
    sizes = {"kills": options.kills, "questions": options.questions, "seed": options.seed}
    with tempfile.TemporaryDirectory() as root:
        series = run_series(Path(root), **sizes, latency_s=options.latency)
    print("\n".join(series.lines()))


if __name__ == "__main__":
    main()
