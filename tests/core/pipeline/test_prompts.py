from __future__ import annotations

from pathlib import Path

import pytest

from overbrainer_core.config.settings import Topic
from overbrainer_core.errors import describe
from overbrainer_core.pipeline.prompts import TEMPLATES, PromptError, load_prompts
from overbrainer_core.project.paths import ProjectPaths

TEA = Topic(name="Tea & <co>", subtopics=1, questions_per_subtopic=1, description="all about {{ tea }}")
PLAIN = Topic(name="rice", subtopics=1, questions_per_subtopic=1)


def project(root: Path, **templates: str) -> ProjectPaths:
    paths = ProjectPaths(root)
    paths.prompts.mkdir(parents=True)
    for name, text in templates.items():
        (paths.prompts / f"{name}.txt").write_text(text, encoding="utf-8")
    return paths


def test_the_built_in_templates_render_with_and_without_what_is_optional(tmp_path: Path) -> None:
    prompts = load_prompts(ProjectPaths(tmp_path))
    for topic in (TEA, PLAIN):
        for existing in ([], ["Steeping"]):
            text = prompts.subtopics(topic, count=3, existing=existing)
            assert topic.name in text
            assert ("- Steeping" in text) is bool(existing)
        text = prompts.questions(topic, subtopic="Water", count=2, accepted=["Why <b>?"])
        assert "- Why <b>?" in text
        assert "exist already" not in prompts.questions(topic, subtopic="Water", count=2, accepted=[])
        system = prompts.answer_system(topic)
        assert topic.name in system
        assert not system.endswith("\n")
    assert "None" not in prompts.answer_system(PLAIN)
    assert "{{ tea }}" in prompts.answer_system(TEA)
    assert "B is better?" in prompts.judge(question="q", answer_a="A", answer_b="B is better?")


def test_a_projects_own_template_wins_and_may_include_another(tmp_path: Path) -> None:
    paths = project(
        tmp_path, answer_system="You know {{ topic }}.\n", subtopics="{% include 'answer_system.txt' %} {{ count }}\n\n"
    )
    prompts = load_prompts(paths)
    assert prompts.answer_system(PLAIN) == "You know rice."
    assert prompts.subtopics(PLAIN, count=2, existing=[]) == "You know rice. 2\n"


def test_a_byte_order_mark_is_no_part_of_a_template(tmp_path: Path) -> None:
    assert load_prompts(project(tmp_path, answer_system="\ufeffHi")).answer_system(PLAIN) == "Hi"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_broken_template_is_named_when_it_is_loaded(tmp_path: Path, name: str) -> None:
    paths = project(tmp_path, **{name.removesuffix(".txt"): "ok\n{% if topic %}"})
    with pytest.raises(PromptError) as caught:
        load_prompts(paths)
    assert describe(caught.value).startswith(f"invalid template {name}: ")
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["{{ accepted }}", "{{ topic.nothing }}", "{{ 1 / 0 }}", "{{ count + 'x' }}", "{% include 'other.txt' %}"],
)
def test_a_template_that_cannot_be_rendered_is_named(tmp_path: Path, text: str) -> None:
    prompts = load_prompts(project(tmp_path, subtopics=text))
    with pytest.raises(PromptError) as caught:
        prompts.subtopics(PLAIN, count=1, existing=[])
    assert describe(caught.value).startswith("cannot render template subtopics.txt: ")


def test_templates_run_in_a_sandbox(tmp_path: Path) -> None:
    prompts = load_prompts(project(tmp_path, answer_system="{{ topic.__class__.__mro__ }}"))
    with pytest.raises(PromptError):
        prompts.answer_system(PLAIN)


def test_a_template_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    paths = project(tmp_path)
    (paths.prompts / "judge.txt").mkdir()
    with pytest.raises(PromptError) as caught:
        load_prompts(paths)
    assert describe(caught.value) == f"cannot read {paths.prompts / 'judge.txt'}: Is a directory"
    (paths.prompts / "judge.txt").rmdir()
    (paths.prompts / "judge.txt").write_bytes(b"\xff")
    with pytest.raises(PromptError, match="not UTF-8"):
        load_prompts(paths)
