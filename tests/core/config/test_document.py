"""Edits of `overbrainer.toml` change what they name and nothing else, whatever the layout."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overbrainer_core import assets
from overbrainer_core.config.document import (
    AddTable,
    ConfigDocument,
    Edit,
    EditError,
    RemoveTable,
    SetKey,
    TableRef,
    UnsetKey,
    changed_tables,
    edited,
)
from overbrainer_core.config.env import Environment
from overbrainer_core.config.load import parse_settings

PIPELINE = TableRef("pipeline")
TRAINING = TableRef("training")
HUB = TableRef("hub")
GENERATOR = TableRef("roles", "generator")
JUDGE = TableRef("roles", "judge")

HEADERS = """\
# top comment

[project] # the project
name   =   'p'   # its name

# first topic
[[topics]]
name = "tea"
# how many
subtopics = 1 # few
questions_per_subtopic = 2

# second topic
[[topics]]
name = "oil"
subtopics = 1
questions_per_subtopic = 2

# where models live
[providers.a]
protocol = "openai"

# another
[providers.b]
protocol = "anthropic"
# commented key of b

# roles
[roles.generator]
provider = "a"
model = "m"
[roles.parent]
provider = "b"
model = "m"

[pipeline]
# parallel
concurrency = 8
# above retries
max_retries = 5 # beside retries
# last words
"""

INLINE = """\
project = { name = "p" }
topics = [
    { name = "tea", subtopics = 1, questions_per_subtopic = 2 }, # first
    { name = "oil", subtopics = 1, questions_per_subtopic = 2 } # second
]
providers = { a = { protocol = "openai" }, b = { protocol = "anthropic" } }
pipeline.concurrency = 8 # dotted
pipeline."max_retries" = 5

[roles]
generator = { provider = "a", model = "m" }
parent = { provider = "b", model = "m"}
"""

INTERLEAVED = """\
[[topics]]
name = "tea"
subtopics = 1
questions_per_subtopic = 2
[targets.x]
kind = "local"
runtime = "native"
[project]
name = "p"
[[topics]]
name = "oil"
subtopics = 1
questions_per_subtopic = 2
[roles]
generator.provider = "a"
generator.model = "m"
parent = { provider = "b", model = "m" }
[providers]
a.protocol = "openai"
b.protocol = "anthropic"
[pipeline]
concurrency = 8
max_retries = 5
[targets.y]
kind = "local"
runtime = "native"
"""

LAYOUTS = {"headers": HEADERS, "inline": INLINE, "interleaved": INTERLEAVED}
ENVIRONMENT = Environment(values={})


@pytest.fixture(params=[pytest.param(text, id=name) for name, text in LAYOUTS.items()])
def layout(request: pytest.FixtureRequest) -> str:
    """The same settings written in three ways."""
    return str(request.param)


def lines_gone_and_new(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that only one of the two texts has."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_a_value_changes_in_its_place_and_its_comment_stays() -> None:
    text = edited(HEADERS, [SetKey(TableRef("project"), "name", "q"), SetKey(PIPELINE, "max_retries", 6)])
    assert lines_gone_and_new(HEADERS, text) == (
        ["name   =   'p'   # its name\n", "max_retries = 5 # beside retries\n"],
        ['name   =   "q"   # its name\n', "max_retries = 6 # beside retries\n"],
    )


def test_the_value_that_is_there_already_is_left_as_it_is_written() -> None:
    assert edited(HEADERS, [SetKey(TableRef("project"), "name", "p")]) == HEADERS


def test_every_layout_takes_every_kind_of_edit(layout: str) -> None:
    text = edited(
        layout,
        [
            SetKey(PIPELINE, "concurrency", 4),
            SetKey(PIPELINE, "eval_ratio", 0.2),
            SetKey(TableRef("topics", "oil", 1), "subtopics", 9),
            SetKey(TableRef("topics", "tea", 0), "description", "leaves"),
            SetKey(GENERATOR, "temperature", 1),
            SetKey(JUDGE, "provider", "a"),
            SetKey(JUDGE, "model", "j"),
            UnsetKey(PIPELINE, "max_retries"),
            AddTable("topics", "salt"),
            AddTable("providers", "c", "openai"),
            AddTable("targets", "gpu", "runpod"),
            SetKey(TableRef("targets", "gpu"), "gpu_types", ("NVIDIA A40", "NVIDIA L40S")),
            SetKey(TRAINING, "target", "gpu"),
            SetKey(TRAINING, "base_model", "m"),
            SetKey(TRAINING, "adapter", "lora"),
            SetKey(HUB, "private", False),
            RemoveTable(TableRef("topics", "tea", 0)),
        ],
    )
    found = parse_settings(text, ENVIRONMENT)
    assert [topic.name for topic in found.topics] == ["oil", "salt"]
    assert (found.topics[0].subtopics, found.topics[1].subtopics) == (9, 10)
    assert (found.pipeline.concurrency, found.pipeline.eval_ratio, found.pipeline.max_retries) == (4, 0.2, 5)
    assert found.roles.judge is not None
    assert found.roles.judge.model == "j"
    assert list(found.providers) == ["a", "b", "c"]
    assert found.training is not None
    assert found.tables["hub"]["private"] is False
    assert "max_retries" not in text


def test_what_was_added_is_removed_without_a_trace(layout: str) -> None:
    added: list[Edit] = [
        AddTable("topics", "salt"),
        AddTable("providers", "c", "anthropic"),
        SetKey(PIPELINE, "seed", 7),
        SetKey(GENERATOR, "reasoning", True),
    ]
    removed: list[Edit] = [
        UnsetKey(GENERATOR, "reasoning"),
        UnsetKey(PIPELINE, "seed"),
        RemoveTable(TableRef("providers", "c")),
        RemoveTable(TableRef("topics", "salt", 2)),
    ]
    before = f"{layout}\n[metrics]\n"
    assert " ".join(edited(before, [*added, *removed]).split()) == " ".join(before.split())


def test_comments_above_what_is_removed_come_to_stand_above_what_follows() -> None:
    text = edited(
        HEADERS,
        [
            RemoveTable(TableRef("topics", "tea", 0)),
            RemoveTable(TableRef("topics", "oil", 0)),
            UnsetKey(PIPELINE, "max_retries"),
        ],
    )
    assert "# first topic\n\n# second topic\n\n# where models live\n[providers.a]" in text
    assert text.endswith("concurrency = 8\n# above retries\n# last words\n")
    assert "topics" not in tomllib.loads(text)


def test_the_last_of_its_kind_takes_its_empty_parent_with_it() -> None:
    header = HEADERS + "\n[targets]\n# machines\n[targets.x]\nkind = 'local'\nruntime = 'native'\n"
    text = edited(header, [RemoveTable(TableRef("targets", "x"))])
    assert "targets" not in tomllib.loads(text)
    assert "# machines" in text
    gone: list[Edit] = [RemoveTable(TableRef("topics", "tea", 0)), RemoveTable(TableRef("topics", "oil", 0))]
    assert "topics" not in edited(INLINE, gone)


def test_a_table_made_by_the_dots_of_one_key_goes_with_that_key() -> None:
    gone = edited(INLINE, [UnsetKey(PIPELINE, "max_retries"), UnsetKey(PIPELINE, "concurrency")])
    assert "pipeline" not in tomllib.loads(gone)
    assert "[pipeline]\nseed = 1\n" in edited(gone, [SetKey(PIPELINE, "seed", 1)])


def test_new_tables_come_after_their_kind_and_nothing_is_reordered() -> None:
    text = edited(HEADERS, [AddTable("topics", "salt"), AddTable("providers", "c", "openai")])
    headers = [line.split("#")[0].strip() for line in text.splitlines() if line.startswith("[")]
    assert headers == [
        "[project]",
        "[[topics]]",
        "[[topics]]",
        "[[topics]]",
        "[providers.a]",
        "[providers.b]",
        "[providers.c]",
        "[roles.generator]",
        "[roles.parent]",
        "[pipeline]",
    ]
    assert '# commented key of b\n\n[providers.c]\nprotocol = "openai"\n\n# roles\n' in text


def test_a_new_role_follows_the_style_of_the_others() -> None:
    role: list[Edit] = [SetKey(JUDGE, "provider", "a"), SetKey(JUDGE, "model", "j")]
    assert edited(INLINE, role).endswith('judge = { provider = "a", model = "j" }\n')
    assert '[roles.judge]\nprovider = "a"\nmodel = "j"\n' in edited(HEADERS, role)


def test_the_space_before_the_closing_brace_stays_where_it_was() -> None:
    text = edited(INLINE, [SetKey(GENERATOR, "reasoning", True), SetKey(TableRef("roles", "parent"), "max_tokens", 5)])
    assert 'generator = { provider = "a", model = "m", reasoning = true }\n' in text
    assert 'parent = { provider = "b", model = "m", max_tokens = 5}\n' in text
    assert (
        edited(text, [UnsetKey(GENERATOR, "reasoning"), UnsetKey(TableRef("roles", "parent"), "max_tokens")]) == INLINE
    )


def test_line_ends_and_a_byte_order_mark_are_kept() -> None:
    before = "\ufeff" + HEADERS.replace("\n", "\r\n")
    text = edited(before, [SetKey(PIPELINE, "seed", 1), AddTable("topics", "salt"), SetKey(HUB, "repo", "a/b")])
    assert text.startswith("\ufeff# top")
    assert "\n" not in text.replace("\r\n", "")


def test_a_file_without_a_last_line_end_takes_a_new_table() -> None:
    text = edited(HEADERS.rstrip("\n"), [SetKey(HUB, "repo", "a/b")])
    assert text == HEADERS + '\n[hub]\nrepo = "a/b"\n'


def test_text_is_always_a_quoted_string() -> None:
    hostile = 'a = "b"\n[hub]\x00'
    text = edited(HEADERS, [SetKey(TableRef("project"), "name", hostile)])
    assert tomllib.loads(text)["project"]["name"] == hostile
    assert "hub" not in tomllib.loads(text)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (SetKey(TableRef("targets", "z"), "venv", "/x"), "targets.z: not found in overbrainer.toml"),
        (SetKey(TableRef("topics", "oil", 0), "subtopics", 1), "topics.oil: not found in overbrainer.toml"),
        (SetKey(TableRef("topics", "tea", 7), "subtopics", 1), "topics.tea: not found in overbrainer.toml"),
        (SetKey(TableRef("topics", "tea", 0), "name", "oil"), "topics.oil: already exists"),
        (SetKey(TableRef("topics", "tea", 0), "name", "Öl"), "Öl: name must match ^[a-z0-9_]+$"),
        (SetKey(TableRef("providers", "a"), "api_key", "x"), "providers.a.api_key: not an editable field"),
        (SetKey(TRAINING, "axolotl_extra", "x"), "training.axolotl_extra: not an editable field"),
        (SetKey(TableRef("runpod"), "base_url", "x"), "runpod: not an editable field"),
        (SetKey(TableRef("roles", "muse"), "model", "x"), "roles.muse: not an editable field"),
        (SetKey(PIPELINE, "seed", "x"), "pipeline.seed: has the wrong type"),
        (SetKey(PIPELINE, "concurrency", 2000), "pipeline.concurrency: must be between 1 and 1024"),
        (UnsetKey(TableRef("project"), "name"), "project.name: is required and cannot be removed"),
        (AddTable("topics", "tea"), "topics.tea: already exists"),
        (AddTable("providers", "a", "openai"), "providers.a: already exists"),
        (AddTable("providers", "x", "smtp"), "providers.x.protocol: must be one of openai, anthropic"),
        (AddTable("targets", "x", "moon"), "targets.x.kind: must be one of local, ssh, runpod"),
        (AddTable("targets", "X", "local"), "X: name must match ^[a-z0-9_]+$"),
        (AddTable("hub", "x"), "hub: not an editable field"),
        (RemoveTable(TableRef("providers", "z")), "providers.z: not found in overbrainer.toml"),
        (RemoveTable(PIPELINE), "pipeline: this table cannot be removed"),
    ],
)
def test_an_edit_that_the_file_does_not_take_is_told_with_its_key(edit: Edit, message: str) -> None:
    document = ConfigDocument(HEADERS)
    with pytest.raises(EditError) as raised:
        document.apply(edit)
    assert str(raised.value) == message
    assert [str(problem) for problem in raised.value.problems] == [message]
    assert document.text == HEADERS


def test_a_comment_behind_a_key_can_be_asked_for_and_given() -> None:
    document = ConfigDocument(HEADERS)
    assert document.comment(PIPELINE, "max_retries") == "# beside retries"
    assert document.comment(PIPELINE, "seed") == ""
    document.apply(SetKey(PIPELINE, "seed", 1, "# why not"))
    document.apply(SetKey(HUB, "repo", "a/b", "# mine"))
    assert "seed = 1 # why not\n" in document.text
    assert '[hub]\nrepo = "a/b" # mine\n' in document.text


def test_the_tables_that_differ_are_told() -> None:
    after = edited(
        HEADERS,
        [
            SetKey(GENERATOR, "max_tokens", 5),
            SetKey(TableRef("topics", "oil", 1), "subtopics", 3),
            AddTable("topics", "z"),
        ],
    )
    assert changed_tables(HEADERS, after) == {"roles.generator", "topics.oil", "topics.z"}
    assert changed_tables("\ufeff" + HEADERS, HEADERS) == frozenset()


NAMES = st.sampled_from(["tea", "oil", "salt", "a", "b", "c"])
EDITS = st.one_of(
    st.builds(SetKey, st.just(PIPELINE), st.just("seed"), st.integers(0, 99)),
    st.builds(SetKey, st.just(PIPELINE), st.just("max_retries"), st.integers(0, 99)),
    st.builds(SetKey, st.sampled_from([GENERATOR, JUDGE]), st.sampled_from(["provider", "model"]), st.text(max_size=4)),
    st.builds(SetKey, st.just(HUB), st.just("private"), st.booleans()),
    st.builds(SetKey, st.builds(TableRef, st.just("topics"), NAMES, st.integers(0, 2)), st.just("name"), NAMES),
    st.builds(UnsetKey, st.just(PIPELINE), st.sampled_from(["seed", "max_retries", "concurrency"])),
    st.builds(AddTable, st.just("topics"), NAMES),
    st.builds(AddTable, st.just("providers"), NAMES, st.just("openai")),
    st.builds(AddTable, st.just("targets"), NAMES, st.sampled_from(["local", "ssh", "runpod"])),
    st.builds(RemoveTable, st.builds(TableRef, st.just("topics"), NAMES, st.integers(0, 2))),
    st.builds(RemoveTable, st.builds(TableRef, st.sampled_from(["providers", "targets"]), NAMES)),
)


def comments(text: str) -> list[str]:
    """Every line that is a comment, in order."""
    return [line for line in text.split("\n") if line.lstrip(" ").startswith("#")]


TEMPLATES = [HEADERS, INLINE, INTERLEAVED, assets.template("overbrainer.toml"), assets.template("demo.toml")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TEMPLATES), st.booleans(), st.lists(EDITS, max_size=6))
def test_any_edits_leave_the_comments_and_lines_of_all_else_as_they_were(
    before: str, has_crlf: bool, edits: list[Edit]
) -> None:
    before = before.replace("\n", "\r\n") if has_crlf else before
    document = ConfigDocument(before)
    removed_within: set[str] = set()
    for edit in edits:
        previous = document.text
        try:
            document.apply(edit)
        except EditError as error:
            refused = str(error)
            assert document.text == previous
            assert "is written in a way" not in refused
            continue
        if isinstance(edit, RemoveTable):
            removed_within |= set(comments_within(previous, edit.table))
        check_lines_elsewhere(previous, document.text, edit)
    kept = [line for line in comments(before) if line not in removed_within]
    assert [line for line in comments(document.text) if line not in removed_within] == kept


def comments_within(text: str, table: TableRef) -> list[str]:
    """The comments between the keys of a table of its own, which go with it."""
    lines = text.split("\n")
    found: list[str] = []
    inside, pending, topics = False, list[str](), -1
    for line in lines:
        if line.startswith("["):
            topics += line.startswith("[[topics]]")
            inside = line.startswith(f"[{table.section}.{table.name}]") or (
                table.section == "topics" and line.startswith("[[topics]]") and topics == table.index
            )
            pending = []
        elif inside and line.startswith("#"):
            pending.append(line)
        elif inside and line.strip():
            found += pending
            pending = []
    return found


def check_lines_elsewhere(before: str, after: str, edit: Edit) -> None:
    """What is added is only added, what is removed only removed, and a value that changes changes on its line."""
    old, new = before.split("\n"), after.split("\n")
    if isinstance(edit, AddTable):
        assert is_within(before, after)
    elif isinstance(edit, UnsetKey | RemoveTable):
        assert is_within(after, before)
    elif not is_within(before, after):
        assert len(old) == len(new)
        assert sum(one != other for one, other in zip(old, new, strict=True)) == 1


def is_within(part: str, whole: str) -> bool:
    """Whether every character of one text stands in the other, in order."""
    rest = iter(whole)
    return all(char in rest for char in part)
