from __future__ import annotations

import json
from pathlib import Path

import pytest

from overbrainer_core.dataset.ids import normalize, question_id, stable_id, subtopic_id

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "ids.json").read_text(encoding="utf-8"))["ids"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["topic"])
def test_ids_are_those_of_existing_projects(case: dict[str, str]) -> None:
    found = subtopic_id(case["topic"], case["name"])
    assert found == case["subtopic_id"]
    if "question" in case:
        assert question_id(found, case["question"]) == case["question_id"]


def test_pinned_values() -> None:
    assert stable_id("a") == "a96faf705af16834e6c632b61e964e1f"
    assert subtopic_id("ownership", "borrowing") == "d410fa975affdd150daf206922cfd8cc"
    assert subtopic_id("ownership", "  Borrowing ") == "d410fa975affdd150daf206922cfd8cc"
    brewing = subtopic_id("tea", "Brewing temperature")
    assert brewing == "58bdc0d8c84e2956d1ae19aba990a1af"
    assert question_id(brewing, "How hot should water be for white tea?") == "8821064f06ec8f52944480acbc665742"


def test_normalisation_folds_case_and_space_but_not_punctuation() -> None:
    assert normalize("\n Hello\n\tWORLD  ") == "hello world"
    assert normalize("a\u00a0b\u2003c\u3000d\x1fe\x85f") == "a b c d e f"
    assert normalize("What?") != normalize("What")
    assert normalize("zero\u200bwidth") == "zero\u200bwidth"
    assert normalize(" \x00\t ") == ""


def test_the_topic_name_counts_as_it_is_written() -> None:
    assert subtopic_id("Tea", "x") != subtopic_id("tea", "x")
    assert subtopic_id("tea ", "x") != subtopic_id("tea", "x")
