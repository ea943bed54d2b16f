"""Where does everything of a project directory live?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """Paths of one project; `root` is kept as the person gave it, so that messages show their words."""

    root: Path

    @property
    def config(self) -> Path:
        """`overbrainer.toml`."""
        return self.root / "overbrainer.toml"

    @property
    def env(self) -> Path:
        """`.env`."""
        return self.root / ".env"

    @property
    def env_example(self) -> Path:
        """`.env.example`."""
        return self.root / ".env.example"

    @property
    def gitignore(self) -> Path:
        """`.gitignore`."""
        return self.root / ".gitignore"

    @property
    def prompts(self) -> Path:
        """The directory of prompt templates."""
        return self.root / "prompts"

    @property
    def data(self) -> Path:
        """The directory of the dataset."""
        return self.root / "data"

    @property
    def subtopics(self) -> Path:
        """Generated subtopics."""
        return self.data / "subtopics.jsonl"

    @property
    def questions(self) -> Path:
        """Generated questions."""
        return self.data / "questions.jsonl"

    @property
    def answers(self) -> Path:
        """The parent's answers, usable and excluded."""
        return self.data / "answers.jsonl"

    @property
    def rejected(self) -> Path:
        """Subtopics and questions that a person deleted."""
        return self.data / "rejected.jsonl"

    @property
    def train(self) -> Path:
        """The training split."""
        return self.data / "train.jsonl"

    @property
    def eval(self) -> Path:
        """The evaluation split."""
        return self.data / "eval.jsonl"

    @property
    def runs(self) -> Path:
        """The directory of runs."""
        return self.root / "runs"

    @property
    def state(self) -> Path:
        """`.overbrainer`, the directory of state files."""
        return self.root / ".overbrainer"

    @property
    def lock(self) -> Path:
        """The project lock."""
        return self.state / "lock"

    @property
    def history(self) -> Path:
        """One line per stage execution."""
        return self.state / "history.jsonl"

    @property
    def version(self) -> Path:
        """The project format number."""
        return self.state / "version"

    @property
    def demo(self) -> Path:
        """The sign of a demo project: the version of its tables."""
        return self.state / "demo"

    def run(self, run_id: str) -> Path:
        """The directory of a run; the ID must have been checked."""
        return self.runs / run_id
