"""A small dataset on disk, and a look at its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overbrainer_core.dataset.changes import EditOutcome, EditRefusedError
from overbrainer_core.dataset.edits import Edit, make_edit
from overbrainer_core.dataset.ids import question_id, subtopic_id
from overbrainer_core.project.paths import ProjectPaths

FILES = ("rejected", "subtopics", "questions", "answers", "train", "eval")


class Dataset:
    """The files of a dataset, written and read without the code under test."""

    def __init__(self, root: Path) -> None:
        self.paths = ProjectPaths(root)
        self.paths.data.mkdir(parents=True)

    def path(self, name: str) -> Path:
        """The data file of that name."""
        return self.paths.data / f"{name}.jsonl"

    def add(self, name: str, record: dict[str, Any]) -> str:
        """Add a line to a file; its ID."""
        with self.path(name).open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
        return str(record["id"])

    def subtopic(self, name: str, *, topic: str = "tea") -> str:
        """Add a subtopic."""
        return self.add("subtopics", {"id": subtopic_id(topic, name), "topic": topic, "name": name})

    def question(self, subtopic: str, text: str, *, topic: str = "tea") -> str:
        """Add a question under the subtopic of that name."""
        under = subtopic_id(topic, subtopic)
        record = {"id": question_id(under, text), "topic": topic, "subtopic_id": under, "subtopic": subtopic}
        return self.add("questions", {**record, "text": text})

    def answer(self, subtopic: str, text: str, *, topic: str = "tea", **changes: Any) -> str:
        """Add the answer of a question; `reasoning`, `system` and `excluded` change it."""
        assistant = {"role": "assistant", "content": f"About {text}"}
        if "reasoning" in changes:
            assistant["reasoning_content"] = changes["reasoning"]
        messages = [{"role": "user", "content": text}, assistant]
        if "system" in changes:
            messages.insert(0, {"role": "system", "content": changes["system"]})
        meta = {"model": "m", "input_tokens": 1, "output_tokens": 2, "finish_reason": "stop", "reasoning_kind": "none"}
        record = {
            "id": question_id(subtopic_id(topic, subtopic), text),
            "topic": topic,
            "subtopic": subtopic,
            "messages": messages,
            "meta": {**meta, "excluded": changes.get("excluded")},
        }
        return self.add("answers", record)

    def answered(self, subtopic: str, text: str, **changes: Any) -> str:
        """Add a question and its answer."""
        self.question(subtopic, text)
        return self.answer(subtopic, text, **changes)

    def rejected_question(self, subtopic: str, text: str, *, topic: str = "tea") -> str:
        """Add a rejected question."""
        under = subtopic_id(topic, subtopic)
        record = {"kind": "question", "id": question_id(under, text), "topic": topic, "subtopic_id": under}
        return self.add("rejected", {**record, "text": text})

    def records(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file."""
        path = self.path(name)
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def ids(self, name: str) -> list[str]:
        """The IDs of a file's lines."""
        return [record["id"] for record in self.records(name)]

    def content(self) -> dict[str, bytes | None]:
        """The bytes of every file there is, temporary ones included."""
        return {path.name: path.read_bytes() for path in sorted(self.paths.data.iterdir())}

    def edit(self, edit: Edit) -> EditOutcome:
        """Make an edit; afterwards no temporary file is there."""
        outcome = make_edit(self.paths, edit)
        assert not [name for name in self.content() if name.endswith(".tmp")]
        return outcome

    def refused(self, edit: Edit) -> EditRefusedError:
        """An edit that is refused and changes nothing."""
        before = self.content()
        with pytest.raises(EditRefusedError) as caught:
            make_edit(self.paths, edit)
        assert self.content() == before
        return caught.value


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """An empty dataset."""
    return Dataset(tmp_path)


@pytest.fixture
def tea(dataset: Dataset) -> Dataset:
    """Two subtopics: `Brewing` with three questions, two of them answered, `Cups` with one that is."""
    dataset.subtopic("Brewing")
    dataset.subtopic("Cups")
    dataset.answered("Brewing", "How hot is it?")
    dataset.answered("Brewing", "How long does it take?", system="Be brief.", reasoning="It depends.")
    dataset.question("Brewing", "Why is it bitter?")
    dataset.answered("Cups", "How large are they?")
    dataset.path("train").write_text("train stays\n")
    dataset.path("eval").write_text("eval stays\n")
    return dataset
